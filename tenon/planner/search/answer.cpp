#include "tenon/planner/search/answer.h"

#include <algorithm>
#include <cmath>

#include "tenon/planner/check.h"
#include "tenon/planner/search/reasons.h"

namespace tenon::planner {
namespace {

Prediction prediction_of(Pricer& pricer, const Plan& plan) {
  Simulation simulation = simulate(pricer, plan);
  return simulation.prediction ? std::move(*simulation.prediction) : predict(pricer, plan);
}

// The search's reasons rest on its formulas; what is shown rests on the predictions.
Candidate timed(const Predicted& plan) {
  const Prediction& p = plan.prediction;
  Candidate candidate;
  candidate.plan = plan.plan;
  candidate.price.step_seconds = candidate.value = p.step_seconds;
  candidate.price.compute_seconds = p.compute_seconds;
  candidate.price.exposed_communication_seconds = p.exposed_communication_seconds;
  candidate.price.bubble_seconds = p.bubble_seconds;
  candidate.price.optimizer_seconds = p.optimizer_seconds;
  candidate.price.other_seconds = p.other_seconds;
  return candidate;
}

}  // namespace

PlanAnswer answer_of(Pricer& pricer, SearchReport report, std::size_t count) {
  std::vector<Predicted> all = {{report.best.plan, prediction_of(pricer, report.best.plan), ""}};
  for (const RunnerUp& other : report.runners_up) {
    if (all.size() >= std::max<std::size_t>(count, 5)) break;
    all.push_back(
        {other.candidate.plan, prediction_of(pricer, other.candidate.plan), other.why_lost});
  }
  // Only time is predicted anew; for other objectives the search's order stands.
  const bool by_time = report.best.value == report.best.metrics.seconds;
  if (by_time) {
    const auto first =
        std::min_element(all.begin(), all.end(), [](const Predicted& a, const Predicted& b) {
          return a.prediction.step_seconds < b.prediction.step_seconds * (1 - 1e-9);
        });
    std::rotate(all.begin(), first, first + 1);
    std::stable_sort(all.begin() + 1, all.end(), [](const Predicted& a, const Predicted& b) {
      return a.prediction.step_seconds < b.prediction.step_seconds;
    });
  }
  PlanAnswer answer{std::move(all.front()), {}, std::move(report)};
  answer.best.why_lost.clear();
  for (auto other = all.begin() + 1; other != all.end(); ++other) {
    if (by_time) other->why_lost = why_lost(timed(answer.best), timed(*other));
    answer.runners_up.push_back(std::move(*other));
  }
  return answer;
}

RunTotals run_totals(const Pricer& pricer, const Plan& plan, double step_seconds,
                     const Metrics& metrics, double units) {
  const double each =
      std::max(1.0, pricer.workload().tokens_per_sample) * static_cast<double>(plan.global_batch);
  const Cluster& cluster = pricer.cluster();
  RunTotals totals;
  totals.steps = std::ceil(units / each);
  const double plain = totals.steps * step_seconds;
  double slowdown = 1;
  if (cluster.failures.device_hours_between_failures > 0) {
    const double between = cluster.failures.device_hours_between_failures * 3600 /
                           static_cast<double>(cluster.num_devices());
    const double save = cluster.failures.checkpoint_seconds,
                 restart = cluster.failures.restart_minutes * 60;
    const double interval = std::max(save, std::sqrt(2 * save * between));
    slowdown = 1 + save / interval + (interval / 2 + restart) / between;
    totals.failures = plain * slowdown / between;
  }
  totals.days_undisturbed = plain / 86400;
  totals.days = plain * slowdown / 86400;
  const double scale = totals.steps * slowdown * step_seconds / metrics.seconds;
  totals.dollars = metrics.dollars * scale;
  totals.kwh = metrics.joules * scale / 3.6e6 * cluster.prices.power_usage_effectiveness;
  return totals;
}

}  // namespace tenon::planner
