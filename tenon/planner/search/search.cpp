#include "tenon/planner/search/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/random.h"
#include "tenon/planner/search/genetic.h"
#include "tenon/planner/search/hierarchical.h"
#include "tenon/planner/search/reasons.h"
#include "tenon/planner/search/refine.h"
#include "tenon/planner/search/stage_balance.h"

namespace tenon::planner {
namespace {

constexpr std::uint64_t most_turns = 16;  // of the genetic algorithm, after the first
constexpr std::size_t num_leaders = 10;   // plans that are refined

// A stored plan, made to fit this problem where its degrees allow.
Plan adapted(Plan plan, const SearchSpace& space, std::int64_t num_devices) {
  plan.global_batch = space.base.global_batch;
  const std::int64_t inner =
      std::int64_t{plan.tensor_parallel} * plan.pipeline_parallel * plan.context_parallel;
  if (inner > 0 && num_devices % inner == 0)
    plan.data_parallel = static_cast<int>(num_devices / inner);
  while (plan.micro_batch > 1 && plan.num_micro_batches() == 0) plan.micro_batch /= 2;
  return plan;
}

bool keeps_fixed(const Plan& plan, const SearchRequest& request) {
  for (const auto& [key, value] : request.fixed) {
    Plan copy = plan;
    if (!set_plan_key(copy, key, value).ok() || copy != plan) return false;
  }
  return true;
}

class Search {
 public:
  Search(Pricer& pricer, const SearchRequest& request, const SearchSpace& space)
      : request_(request), space_(space), evaluator_(pricer, request) {}

  Result<SearchReport> run() {
    const double started = request_.clock ? request_.clock() : 0;
    if (request_.method == SearchMethod::random) {
      search_randomly(evaluator_, space_, request_.seed);
    } else {
      run_stages();
    }
    start_from_earlier();
    if (!evaluator_.has_best()) return why_nothing_fits(evaluator_, space_);
    SearchReport report = report_of();
    report.seconds = request_.clock ? request_.clock() - started : 0;
    return report;
  }

 private:
  const MovePolicy* policy() const {
    return request_.use_policy ? &MovePolicy::shipped() : nullptr;
  }

  // Behind everything a cold search does, so that the answer is never worse than a cold one.
  void start_from_earlier() {
    for (const Plan& plan : request_.start_from) {
      const Plan start = adapted(plan, space_, evaluator_.num_devices());
      if (!keeps_fixed(start, request_)) continue;
      evaluator_.evaluate(start);
      if (!evaluator_.stopped()) refine(evaluator_, space_, start, {policy(), num_moves});
    }
  }

  void run_stages() {
    const std::vector<Cell> cells = coarse_cells(evaluator_, space_);
    if (request_.method != SearchMethod::hierarchical) {
      // A good plan early lets the systematic pass drop more. Unlike devices need more than
      // climbing.
      if (evaluator_.homogeneous())
        refine_leaders(3);
      else
        evolve(cells, 0);
    }
    if (request_.method != SearchMethod::evolutionary) {
      search_cells(evaluator_, space_, cells);
      refine_leaders(evaluator_.homogeneous() ? num_leaders : 2 * num_leaders);
    }
    const bool several = request_.objective == Objective::pareto || !evaluator_.homogeneous();
    if (!several || request_.method == SearchMethod::hierarchical) return;
    // Turns that bring nothing end it; on its own the genetic algorithm is more patient.
    const int patience = request_.method == SearchMethod::evolutionary ? 4 : 2;
    int idle = 0;
    for (std::uint64_t turn = 1; turn <= most_turns && idle < patience; ++turn) {
      if (evaluator_.stopped()) return;
      const double before = evaluator_.best_value();
      evolve(cells, turn);
      idle = evaluator_.best_value() < before ? 0 : idle + 1;
    }
  }

  // From each division of the devices only its best schedule, so that the starts differ. Where
  // devices are unlike, schedules suit different cuts, and each may start.
  std::vector<Plan> starts(std::size_t count) const {
    std::vector<Plan> plans;
    for (const Candidate& candidate : evaluator_.leaders(4 * count)) {
      const bool known = std::any_of(plans.begin(), plans.end(), [&](const Plan& p) {
        const Plan& q = candidate.plan;
        return p.tensor_parallel == q.tensor_parallel &&
               p.pipeline_parallel == q.pipeline_parallel &&
               p.context_parallel == q.context_parallel && p.expert_parallel == q.expert_parallel &&
               (p.schedule == q.schedule || evaluator_.homogeneous());
      });
      if (!known) plans.push_back(candidate.plan);
      if (plans.size() == count) break;
    }
    if (plans.empty() && evaluator_.leanest()) plans.push_back(evaluator_.leanest()->plan);
    return plans;
  }

  void refine_leaders(std::size_t count) {
    RefineOptions options{policy(), num_moves};
    const bool mixed = !evaluator_.pricer().cluster().is_homogeneous();
    for (const Plan& start : starts(count)) {
      if (evaluator_.stopped()) return;
      refine(evaluator_, space_, start, options);
      if (!mixed || start.pipeline_parallel == 1 || space_.layers_fixed) continue;
      // Unlike devices want unlike stages before anything else is compared.
      Plan cut = start;
      const std::vector<StagePrediction> none;
      for (Plan& next : moved(cut, Move::balance_layers, {space_, evaluator_.pricer(), none})) {
        refine(evaluator_, space_, next, options);
      }
    }
  }

  // From the most promising cells, each cut to measure, and from what is best so far.
  void evolve(const std::vector<Cell>& cells, std::uint64_t turn) {
    GeneticOptions options;
    options.policy = policy();
    options.seed = mix_key(request_.seed, turn);
    std::vector<Plan> seeds;
    // Each turn starts from other cells, and every second one trusts the policy less.
    if (turn % 2 == 1) options.policy = nullptr;
    const std::size_t each = options.population / 2,
                      first = turn * each < cells.size() ? turn * each : 0;
    for (std::size_t i = first; i < std::min(cells.size(), first + each); ++i) {
      seeds.push_back(cells[i].plan);
      Plan cut = cells[i].plan;
      cut.layers_per_stage =
          space_.layers_fixed ? cut.layers_per_stage : balanced_layers(cut, evaluator_.pricer());
      if (!cut.layers_per_stage.empty()) seeds.push_back(std::move(cut));
    }
    for (const Candidate& candidate : evaluator_.leaders(turn == 0 ? 4 : 12))
      seeds.push_back(candidate.plan);
    search_genetically(evaluator_, space_, seeds, options);
    for (const Candidate& candidate : evaluator_.leaders(3)) {
      refine(evaluator_, space_, candidate.plan, {policy(), num_moves});
    }
  }

  SearchReport report_of() {
    SearchReport report;
    report.best = evaluator_.best();
    for (Candidate& other : evaluator_.leaders(9)) {
      if (other.plan == report.best.plan) continue;
      std::string why = why_lost(report.best, other);
      report.runners_up.push_back({std::move(other), std::move(why)});
    }
    report.pareto = evaluator_.pareto();
    report.limited_by = limited_by(report.best);
    report.advice = advice(evaluator_, space_, report.best);
    report.configurations = evaluator_.count();
    report.to_within_one_percent = evaluator_.count_within_one_percent();
    report.stopped_by = evaluator_.stopped_by().empty() ? "converged" : evaluator_.stopped_by();
    return report;
  }

  const SearchRequest& request_;
  const SearchSpace& space_;
  Evaluator evaluator_;
};

}  // namespace

std::string_view name(Objective objective) {
  return objective_names()[static_cast<int>(objective)];
}

const std::vector<std::string>& objective_names() {
  static const std::vector<std::string> names = {"time", "memory", "cost", "energy", "pareto"};
  return names;
}

Result<SearchReport> search(Pricer& pricer, const SearchRequest& request) {
  if (request.global_batch < 1) return invalid("a batch of {} samples", request.global_batch);
  if (pricer.cluster().num_devices() < 1) return invalid("the cluster has no devices");
  const SearchSpace space = TENON_TRY(search_space(pricer.workload(), pricer.cluster(), request));
  return Search(pricer, request, space).run();
}

}  // namespace tenon::planner
