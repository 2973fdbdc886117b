// Names of a plan's choices, and its one-line summary.
#include "tenon/planner/plan.h"

#include <fmt/format.h>

namespace tenon::planner {

std::string_view name(Recompute recompute) {
  constexpr std::string_view kNames[] = {"none", "selective", "full"};
  return kNames[static_cast<int>(recompute)];
}

std::string_view name(Optimizer optimizer) {
  constexpr std::string_view kNames[] = {"adam",     "adam_8bit", "adafactor",
                                         "momentum", "sgd",       "muon"};
  return kNames[static_cast<int>(optimizer)];
}

std::string_view name(Offload offload) {
  constexpr std::string_view kNames[] = {"none", "activations", "optimizer", "both"};
  return kNames[static_cast<int>(offload)];
}

std::string_view name(GradientCompression compression) {
  constexpr std::string_view kNames[] = {"none", "bf16", "fp8"};
  return kNames[static_cast<int>(compression)];
}

std::string_view name(ContextMethod method) {
  return method == ContextMethod::ring ? "ring" : "all_to_all";
}

std::string_view name(CollectiveAlgorithm algorithm) {
  constexpr std::string_view kNames[] = {"auto", "ring", "tree", "hierarchical"};
  return kNames[static_cast<int>(algorithm)];
}

std::string_view name(Axis axis) {
  constexpr std::string_view kNames[] = {"tensor", "context", "data", "pipeline", "expert"};
  return kNames[static_cast<int>(axis)];
}

std::string summary(const Plan& plan) {
  std::string text = fmt::format("tp{} pp{} dp{}", plan.tensor_parallel, plan.pipeline_parallel,
                                 plan.data_parallel);
  if (plan.context_parallel > 1) text += fmt::format(" cp{}", plan.context_parallel);
  if (plan.expert_parallel > 1) text += fmt::format(" ep{}", plan.expert_parallel);
  if (plan.sequence_parallel) text += " sp";
  if (plan.zero_stage > 0) text += fmt::format(" zero{}", plan.zero_stage);
  text += fmt::format(" mbs{} gbs{} {}", plan.micro_batch, plan.global_batch, name(plan.schedule));
  if (plan.virtual_stages > 1) text += fmt::format(" x{}", plan.virtual_stages);
  text += fmt::format(" recompute={} {}", name(plan.recompute), name(plan.precision));
  if (plan.offload != Offload::none) text += fmt::format(" offload={}", name(plan.offload));
  return text;
}

}  // namespace tenon::planner
