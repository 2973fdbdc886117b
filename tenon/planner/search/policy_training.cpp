#include "tenon/planner/search/policy_training.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/random.h"
#include "tenon/planner/search/genetic.h"
#include "tenon/planner/search/problems.h"
#include "tenon/planner/search/refine.h"

namespace tenon::planner {
namespace {

constexpr double price_of_an_evaluation = 0.003;

struct Step {
  PolicyFeatures features{};
  Move move{};
  double reward = 0;
};

// Time, and far more when memory is short.
double score(const Evaluator::Outcome& outcome) {
  return std::log(outcome.seconds) + 2 * std::log(std::max(1.0, outcome.pressure));
}

class Trainer {
 public:
  explicit Trainer(const PolicyTraining& training)
      : training_(training), random_(training.seed, 0x7265) {}

  PolicyTrainingReport run() {
    double sum = 0;
    const int tenth = std::max(1, training_.episodes / 10);
    for (int episode = 0; episode < training_.episodes; ++episode) {
      const std::vector<Step> steps = play(episode);
      learn(steps);
      for (const Step& step : steps) sum += step.reward;
      if ((episode + 1) % tenth == 0) report_.rewards.push_back(sum / tenth), sum = 0;
    }
    return std::move(report_);
  }

 private:
  std::vector<Step> play(int episode) {
    const PlanningProblem problem = generated_problem(training_.seed, episode, episode % 2 == 0);
    Pricer pricer(problem.workload, problem.cluster);
    SearchRequest request;
    request.global_batch = problem.global_batch;
    Evaluator evaluator(pricer, request);
    const Result<SearchSpace> space = search_space(pricer.workload(), pricer.cluster(), request);
    std::vector<Step> steps;
    Plan plan;
    if (!space.ok() || !random_start(evaluator, *space, plan)) return steps;
    for (int i = 0; i < training_.steps; ++i) steps.push_back(take(evaluator, *space, plan));
    return steps;
  }

  // Half of the episodes start at the best of many random plans: the moves that still help there
  // are others.
  bool random_start(Evaluator& evaluator, const SearchSpace& space, Plan& plan) {
    const std::vector<Mesh> all = meshes(space, evaluator.workload(), evaluator.num_devices());
    if (all.empty()) return false;
    const bool pick_best = random_.chance(0.5F);
    bool found = false;
    for (int tries = 0; tries < 50 && (!found || pick_best); ++tries) {
      const Plan next = drawn_plan(all, space, random_);
      const Evaluator::Outcome outcome = evaluator.evaluate(next);
      if (!outcome.valid || (found && !better(outcome, evaluator.evaluate(plan)))) continue;
      plan = next;
      found = true;
    }
    return found;
  }

  Step take(Evaluator& evaluator, const SearchSpace& space, Plan& plan) {
    const Evaluator::Outcome now = evaluator.evaluate(plan);
    std::vector<StagePrediction> stages;
    const Price price = evaluator.price(plan, &stages);
    Step step;
    step.features = policy_features(plan, price, stages, evaluator.pricer());
    step.move = draw_move(step.features);
    const std::int64_t before = evaluator.count();
    for (Plan& next : moved(plan, step.move, {space, evaluator.pricer(), stages})) {
      const Evaluator::Outcome then = evaluator.evaluate(next);
      if (!better(then, now)) continue;
      // Late gains are small and count all the same.
      step.reward = std::sqrt(std::clamp(score(now) - score(then), 0.0, 1.0));
      plan = std::move(next);
      break;
    }
    step.reward -= price_of_an_evaluation * static_cast<double>(1 + evaluator.count() - before);
    return step;
  }

  Move draw_move(const PolicyFeatures& features) {
    const auto p = report_.policy.probabilities(features);
    double left = random_.uniform_double();
    for (int i = 0; i < num_moves; ++i) {
      if ((left -= p[i]) < 0) return static_cast<Move>(i);
    }
    return static_cast<Move>(num_moves - 1);
  }

  void learn(const std::vector<Step>& steps) {
    baseline_.resize(training_.steps, 0.0);
    double future = 0;
    for (int i = static_cast<int>(steps.size()) - 1; i >= 0; --i) {
      future = steps[i].reward + training_.discount * future;
      report_.policy.learn(steps[i].features, steps[i].move, future - baseline_[i], training_.rate);
      baseline_[i] += 0.01 * (future - baseline_[i]);
    }
  }

  const PolicyTraining& training_;
  CounterRandom random_;
  PolicyTrainingReport report_;
  std::vector<double> baseline_;
};

}  // namespace

PolicyTrainingReport train_policy(const PolicyTraining& training) {
  return Trainer(training).run();
}

}  // namespace tenon::planner
