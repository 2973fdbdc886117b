// Validity of plans.
#include "tenon/planner/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/planner/event_simulation.h"
#include "tenon/planner/memory_model.h"
#include "tenon/planner/plan_mapping.h"

namespace tenon::planner {
namespace {

struct Checking {
  const Workload& workload;
  const Cluster& cluster;
  const Plan& plan;
  std::vector<Problem> problems;

  void add(const char* code, std::string message, std::string help) {
    problems.push_back({code, std::move(message), std::move(help)});
  }
};

/// The divisor of `size` nearest to `wanted`, the smaller of equals.
std::int64_t nearest_divisor(std::int64_t size, std::int64_t wanted) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= size && d <= 4 * wanted; ++d) {
    if (size % d == 0 && std::abs(d - wanted) < std::abs(best - wanted)) best = d;
  }
  return best;
}

void check_devices(Checking& c) {
  const Plan& p = c.plan;
  const std::int64_t used = p.num_devices(), there = c.cluster.num_devices();
  if (used == there) return;
  const std::int64_t each =
      std::int64_t{p.tensor_parallel} * p.pipeline_parallel * p.context_parallel;
  std::string help = there % each == 0
                         ? fmt::format("data_parallel = {}", there / each)
                         : fmt::format(
                               "tensor x pipeline x context is {}; make it divide {}, such "
                               "as {}",
                               each, there, nearest_divisor(there, each));
  c.add("devices",
        fmt::format("the degrees multiply to {} devices (data {} x tensor {} x pipeline {} x "
                    "context {}) but the cluster has {}",
                    used, p.data_parallel, p.tensor_parallel, p.pipeline_parallel,
                    p.context_parallel, there),
        std::move(help));
}

void check_batch(Checking& c) {
  const Plan& p = c.plan;
  const std::int64_t round = std::int64_t{p.data_parallel} * p.micro_batch;
  if (p.global_batch % round != 0) {
    const std::int64_t near =
        std::max<std::int64_t>(1, (p.global_batch + round / 2) / round) * round;
    c.add("batch",
          fmt::format("global_batch {} does not divide by data_parallel {} x micro_batch {}",
                      p.global_batch, p.data_parallel, p.micro_batch),
          fmt::format("global_batch = {}", near));
    return;
  }
  const std::int64_t m = p.num_micro_batches();
  if (p.schedule == ScheduleKind::interleaved && p.pipeline_parallel > 1 &&
      m % p.pipeline_parallel != 0) {
    c.add("schedule",
          fmt::format("interleaved needs micro-batches ({}) in multiples of the stages ({})", m,
                      p.pipeline_parallel),
          fmt::format("global_batch = {}",
                      (m / p.pipeline_parallel + 1) * p.pipeline_parallel * round));
  }
  if (p.schedule == ScheduleKind::dualpipe && (m % 2 != 0 || m < 2 * p.pipeline_parallel)) {
    c.add("schedule",
          fmt::format("dualpipe needs an even number of at least {} micro-batches, got {}",
                      2 * p.pipeline_parallel, m),
          fmt::format("global_batch = {}",
                      std::max<std::int64_t>(2 * p.pipeline_parallel, m + m % 2) * round));
  }
}

void check_tensor(Checking& c) {
  const int t = c.plan.tensor_parallel;
  if (t == 1) return;
  for (const Divisor& divisor : c.workload.tensor_divisors) {
    const bool divides = divisor.size % t == 0;
    // Fewer key-value heads than tensor peers are copied to several of them.
    const bool copied =
        divisor.name == "kv_heads" && t % std::max<std::int64_t>(1, divisor.size) == 0;
    if (divides || copied) continue;
    c.add("tensor",
          fmt::format("tensor_parallel {} does not divide {} {}", t, divisor.size, divisor.name),
          fmt::format("tensor_parallel = {}", nearest_divisor(divisor.size, t)));
  }
}

void check_tokens(Checking& c) {
  const Plan& p = c.plan;
  for (const Divisor& divisor : c.workload.context_divisors) {
    const std::int64_t shares =
        std::int64_t{p.context_parallel} * (p.sequence_parallel ? p.tensor_parallel : 1);
    if (shares > 1 && divisor.size % shares != 0) {
      c.add(
          "sequence",
          fmt::format("{} tokens do not divide into {} shares (context x tensor with sequence "
                      "parallelism)",
                      divisor.size, shares),
          fmt::format("context_parallel = {}", nearest_divisor(divisor.size, p.context_parallel)));
    }
  }
  if (p.sequence_parallel && c.workload.context_divisors.empty()) {
    c.add("sequence", "sequence_parallel divides tokens, and this model has none",
          "sequence_parallel = false");
  }
  if (p.context_parallel > 1 && c.workload.context_divisors.empty()) {
    c.add("sequence", "context_parallel divides tokens, and this model has none",
          "context_parallel = 1");
  }
}

void check_stages(Checking& c) {
  const Plan& p = c.plan;
  const int blocks = static_cast<int>(c.workload.blocks.size());
  const int chunks =
      p.pipeline_parallel *
      (p.schedule == ScheduleKind::dualpipe ? 1 : chunks_per_device(p.schedule, p.virtual_stages));
  if (p.pipeline_parallel > 1 && chunks > blocks) {
    c.add(
        "layers", fmt::format("{} stages for {} layers", chunks, blocks),
        fmt::format("pipeline_parallel = {}", std::max(1, blocks * p.pipeline_parallel / chunks)));
  }
  const int given = static_cast<int>(p.layers_per_stage.size());
  if (given > 0 && given != p.pipeline_parallel && given != chunks) {
    c.add("layers",
          fmt::format("layers_per_stage names {} stages, the plan has {}", given,
                      p.pipeline_parallel),
          "one count a stage");
  } else if (given > 0) {
    int sum = 0;
    for (int count : p.layers_per_stage) sum += count;
    if (sum != blocks) {
      c.add("layers",
            fmt::format("layers_per_stage adds up to {} but the model has {} layers", sum, blocks),
            fmt::format("change it by {}", blocks - sum));
    }
  }
  if (!p.recompute_per_stage.empty() &&
      static_cast<int>(p.recompute_per_stage.size()) != p.pipeline_parallel) {
    c.add("layers",
          fmt::format("recompute_per_stage names {} stages, the plan has {}",
                      p.recompute_per_stage.size(), p.pipeline_parallel),
          "one choice a stage");
  }
}

void check_schedule(Checking& c) {
  const Plan& p = c.plan;
  if (p.schedule == ScheduleKind::interleaved && p.virtual_stages < 2 && p.pipeline_parallel > 1) {
    c.add("schedule", "interleaved needs at least two virtual_stages", "virtual_stages = 2");
  }
  const bool has_chunks =
      p.schedule == ScheduleKind::interleaved || p.schedule == ScheduleKind::automatic;
  if (p.virtual_stages > 1 && !has_chunks && chunks_per_device(p.schedule, 1) == 1) {
    c.add("schedule",
          fmt::format("{} has one chunk a device but virtual_stages is {}", name(p.schedule),
                      p.virtual_stages),
          "schedule = interleaved");
  }
  if (p.schedule == ScheduleKind::dualpipe && p.pipeline_parallel % 2 != 0) {
    c.add("schedule",
          fmt::format("dualpipe needs an even number of stages, got {}", p.pipeline_parallel),
          fmt::format("pipeline_parallel = {}", p.pipeline_parallel + 1));
  }
  if (!p.micro_batches_per_stage.empty() &&
      static_cast<int>(p.micro_batches_per_stage.size()) != p.pipeline_parallel) {
    c.add("schedule",
          fmt::format("micro_batches_per_stage names {} stages, the plan has {}",
                      p.micro_batches_per_stage.size(), p.pipeline_parallel),
          "one count a stage");
  }
}

void check_experts(Checking& c) {
  const Plan& p = c.plan;
  if (p.expert_parallel == 1) return;
  if (c.workload.num_experts == 0) {
    return c.add("experts", "expert_parallel is set but the model has no experts",
                 "expert_parallel = 1");
  }
  if (c.workload.num_experts % p.expert_parallel != 0) {
    c.add("experts",
          fmt::format("{} experts do not divide over expert_parallel {}", c.workload.num_experts,
                      p.expert_parallel),
          fmt::format("expert_parallel = {}",
                      nearest_divisor(c.workload.num_experts, p.expert_parallel)));
  }
  const std::int64_t replicas =
      std::int64_t{p.data_parallel} * p.context_parallel * p.tensor_parallel / expert_tensor(p);
  if (replicas % p.expert_parallel != 0) {
    c.add("experts",
          fmt::format(
              "expert_parallel {} does not divide the {} replicas (data x context) it lies in",
              p.expert_parallel, replicas),
          fmt::format("expert_parallel = {}", nearest_divisor(replicas, p.expert_parallel)));
  }
}

void check_precision(Checking& c) {
  if (c.plan.precision != Precision::fp8 && c.plan.precision != Precision::int8) return;
  for (const auto& group : c.cluster.groups) {
    if (!group.device.has(c.plan.precision)) {
      c.add("precision",
            fmt::format("{} has no {} arithmetic", group.device.name, name(c.plan.precision)),
            "precision = bf16");
    }
  }
}

/// Overrides must speak of layers that exist, and of choices that are priced layer by layer.
void check_overrides(Checking& c) {
  const int blocks = static_cast<int>(c.workload.blocks.size());
  for (const auto& layer : c.plan.layers) {
    bool known = false;
    if (const auto range = layer_range(layer.match)) {
      known = range->first <= range->second && range->second < blocks;
    } else {
      known = std::any_of(c.workload.classes.begin(), c.workload.classes.end(),
                          [&](const LayerClass& l) { return applies(layer, l, -1); });
    }
    if (!known) {
      c.add("overrides",
            fmt::format("layers: match '{}' names no layer of {}", layer.match, c.workload.name),
            fmt::format("a kind (attention, ffn, experts, embedding, head) or a range within 0-{}",
                        blocks - 1));
    }
    if (layer.zero_stage || layer.offload) {
      c.add("overrides",
            fmt::format("layers: '{}' sets zero_stage or offload, which hold for the whole plan",
                        layer.match),
            "set it outside [[layers]]");
    }
  }
  const auto& counts = c.plan.micro_batches_per_stage;
  const std::int64_t m = c.plan.num_micro_batches();
  if (std::any_of(counts.begin(), counts.end(), [&](int count) { return count != m; })) {
    c.add("schedule",
          fmt::format(
              "micro_batches_per_stage differs from the {} micro-batches that the batch gives", m),
          "leave micro_batches_per_stage out");
  }
}

void check_sharding(Checking& c) {
  const Plan& p = c.plan;
  const int peers = p.data_parallel * p.context_parallel;
  if (p.zero_group > 0 && peers % p.zero_group != 0) {
    c.add("sharding",
          fmt::format("zero_group {} does not divide the {} data-parallel peers", p.zero_group,
                      peers),
          fmt::format("zero_group = {}", nearest_divisor(peers, p.zero_group)));
  }
}

/// Node groups must be cut at stage boundaries only where they differ in kind; a tensor group that
/// spans two groups would run at the slower one's pace on mismatched links.
void check_mixed(Checking& c) {
  if (c.cluster.groups.size() < 2 || c.plan.num_devices() != c.cluster.num_devices()) return;
  std::int64_t edge = 0;
  for (const auto& group : c.cluster.groups) {
    edge += group.num_devices();
    if (edge % c.plan.tensor_parallel != 0) {
      c.add("devices",
            fmt::format("tensor_parallel {} spans the edge between node groups at device {}",
                        c.plan.tensor_parallel, edge),
            fmt::format("tensor_parallel = {}", nearest_divisor(edge, c.plan.tensor_parallel)));
      return;
    }
  }
}

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024 * 1024)); }

/// Changes that lower memory at the price of some work, in the order a person would try them.
void add_gentle_changes(const Plan& plan, std::vector<Change>& changes) {
  if (!plan.sequence_parallel && plan.tensor_parallel > 1) {
    changes.push_back({"sequence_parallel = true", plan, {}});
    changes.back().plan.sequence_parallel = true;
  }
  for (int stage = plan.zero_stage + 1; stage <= 3; ++stage) {
    if (plan.data_parallel * plan.context_parallel == 1) break;
    changes.push_back({fmt::format("zero_stage = {}", stage), plan, {}});
    changes.back().plan.zero_stage = stage;
  }
  for (Recompute kind : {Recompute::selective, Recompute::full}) {
    if (kind <= plan.recompute) continue;
    changes.push_back({fmt::format("recompute = {}", name(kind)), plan, {}});
    changes.back().plan.recompute = kind;
    changes.back().plan.recompute_per_stage.clear();
  }
  for (int b = plan.micro_batch / 2; b >= 1; b /= 2) {
    if (plan.micro_batch % b != 0) continue;
    changes.push_back({fmt::format("micro_batch = {}", b), plan, {}});
    changes.back().plan.micro_batch = b;
  }
}

/// Changes of the degrees: more ways of dividing the model, fewer replicas.
void add_degree_changes(const Plan& plan, const Workload& workload, std::vector<Change>& changes) {
  for (int factor = 2; plan.data_parallel % factor == 0 && factor <= 64; factor *= 2) {
    Plan t = plan, s = plan;
    t.tensor_parallel *= factor, t.data_parallel /= factor;
    changes.push_back({fmt::format("tensor_parallel = {}, data_parallel = {}", t.tensor_parallel,
                                   t.data_parallel),
                       t,
                       {}});
    s.pipeline_parallel *= factor, s.data_parallel /= factor;
    s.layers_per_stage.clear(), s.recompute_per_stage.clear();
    changes.push_back({fmt::format("pipeline_parallel = {}, data_parallel = {}",
                                   s.pipeline_parallel, s.data_parallel),
                       s,
                       {}});
    if (workload.num_experts == 0) continue;
    changes.push_back(
        {fmt::format("expert_parallel = {}", plan.expert_parallel * factor), plan, {}});
    changes.back().plan.expert_parallel *= factor;
  }
}

/// One-key changes that lower memory.
std::vector<Change> changes_of(const Plan& plan, const Workload& workload) {
  std::vector<Change> changes;
  add_gentle_changes(plan, changes);
  add_degree_changes(plan, workload, changes);
  return changes;
}

/// The feasible change with the shortest step, of `changes`.
std::optional<Change> best_of(Pricer& pricer, std::vector<Change> changes) {
  std::optional<Change> best;
  for (Change& change : changes) {
    if (!check_structure(pricer.workload(), pricer.cluster(), change.plan).empty()) continue;
    change.price = pricer.price(change.plan);
    if (!change.price.fits()) continue;
    if (!best || change.price.step_seconds < best->price.step_seconds) best = std::move(change);
  }
  return best;
}

Problem memory_problem(Pricer& pricer, const Plan& plan, const Price& price) {
  Problem problem;
  problem.code = "memory";
  const double need = price.memory.total() + price.reserve_bytes;
  problem.message = fmt::format(
      "the fullest device needs {} (weights {}, gradients {}, optimizer {}, activations {}, "
      "buffers "
      "{}, reserve {}) but has {}",
      gib(need), gib(price.memory.weights), gib(price.memory.gradients),
      gib(price.memory.optimizer), gib(price.memory.activations), gib(price.memory.buffers),
      gib(price.reserve_bytes), gib(price.capacity_bytes));
  if (const auto change = least_change_that_fits(pricer, plan)) {
    problem.help = fmt::format("{} (then {}, {:.3g} s a step)", change->text,
                               gib(change->price.memory.total() + change->price.reserve_bytes),
                               change->price.step_seconds);
    return problem;
  }
  // Nothing fits on these devices: sharding everything over more of them is the bound.
  const double states = price.memory.weights + price.memory.gradients + price.memory.optimizer;
  const double times = std::max(2.0, std::ceil(states / std::max(1.0, 0.7 * price.capacity_bytes)));
  problem.help = fmt::format(
      "no single or double change fits: take devices with at least {}, or about {:.0f} times as "
      "many",
      gib(need), times);
  return problem;
}

}  // namespace

std::vector<Problem> check_structure(const Workload& workload, const Cluster& cluster,
                                     const Plan& plan) {
  Checking c{workload, cluster, plan, {}};
  check_devices(c);
  check_batch(c);
  check_tensor(c);
  check_tokens(c);
  check_stages(c);
  check_schedule(c);
  check_experts(c);
  check_precision(c);
  check_sharding(c);
  check_overrides(c);
  check_mixed(c);
  return c.problems;
}

std::optional<Change> least_change_that_fits(Pricer& pricer, const Plan& plan) {
  std::vector<Change> single = changes_of(plan, pricer.workload());
  if (auto best = best_of(pricer, single)) return best;
  std::vector<Change> pairs;
  for (const Change& first : single) {
    for (Change& second : changes_of(first.plan, pricer.workload())) {
      second.text = first.text + ", " + second.text;
      pairs.push_back(std::move(second));
    }
  }
  return best_of(pricer, std::move(pairs));
}

std::vector<Problem> check(Pricer& pricer, const Plan& plan, Price* price) {
  std::vector<Problem> problems = check_structure(pricer.workload(), pricer.cluster(), plan);
  if (!problems.empty()) return problems;
  const Price made = pricer.price(plan);
  if (!made.fits()) problems.push_back(memory_problem(pricer, plan, made));
  if (price != nullptr) *price = made;
  return problems;
}

Simulation simulate(Pricer& pricer, const Plan& plan) {
  Simulation answer;
  answer.problems = check(pricer, plan);
  answer.valid = answer.problems.empty();
  const bool priceable =
      std::all_of(answer.problems.begin(), answer.problems.end(), [&](const Problem& problem) {
        return problem.code == "memory" || problem.code == "precision" ||
               problem.code == "tensor" ||
               (problem.code == "devices" && pricer.cluster().groups.size() == 1);
      });
  if (!priceable) return answer;
  if (plan.pipeline_parallel > 1 && needs_events(plan.schedule)) {
    auto events = simulate_events(pricer, plan);
    if (events.ok()) answer.prediction = std::move(events->prediction);
  }
  if (!answer.prediction) answer.prediction = predict(pricer, plan);
  return answer;
}

}  // namespace tenon::planner
