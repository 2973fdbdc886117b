#include "tenon/planner/search/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tenon::planner {
namespace {

struct Part {
  const char* what;
  double Price::* seconds;
};
constexpr std::array parts = {Part{"computation", &Price::compute_seconds},
                              Part{"exposed communication", &Price::exposed_communication_seconds},
                              Part{"pipeline bubble", &Price::bubble_seconds},
                              Part{"optimizer step", &Price::optimizer_seconds},
                              Part{"other time (host, stragglers)", &Price::other_seconds}};

// What in the plans' choices stands behind the part that grew.
std::string cause(const Plan& best, const Plan& other, const Part& part) {
  if (part.seconds == &Price::compute_seconds) {
    if (other.recompute > best.recompute) return fmt::format("recompute={}", name(other.recompute));
    if (other.micro_batch != best.micro_batch)
      return fmt::format("micro-batch {}", other.micro_batch);
    if (other.pipeline_parallel != best.pipeline_parallel)
      return fmt::format("pp{} cuts the layers less evenly", other.pipeline_parallel);
    if (other.tensor_parallel > best.tensor_parallel)
      return fmt::format("tp{} makes the products narrow", other.tensor_parallel);
  }
  if (part.seconds == &Price::exposed_communication_seconds) {
    if (other.tensor_parallel > best.tensor_parallel)
      return fmt::format("tp{}", other.tensor_parallel);
    if (other.zero_stage > best.zero_stage) return fmt::format("zero{}", other.zero_stage);
    if (other.context_parallel > best.context_parallel)
      return fmt::format("cp{}", other.context_parallel);
    if (other.expert_parallel != best.expert_parallel)
      return fmt::format("ep{}", other.expert_parallel);
    if (other.data_parallel > best.data_parallel)
      return fmt::format("gradients over dp{}", other.data_parallel);
    if (other.pipeline_parallel > best.pipeline_parallel)
      return fmt::format("pp{}", other.pipeline_parallel);
  }
  if (part.seconds == &Price::bubble_seconds) {
    return fmt::format("pp{} {} with {} micro-batches", other.pipeline_parallel,
                       name(other.schedule), other.num_micro_batches());
  }
  return fmt::format("tp{} pp{} dp{}", other.tensor_parallel, other.pipeline_parallel,
                     other.data_parallel);
}

struct Help {
  std::string what;
  double seconds = 0;
};

// Prices the plan again with one thing of the hardware or one numeric choice changed.
Help with_cluster(Evaluator& evaluator, const Plan& plan, std::string what,
                  void (*change)(Cluster&)) {
  Cluster cluster = evaluator.pricer().cluster();
  change(cluster);
  Pricer::Calibrations calibrations;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g)
    calibrations.push_back(evaluator.pricer().calibration(g));
  Pricer changed(evaluator.workload(), std::move(cluster), std::move(calibrations));
  return {std::move(what), changed.price(plan).step_seconds};
}

std::vector<Help> helps(Evaluator& evaluator, const Plan& plan) {
  std::vector<Help> all;
  all.push_back(with_cluster(evaluator, plan, "twice the bandwidth between nodes", [](Cluster& c) {
    for (NodeGroup& g : c.groups) g.cluster_link.bytes_per_second *= 2;
  }));
  all.push_back(with_cluster(evaluator, plan, "twice the bandwidth inside a node", [](Cluster& c) {
    for (NodeGroup& g : c.groups) g.node_link.bytes_per_second *= 2;
  }));
  all.push_back(with_cluster(evaluator, plan, "twice the memory bandwidth", [](Cluster& c) {
    for (NodeGroup& g : c.groups) g.device.memory_bytes_per_second *= 2;
  }));
  bool fp8 = plan.precision == Precision::bf16;
  for (const NodeGroup& g : evaluator.pricer().cluster().groups)
    fp8 = fp8 && g.device.has(Precision::fp8);
  if (fp8) {
    Plan next = plan;
    next.precision = Precision::fp8;
    all.push_back(
        {"precision fp8 (changes the numerics)", evaluator.price(next, nullptr).step_seconds});
  }
  if (plan.recompute != Recompute::none) {
    Plan next = plan;
    next.recompute = Recompute::none;
    next.recompute_per_stage.clear();
    const Price price = evaluator.price(next, nullptr);
    const double more =
        (price.memory.total() + price.reserve_bytes - price.capacity_bytes) / (1 << 30);
    all.push_back(
        {fmt::format("{:.0f} GiB more memory on a device, for no recomputation", std::ceil(more)),
         price.step_seconds});
  }
  return all;
}

}  // namespace

std::string why_lost(const Candidate& best, const Candidate& other) {
  const double ratio = other.value / best.value - 1;
  const Part* grown = &parts[0];
  for (const Part& part : parts) {
    const auto more = [&](const Part& p) { return other.price.*p.seconds - best.price.*p.seconds; };
    if (more(part) > more(*grown)) grown = &part;
  }
  const double more = other.price.*(grown->seconds) - best.price.*(grown->seconds);
  if (ratio < 5e-4 && more < 1e-3 * best.price.step_seconds)
    return "no slower; the winner was found first";
  return fmt::format("{:.1f} % worse: {:.3g} s more {} ({})", 100 * ratio, std::max(0.0, more),
                     grown->what, cause(best.plan, other.plan, *grown));
}

std::string limited_by(const Candidate& best) {
  const Price& price = best.price;
  const Part* largest = &parts[1];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (price.*parts[i].seconds > price.*(largest->seconds)) largest = &parts[i];
  }
  const double share = price.*(largest->seconds) / price.step_seconds;
  if (share < 0.08)
    return fmt::format("computation, {:.0f} % of the step",
                       100 * price.compute_seconds / price.step_seconds);
  return fmt::format("{}, {:.0f} % of the step beside {:.0f} % computation", largest->what,
                     100 * share, 100 * price.compute_seconds / price.step_seconds);
}

std::string advice(Evaluator& evaluator, const SearchSpace& space, const Candidate& best) {
  (void)space;
  const std::vector<Help> all = helps(evaluator, best.plan);
  const auto most = std::min_element(
      all.begin(), all.end(), [](const Help& a, const Help& b) { return a.seconds < b.seconds; });
  const double gain = best.price.step_seconds / most->seconds - 1;
  if (gain < 0.005)
    return "no single change of those tried (links, memory, fp8) gains half a percent";
  return fmt::format("{}: {:.1f} % faster with this plan", most->what, 100 * gain);
}

Error why_nothing_fits(Evaluator& evaluator, const SearchSpace& space) {
  const Candidate* lean = evaluator.leanest();
  const std::int64_t n = evaluator.num_devices();
  if (!lean) {
    if (meshes(space, evaluator.workload(), n).empty()) {
      return invalid("no division of {} devices suits the model and a batch of {} samples", n,
                     space.base.global_batch)
          .with_help(fmt::format("take a batch that {} divides, or fewer fixed keys", n));
    }
    return invalid("no plan is valid with the fixed keys and a batch of {} samples on {} devices",
                   space.base.global_batch, n)
        .with_help("fix fewer keys, or take a batch with more divisors");
  }
  constexpr double gib = 1 << 30;
  const double needed = lean->metrics.memory_bytes, there = lean->price.capacity_bytes;
  const double states = lean->price.memory.total() - lean->price.memory.activations;
  const double share = there > 0 ? needed / there : 0;
  return invalid("the leanest plan ({}) needs {:.1f} GiB on a device that has {:.1f} GiB",
                 summary(lean->plan), needed / gib, there / gib)
      .with_help(fmt::format("the least that would do: devices of {:.0f} GiB, or about {} of these "
                             "({:.0f} % of the need is weights "
                             "and optimizer state)",
                             std::ceil(needed / gib),
                             static_cast<std::int64_t>(std::ceil(static_cast<double>(n) * share)),
                             100 * states / needed));
}

}  // namespace tenon::planner
