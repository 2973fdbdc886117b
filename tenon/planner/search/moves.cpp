#include "tenon/planner/search/moves.h"

#include <algorithm>
#include <array>

#include "tenon/planner/search/stage_balance.h"

namespace tenon::planner {
namespace {

constexpr std::array<std::string_view, num_moves> move_names = {
#define TENON_X(id) #id,
    TENON_MOVES(TENON_X)
#undef TENON_X
};

// A plan whose stages are cut anew: hand-made layer counts no longer apply.
Plan recut(Plan plan, const SearchSpace& space) {
  if (!space.layers_fixed) plan.layers_per_stage.clear();
  plan.recompute_per_stage.clear();
  plan.sequence_parallel = plan.tensor_parallel > 1 && space.sequence.front();
  if (plan.pipeline_parallel == 1 && plan.schedule != ScheduleKind::gpipe) {
    plan.schedule = ScheduleKind::one_f_one_b;
    plan.virtual_stages = 1;
  }
  return plan;
}

// Values of a list one step up or down from `now`; also two steps, as powers may be missing
// between.
std::vector<int> neighbours(const std::vector<int>& values, int now, int direction) {
  std::vector<int> result;
  const auto at = std::find(values.begin(), values.end(), now) - values.begin();
  for (std::ptrdiff_t step = 1; step <= 2; ++step) {
    const std::ptrdiff_t i = at + direction * step;
    if (i >= 0 && i < static_cast<std::ptrdiff_t>(values.size())) result.push_back(values[i]);
  }
  return result;
}

// Changes one degree and lets data parallelism give or take the devices.
std::vector<Plan> degree(const Plan& plan, int Plan::* field, const std::vector<int>& values,
                         int direction, const SearchSpace& space) {
  std::vector<Plan> result;
  const std::int64_t product = std::int64_t{plan.*field} * plan.data_parallel;
  for (const int value : neighbours(values, plan.*field, direction)) {
    if (product % value != 0) continue;
    Plan next = plan;
    next.*field = value;
    next.data_parallel = static_cast<int>(product / value);
    result.push_back(recut(std::move(next), space));
  }
  return result;
}

std::vector<Plan> trade(const Plan& plan, int Plan::* from, int Plan::* to,
                        const std::vector<int>& values, const SearchSpace& space) {
  std::vector<Plan> result;
  for (const int value : neighbours(values, plan.*to, 1)) {
    const std::int64_t product = std::int64_t{plan.*from} * plan.*to;
    if (product % value != 0) continue;
    Plan next = plan;
    next.*to = value;
    next.*from = static_cast<int>(product / value);
    result.push_back(recut(std::move(next), space));
  }
  return result;
}

template <class T>
std::vector<Plan> simple(const Plan& plan, T Plan::* field, const std::vector<T>& values,
                         int direction) {
  std::vector<Plan> result;
  const auto at = std::find(values.begin(), values.end(), plan.*field) - values.begin() + direction;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(values.size())) return result;
  Plan next = plan;
  next.*field = values[at];
  result.push_back(std::move(next));
  return result;
}

template <class T>
std::vector<Plan> others(const Plan& plan, T Plan::* field, const std::vector<T>& values) {
  std::vector<Plan> result;
  for (const T& value : values) {
    if (value == plan.*field) continue;
    Plan next = plan;
    next.*field = value;
    result.push_back(std::move(next));
  }
  return result;
}

std::vector<Plan> recompute(const Plan& plan, int direction, const SearchSpace& space) {
  std::vector<Plan> result = simple(plan, &Plan::recompute, space.recompute, direction);
  for (Plan& next : result) next.recompute_layers = 0, next.recompute_per_stage.clear();
  return result;
}

// Of a fully recomputed stage only some layers: the fewest that fit pay off, so halves and
// quarters.
std::vector<Plan> fewer_layers(const Plan& plan, const MoveContext& context) {
  std::vector<Plan> result;
  if (plan.recompute != Recompute::full || context.space.recompute_layers_fixed) return result;
  int most = 1;
  for (const StagePrediction& stage : context.stages) most = std::max(most, stage.layers);
  const int now = plan.recompute_layers > 0 ? plan.recompute_layers : most;
  for (const int layers : {now - 1, now * 3 / 4, now / 2, now / 4, now + 1}) {
    if (layers < 1 || layers >= most || layers == now) continue;
    Plan next = plan;
    next.recompute_layers = layers;
    result.push_back(std::move(next));
  }
  return result;
}

// Only the first k stages, which hold the most micro-batches, recompute.
std::vector<Plan> full_stages(const Plan& plan, const MoveContext& context) {
  std::vector<Plan> result;
  const int p = plan.pipeline_parallel;
  const auto& kinds = context.space.recompute;
  if (p == 1 || kinds.size() < 2 || context.space.recompute_layers_fixed) return result;
  for (const int k : {1, p / 4, p / 2, 3 * p / 4, p - 1}) {
    if (k < 1 || k >= p) continue;
    for (std::size_t more = 1; more < kinds.size(); ++more) {
      Plan next = plan;
      next.recompute_layers = 0;
      next.recompute = kinds[more - 1];
      next.recompute_per_stage.assign(p, kinds[more - 1]);
      std::fill_n(next.recompute_per_stage.begin(), k, kinds[more]);
      result.push_back(std::move(next));
    }
  }
  return result;
}

std::vector<Plan> schedules(const Plan& plan, const SearchSpace& space, int chunk_step) {
  std::vector<Plan> result;
  if (plan.pipeline_parallel == 1) return result;
  for (const ScheduleChoice& choice : space.schedules) {
    const bool same_kind = choice.kind == plan.schedule;
    const int more = choice.virtual_stages - plan.virtual_stages;
    if (chunk_step == 0 ? same_kind : !same_kind || more * chunk_step <= 0 || more * chunk_step > 2)
      continue;
    Plan next = plan;
    next.schedule = choice.kind;
    next.virtual_stages = choice.virtual_stages;
    const auto parts = next.layers_per_stage.size();
    if (parts != 0 && parts != static_cast<std::size_t>(next.pipeline_parallel))
      next.layers_per_stage.clear();
    result.push_back(std::move(next));
  }
  return result;
}

std::vector<int> counts_of(const Plan& plan, const MoveContext& context) {
  if (plan.layers_per_stage.size() == static_cast<std::size_t>(plan.pipeline_parallel))
    return plan.layers_per_stage;
  std::vector<int> counts;
  for (const StagePrediction& stage : context.stages) counts.push_back(stage.layers);
  return counts;
}

// One layer from the slowest stage to the fastest, to its neighbours, and from the fullest to the
// emptiest.
std::vector<Plan> even_out(const Plan& plan, const MoveContext& context) {
  std::vector<Plan> result;
  const int p = plan.pipeline_parallel;
  if (p == 1 || context.space.layers_fixed || static_cast<int>(context.stages.size()) != p)
    return result;
  const std::vector<int> counts = counts_of(plan, context);
  const auto seconds = [](const StagePrediction& s) {
    return s.forward_seconds + s.backward_seconds();
  };
  const auto bytes = [](const StagePrediction& s) { return s.memory.total(); };
  const auto shift = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    if (from == to || from < 0 || to < 0 || from >= p || to >= p || counts[from] < 2) return;
    Plan next = plan;
    next.layers_per_stage = counts;
    --next.layers_per_stage[from], ++next.layers_per_stage[to];
    result.push_back(std::move(next));
  };
  const auto extremes = [&](const auto& measure) {
    const auto less = [&](const StagePrediction& a, const StagePrediction& b) {
      return measure(a) < measure(b);
    };
    const auto [low, high] =
        std::minmax_element(context.stages.begin(), context.stages.end(), less);
    return std::pair(low - context.stages.begin(), high - context.stages.begin());
  };
  const auto [fastest, slowest] = extremes(seconds);
  const auto [emptiest, fullest] = extremes(bytes);
  constexpr int few = 8;  // stages of which every pair is looked at
  if (p <= few) {
    for (int from = 0; from < p; ++from) {
      for (int to = 0; to < p; ++to) shift(from, to);
    }
    return result;
  }
  shift(slowest, fastest);
  shift(slowest, slowest - 1);
  shift(slowest, slowest + 1);
  shift(fullest, emptiest);
  shift(fullest, fastest);
  return result;
}

std::vector<Plan> balanced(const Plan& plan, const MoveContext& context) {
  std::vector<Plan> result;
  if (plan.pipeline_parallel == 1 || context.space.layers_fixed) return result;
  for (const double fill : {0.92, 1.0, 0.8}) {
    Plan next = plan;
    next.layers_per_stage = balanced_layers(plan, context.pricer, fill);
    if (!next.layers_per_stage.empty()) result.push_back(std::move(next));
  }
  return result;
}

std::vector<Plan> toggled_sequence(const Plan& plan, const SearchSpace& space) {
  if (space.sequence.size() < 2 || plan.tensor_parallel == 1) return {};
  Plan next = plan;
  next.sequence_parallel = !plan.sequence_parallel;
  return {std::move(next)};
}

std::vector<Plan> all_moved(const Plan& plan, Move move, const MoveContext& context);

}  // namespace

std::string_view name(Move move) { return move_names[static_cast<int>(move)]; }

std::vector<Plan> moved(const Plan& plan, Move move, const MoveContext& context) {
  std::vector<Plan> plans = all_moved(plan, move, context);
  std::erase_if(plans, [&](const Plan& next) { return !in_space(next, context.space); });
  return plans;
}

namespace {

std::vector<Plan> all_moved(const Plan& plan, Move move, const MoveContext& context) {
  const SearchSpace& space = context.space;
  switch (move) {
    case Move::tensor_up: return degree(plan, &Plan::tensor_parallel, space.tensor, 1, space);
    case Move::tensor_down: return degree(plan, &Plan::tensor_parallel, space.tensor, -1, space);
    case Move::pipeline_up: return degree(plan, &Plan::pipeline_parallel, space.pipeline, 1, space);
    case Move::pipeline_down:
      return degree(plan, &Plan::pipeline_parallel, space.pipeline, -1, space);
    case Move::context_up: return degree(plan, &Plan::context_parallel, space.context, 1, space);
    case Move::context_down: return degree(plan, &Plan::context_parallel, space.context, -1, space);
    case Move::expert_up: return simple(plan, &Plan::expert_parallel, space.expert, 1);
    case Move::expert_down: return simple(plan, &Plan::expert_parallel, space.expert, -1);
    case Move::tensor_to_pipeline:
      return trade(plan, &Plan::tensor_parallel, &Plan::pipeline_parallel, space.pipeline, space);
    case Move::pipeline_to_tensor:
      return trade(plan, &Plan::pipeline_parallel, &Plan::tensor_parallel, space.tensor, space);
    case Move::micro_batch_up: return simple(plan, &Plan::micro_batch, space.micro_batch, 1);
    case Move::micro_batch_down: return simple(plan, &Plan::micro_batch, space.micro_batch, -1);
    case Move::zero_up: return simple(plan, &Plan::zero_stage, space.zero, 1);
    case Move::zero_down: return simple(plan, &Plan::zero_stage, space.zero, -1);
    case Move::recompute_more: return recompute(plan, 1, space);
    case Move::recompute_less: return recompute(plan, -1, space);
    case Move::recompute_fewer_layers: return fewer_layers(plan, context);
    case Move::recompute_full_stages: return full_stages(plan, context);
    case Move::schedule: return schedules(plan, space, 0);
    case Move::chunks_up: return schedules(plan, space, 1);
    case Move::chunks_down: return schedules(plan, space, -1);
    case Move::sequence: return toggled_sequence(plan, space);
    case Move::offload: return others(plan, &Plan::offload, space.offload);
    case Move::placement: return others(plan, &Plan::placement, space.placements);
    case Move::context_method:
      if (plan.context_parallel == 1) return {};
      return others(plan, &Plan::context_method, space.context_methods);
    case Move::even_out_layers: return even_out(plan, context);
    case Move::balance_layers: return balanced(plan, context);
  }
  return {};
}

}  // namespace
}  // namespace tenon::planner
