#include "tenon/planner/search/genetic.h"

#include <algorithm>
#include <limits>

#include "tenon/base/random.h"
#include "tenon/planner/search/refine.h"

namespace tenon::planner {
namespace {

struct Individual {
  Plan plan;
  Evaluator::Outcome outcome;
  Metrics metrics;
  int rank = 0;
  double crowding = 0;
};

template <class T>
const T& pick(const std::vector<T>& values, CounterRandom& random) {
  return values[random.below(static_cast<std::uint32_t>(values.size()))];
}

// At least one layer a stage, the rest where the dice fall.
std::vector<int> drawn_cut(int layers, int stages, CounterRandom& random) {
  std::vector<int> counts(stages, 1);
  for (int left = layers - stages; left > 0; --left) ++counts[random.below(stages)];
  return counts;
}

class Population {
 public:
  Population(Evaluator& evaluator, const SearchSpace& space, const GeneticOptions& options)
      : evaluator_(evaluator),
        space_(space),
        options_(options),
        random_(options.seed, 0x6e47),
        all_meshes_(meshes(space, evaluator.workload(), evaluator.num_devices())) {}

  void run(const std::vector<Plan>& seeds) {
    for (const Plan& plan : seeds) add(plan);
    for (int tries = 0; static_cast<int>(members_.size()) < options_.population &&
                        tries < 20 * options_.population;
         ++tries) {
      if (evaluator_.stopped() || all_meshes_.empty()) return;
      add(random_plan());
    }
    double best = evaluator_.best_value();
    for (int generation = 0, quiet = 0;
         generation < options_.generations && quiet < options_.patience; ++generation) {
      breed();
      if (evaluator_.stopped()) return;
      select();
      quiet = evaluator_.best_value() < best * (1 - 1e-6) ? 0 : quiet + 1;
      best = std::min(best, evaluator_.best_value());
    }
  }

 private:
  Plan random_plan() {
    Plan plan = plan_of(space_, pick(all_meshes_, random_));
    plan.micro_batch = pick(space_.micro_batch, random_);
    plan.zero_stage = pick(space_.zero, random_);
    plan.recompute = pick(space_.recompute, random_);
    const ScheduleChoice& choice = pick(space_.schedules, random_);
    if (plan.pipeline_parallel > 1)
      plan.schedule = choice.kind, plan.virtual_stages = choice.virtual_stages;
    return plan;
  }

  void add(const Plan& plan) {
    const Evaluator::Outcome outcome = evaluator_.evaluate(plan);
    if (!outcome.valid) return;
    for (const Individual& other : members_) {
      if (other.plan == plan) return;
    }
    members_.push_back({plan, outcome,
                        metrics_of(evaluator_.pricer(), plan, evaluator_.price(plan, nullptr)), 0,
                        0});
  }

  const Individual& parent() {
    const Individual& a = pick(members_, random_);
    const Individual& b = pick(members_, random_);
    if (a.rank != b.rank) return a.rank < b.rank ? a : b;
    return a.crowding >= b.crowding ? a : b;
  }

  // The mesh from one parent, as degrees depend on each other; the rest key by key.
  Plan crossed(const Plan& a, const Plan& b) {
    Plan child = a;
    const auto half = [&] { return random_.chance(0.5F); };
    if (half()) child.micro_batch = b.micro_batch;
    if (half()) child.zero_stage = b.zero_stage;
    if (half())
      child.recompute = b.recompute, child.recompute_layers = b.recompute_layers,
      child.recompute_per_stage.clear();
    if (half() && a.pipeline_parallel > 1 && b.pipeline_parallel > 1) {
      child.schedule = b.schedule, child.virtual_stages = b.virtual_stages;
    }
    if (half()) child.offload = b.offload;
    if (half()) child.placement = b.placement;
    if (a.pipeline_parallel == b.pipeline_parallel) {
      if (half()) child.layers_per_stage = b.layers_per_stage;
      if (half()) child.recompute_per_stage = b.recompute_per_stage;
    }
    return child;
  }

  Plan mutated(const Plan& plan) {
    if (!why_invalid(plan, evaluator_.workload(), evaluator_.num_devices()).empty()) return plan;
    std::vector<StagePrediction> stages;
    const Price price = evaluator_.price(plan, &stages);
    const MoveContext context = {space_, evaluator_.pricer(), stages};
    for (int tries = 0; tries < 8; ++tries) {
      const std::vector<Plan> choices = moved(plan, draw_move(plan, price, stages), context);
      if (!choices.empty()) return pick(choices, random_);
    }
    return plan;
  }

  Move draw_move(const Plan& plan, const Price& price, const std::vector<StagePrediction>& stages) {
    // Two in five draws ignore the policy, so that no move dies out.
    if (!options_.policy || random_.chance(0.25F))
      return static_cast<Move>(random_.below(num_moves));
    const auto p =
        options_.policy->probabilities(policy_features(plan, price, stages, evaluator_.pricer()));
    double left = random_.uniform_double();
    for (int i = 0; i < num_moves; ++i) {
      if ((left -= p[i]) < 0) return static_cast<Move>(i);
    }
    return Move::schedule;
  }

  void breed() {
    const int parents = static_cast<int>(members_.size());
    if (parents == 0) return;
    std::vector<Plan> children;
    for (int i = 0; i < options_.population; ++i) {
      const Plan& a = parent().plan;
      Plan child = random_.chance(0.6F) ? crossed(a, parent().plan) : a;
      child = mutated(child);
      if (random_.chance(0.4F)) child = mutated(child);
      children.push_back(std::move(child));
    }
    for (const Plan& child : children) {
      if (evaluator_.stopped()) return;
      add(child);
    }
  }

  bool dominates(const Individual& a, const Individual& b) const {
    if (evaluator_.request().objective != Objective::pareto || !a.outcome.fits() ||
        !b.outcome.fits()) {
      return better(a.outcome, b.outcome);
    }
    const Metrics &x = a.metrics, &y = b.metrics;
    const bool no_worse = x.seconds <= y.seconds && x.memory_bytes <= y.memory_bytes &&
                          x.dollars <= y.dollars && x.joules <= y.joules;
    return no_worse && (x.seconds < y.seconds || x.memory_bytes < y.memory_bytes ||
                        x.dollars < y.dollars || x.joules < y.joules);
  }

  void rank() {
    for (Individual& a : members_) {
      a.rank = 0;
      for (const Individual& b : members_) a.rank += dominates(b, a);
    }
  }

  // Distance to the neighbours in time and memory, so that a front stays spread.
  void crowd() {
    std::stable_sort(members_.begin(), members_.end(),
                     [](const Individual& a, const Individual& b) {
                       return a.metrics.seconds < b.metrics.seconds;
                     });
    const std::size_t n = members_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const bool end = i == 0 || i + 1 == n;
      members_[i].crowding =
          end ? std::numeric_limits<double>::infinity()
              : (members_[i + 1].metrics.seconds - members_[i - 1].metrics.seconds) /
                    members_[i].metrics.seconds;
    }
  }

  void select() {
    rank();
    crowd();
    std::stable_sort(members_.begin(), members_.end(),
                     [](const Individual& a, const Individual& b) {
                       return a.rank != b.rank ? a.rank < b.rank : a.crowding > b.crowding;
                     });
    if (members_.size() > static_cast<std::size_t>(options_.population))
      members_.resize(options_.population);
  }

  Evaluator& evaluator_;
  const SearchSpace& space_;
  const GeneticOptions& options_;
  CounterRandom random_;
  std::vector<Mesh> all_meshes_;
  std::vector<Individual> members_;
};

}  // namespace

Plan drawn_plan(const std::vector<Mesh>& all_meshes, const SearchSpace& space,
                CounterRandom& random) {
  Plan plan = plan_of(space, pick(all_meshes, random));
  plan.micro_batch = pick(space.micro_batch, random);
  plan.zero_stage = pick(space.zero, random);
  plan.recompute = pick(space.recompute, random);
  const ScheduleChoice& choice = pick(space.schedules, random);
  if (plan.pipeline_parallel > 1)
    plan.schedule = choice.kind, plan.virtual_stages = choice.virtual_stages;
  return plan;
}

void search_genetically(Evaluator& evaluator, const SearchSpace& space,
                        const std::vector<Plan>& seeds, const GeneticOptions& options) {
  Population(evaluator, space, options).run(seeds);
}

void search_randomly(Evaluator& evaluator, const SearchSpace& space, std::uint64_t seed) {
  const std::vector<Mesh> all = meshes(space, evaluator.workload(), evaluator.num_devices());
  if (all.empty()) return;
  CounterRandom random(seed, 0x7261);
  const int blocks = static_cast<int>(evaluator.workload().blocks.size());
  // Draws repeat in small spaces: enough of them end the search too.
  for (std::int64_t draws = 0;
       draws < 4 * evaluator.request().max_evaluations && !evaluator.stopped(); ++draws) {
    Plan plan = drawn_plan(all, space, random);
    if (!evaluator.homogeneous() && plan.pipeline_parallel > 1 && random.chance(0.8F)) {
      plan.layers_per_stage = drawn_cut(blocks, plan.pipeline_parallel, random);
    }
    evaluator.evaluate(plan);
  }
}

}  // namespace tenon::planner
