// The steps of the refinement: small changes of one plan.
#pragma once

#include "tenon/planner/search/space.h"

namespace tenon::planner {

// clang-format off
#define TENON_MOVES(X) \
  X(tensor_up) X(tensor_down) X(pipeline_up) X(pipeline_down) X(context_up) \
  X(context_down) X(expert_up) X(expert_down) X(tensor_to_pipeline) \
  X(pipeline_to_tensor) X(micro_batch_up) X(micro_batch_down) X(zero_up) X(zero_down) \
  X(recompute_more) X(recompute_less) X(recompute_fewer_layers) \
  X(recompute_full_stages) X(schedule) X(chunks_up) X(chunks_down) X(sequence) \
  X(offload) X(placement) X(context_method) X(even_out_layers) X(balance_layers)
// clang-format on

enum class Move {
#define TENON_X(id) id,
  TENON_MOVES(TENON_X)
#undef TENON_X
};
inline constexpr int num_moves = static_cast<int>(Move::balance_layers) + 1;
std::string_view name(Move move);

/// What a move may look at beside the plan.
struct MoveContext {
  const SearchSpace& space;
  Pricer& pricer;
  const std::vector<StagePrediction>& stages;  ///< of the plan, one a device
};

/// The plans one move away; they may be invalid, and there may be none. Degrees change at the
/// expense of data parallelism, so the devices stay used.
std::vector<Plan> moved(const Plan& plan, Move move, const MoveContext& context);

}  // namespace tenon::planner
