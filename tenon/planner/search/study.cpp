#include "tenon/planner/search/study.h"

#include <algorithm>
#include <cmath>

#include "tenon/planner/search/problems.h"
#include "tenon/planner/search/search.h"

namespace tenon::planner {
namespace {

struct Method {
  const char* label;
  SearchMethod method;
  bool policy;
};
constexpr Method methods[] = {{"random", SearchMethod::random, false},
                              {"hierarchical", SearchMethod::hierarchical, false},
                              {"genetic", SearchMethod::evolutionary, false},
                              {"genetic with policy", SearchMethod::evolutionary, true},
                              {"full", SearchMethod::full, true}};
constexpr std::size_t num_methods = std::size(methods);

struct Outcome {
  double value = INFINITY;
  double evaluations = 0;
};

Outcome run_method(const PlanningProblem& problem, const Method& method, std::uint64_t seed,
                   std::int64_t cap) {
  Pricer pricer(problem.workload, problem.cluster);
  SearchRequest request;
  request.global_batch = problem.global_batch;
  request.method = method.method;
  request.use_policy = method.policy;
  request.max_evaluations = cap;
  request.seed = seed;
  const Result<SearchReport> report = search(pricer, request);
  if (!report.ok()) return {};
  return {report->best.value, static_cast<double>(report->to_within_one_percent)};
}

GrowthPoint timed(std::string axis, double size, const ModelSpec& spec, const Cluster& cluster,
                  std::int64_t batch, const std::function<double()>& clock) {
  Pricer pricer(workload_of(spec), cluster);
  SearchRequest request;
  request.global_batch = batch;
  const double start = clock();
  const Result<SearchReport> report = search(pricer, request);
  return {std::move(axis), size, clock() - start, report.ok() ? report->configurations : 0};
}

ModelSpec decoder(int layers) {
  ModelSpec spec;
  spec.kind = ModelKind::llama;
  spec.name = "generated";
  spec.layers = layers, spec.hidden = 4096, spec.heads = 32, spec.ffn = 14336, spec.vocab = 128000,
  spec.sequence = 4096;
  Result<ModelSpec> resolved = resolve(spec);
  TENON_CHECK(resolved.ok(), "a generated model");
  return *resolved;
}

}  // namespace

Cluster mixed_cluster(int types) {
  constexpr const char* names[] = {"H100-SXM", "A100-80G", "MI300X", "H200"};
  Cluster cluster;
  cluster.name = "mixed";
  for (int i = 0; i < types; ++i)
    cluster.groups.push_back(uniform_cluster(names[i], 256)->groups[0]);
  return cluster;
}

std::vector<SmallProblemResult> study_small_problems(std::uint64_t seed, int count) {
  std::vector<SmallProblemResult> results;
  for (int i = 0; i < count; ++i) {
    SmallProblemResult result;
    result.mixed = i % 2 != 0;
    result.index = i / 2;
    const PlanningProblem problem = generated_problem(seed, result.index, result.mixed);
    Pricer pricer(problem.workload, problem.cluster);
    SearchRequest request;
    request.global_batch = problem.global_batch;
    result.exhaustive = exhaustive_value(pricer, request);
    if (!std::isfinite(result.exhaustive)) continue;
    const Result<SearchReport> report = search(pricer, request);
    result.found = report.ok() ? report->best.value : INFINITY;
    result.configurations = report.ok() ? report->configurations : 0;
    results.push_back(result);
  }
  return results;
}

std::vector<MethodResult> study_methods(std::uint64_t seed, int problems, std::int64_t cap,
                                        bool hard_only) {
  std::vector<MethodResult> results;
  for (const Method& method : methods) results.push_back({method.label, 0, {}});
  for (int i = 0; i < problems; ++i) {
    const PlanningProblem problem = generated_problem(seed, i, true);
    std::vector<Outcome> outcomes;
    double best = INFINITY;
    for (const Method& method : methods) {
      outcomes.push_back(run_method(problem, method, i, cap));
      best = std::min(best, outcomes.back().value);
    }
    const auto missed = [&](const Outcome& o) { return !(o.value <= best * 1.01); };
    if (!std::isfinite(best) || (hard_only && !missed(outcomes[0]) && !missed(outcomes[1])))
      continue;
    for (std::size_t k = 0; k < num_methods; ++k) {
      results[k].missed += missed(outcomes[k]);
      results[k].evaluations.push_back(missed(outcomes[k]) ? static_cast<double>(cap)
                                                           : outcomes[k].evaluations);
    }
  }
  return results;
}

std::vector<GrowthPoint> study_growth(const std::function<double()>& clock) {
  std::vector<GrowthPoint> points;
  for (const std::int64_t n : {64, 256, 1024, 4096, 16384}) {
    points.push_back(timed("devices", static_cast<double>(n), *model_named("llama3-70b"),
                           *uniform_cluster("H100-SXM", n), 2048, clock));
  }
  for (const int layers : {16, 32, 64, 128, 256}) {
    points.push_back(
        timed("layers", layers, decoder(layers), *uniform_cluster("H100-SXM", 1024), 2048, clock));
  }
  for (const int types : {1, 2, 3, 4}) {
    points.push_back(timed("device types", types, *model_named("llama3-70b"), mixed_cluster(types),
                           1536, clock));
  }
  return points;
}

}  // namespace tenon::planner
