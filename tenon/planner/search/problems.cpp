#include "tenon/planner/search/problems.h"

#include <algorithm>
#include <limits>

#include "tenon/base/random.h"

namespace tenon::planner {
namespace {

template <class T, std::size_t n>
T pick(const T (&values)[n], CounterRandom& random) {
  return values[random.below(n)];
}

ModelSpec drawn_model(CounterRandom& random) {
  ModelSpec spec;
  spec.kind = random.chance(0.5F) ? ModelKind::llama : ModelKind::gpt;
  spec.name = "generated";
  spec.layers = pick({4, 6, 8, 10, 12, 16}, random);
  spec.hidden = pick({1024, 2048, 4096}, random);
  spec.heads = spec.hidden / 128;
  spec.ffn = 4 * spec.hidden;
  spec.vocab = pick({32000, 51200, 128000}, random);
  spec.sequence = pick({1024, 2048, 4096}, random);
  Result<ModelSpec> resolved = resolve(spec);
  TENON_CHECK(resolved.ok(), "a generated model: {}", resolved.ok() ? "" : resolved.error().text());
  return *resolved;
}

NodeGroup drawn_group(CounterRandom& random, int devices) {
  constexpr const char* names[] = {"V100", "A100-40G", "A100-80G", "H100-SXM", "H200", "MI300X"};
  Result<Cluster> cluster = uniform_cluster(pick(names, random), devices);
  TENON_CHECK(cluster.ok(), "a generated cluster: {}", cluster.ok() ? "" : cluster.error().text());
  return cluster->groups[0];
}

// Every way to write `layers` as `stages` positive numbers, handed to `use`.
void for_cuts(int layers, int stages, std::vector<int>& cut, const std::function<void()>& use) {
  if (stages == 1) {
    cut.push_back(layers);
    use();
    cut.pop_back();
    return;
  }
  for (int first = 1; first <= layers - stages + 1; ++first) {
    cut.push_back(first);
    for_cuts(layers - first, stages - 1, cut, use);
    cut.pop_back();
  }
}

class Exhaustive {
 public:
  Exhaustive(Pricer& pricer, const SearchRequest& request, const SearchSpace& space)
      : space_(space), evaluator_(pricer, request), mixed_(!pricer.cluster().is_homogeneous()) {}

  double run() {
    for (const Mesh& mesh : meshes(space_, evaluator_.workload(), evaluator_.num_devices())) {
      for (const int size : space_.micro_batch) {
        Plan plan = plan_of(space_, mesh);
        plan.micro_batch = size;
        if (plan.num_micro_batches() > 0) through_choices(plan);
      }
    }
    return evaluator_.has_best() ? evaluator_.best_value()
                                 : std::numeric_limits<double>::infinity();
  }

 private:
  void through_choices(Plan plan) {
    for (const ScheduleChoice& schedule : space_.schedules) {
      plan.schedule = schedule.kind, plan.virtual_stages = schedule.virtual_stages;
      if (!why_invalid(plan, evaluator_.workload(), evaluator_.num_devices()).empty()) continue;
      for (const int zero : space_.zero) {
        for (const Recompute recompute : space_.recompute) {
          plan.zero_stage = zero, plan.recompute = recompute;
          through_cuts(plan);
        }
      }
    }
  }

  void through_cuts(Plan plan) {
    evaluator_.evaluate(plan);
    if (!mixed_ || plan.pipeline_parallel == 1 || plan.pipeline_parallel > 4) return;
    std::vector<int> cut;
    for_cuts(static_cast<int>(evaluator_.workload().blocks.size()), plan.pipeline_parallel, cut,
             [&] {
               plan.layers_per_stage = cut;
               evaluator_.evaluate(plan);
             });
  }

  const SearchSpace& space_;
  Evaluator evaluator_;
  const bool mixed_;
};

}  // namespace

PlanningProblem generated_problem(std::uint64_t seed, std::uint64_t index, bool mixed) {
  CounterRandom random(seed, mix_key(index, mixed));
  PlanningProblem problem;
  const ModelSpec spec = drawn_model(random);
  problem.workload = workload_of(spec);
  problem.global_batch = pick({16, 32, 64, 96}, random);
  problem.cluster.name = "generated";
  const int groups = mixed ? 2 + static_cast<int>(random.below(2)) : 1;
  for (int g = 0; g < groups; ++g) {
    const int devices = mixed ? pick({1, 2, 4}, random) : pick({2, 4, 8, 16}, random);
    problem.cluster.groups.push_back(drawn_group(random, devices));
  }
  // All states and one micro-batch spread over the devices are about the least; leave some room
  // above it.
  const double least =
      18 * problem.workload.num_parameters() / static_cast<double>(problem.cluster.num_devices());
  for (NodeGroup& group : problem.cluster.groups) {
    const double room = 6e9 + least * (1.2 + 2.5 * random.uniform_double());
    group.device.memory_bytes = std::min(group.device.memory_bytes, room);
  }
  return problem;
}

double exhaustive_value(Pricer& pricer, const SearchRequest& request) {
  Result<SearchSpace> space = search_space(pricer.workload(), pricer.cluster(), request);
  TENON_CHECK(space.ok(), "the space of a generated problem");
  return Exhaustive(pricer, request, *space).run();
}

}  // namespace tenon::planner
