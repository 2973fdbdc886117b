#include "tenon/planner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/planner/check.h"
#include "tenon/planner/search/expert_plans.h"
#include "tenon/planner/search/genetic.h"
#include "tenon/planner/search/problems.h"
#include "tenon/planner/search/stage_balance.h"

namespace tenon::planner {
namespace {

Pricer pricer_for(const char* model, const char* cluster) {
  return Pricer(workload_of(*model_named(model)), *load_cluster(cluster));
}

SearchRequest request_for(std::int64_t batch) {
  SearchRequest request;
  request.global_batch = batch;
  return request;
}

TEST(Search, FindsAPlanThatFitsAndIsValidWithReasonsForTheOthers) {
  Pricer pricer = pricer_for("llama3-8b", "H100-SXM:16");
  const auto report = search(pricer, request_for(128));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->best.price.fits());
  EXPECT_EQ(report->best.plan.num_devices(), 16);
  EXPECT_GE(report->runners_up.size(), 4u);
  double before = report->best.value;
  for (const RunnerUp& other : report->runners_up) {
    EXPECT_GE(other.candidate.value, before - 1e-12);
    EXPECT_FALSE(other.why_lost.empty());
    EXPECT_TRUE(other.candidate.price.fits());
    before = other.candidate.value;
  }
  EXPECT_FALSE(report->limited_by.empty());
  EXPECT_FALSE(report->advice.empty());
  EXPECT_EQ(report->stopped_by, "converged");
}

TEST(Search, TheSameRequestGivesTheSameAnswer) {
  Pricer pricer = pricer_for("llama2-7b", "A100-80G:16");
  SearchRequest request = request_for(64);
  request.objective = Objective::pareto;
  const auto a = search(pricer, request), b = search(pricer, request);
  EXPECT_EQ(a->best.plan, b->best.plan);
  EXPECT_EQ(a->configurations, b->configurations);
  EXPECT_EQ(a->pareto.size(), b->pareto.size());
}

TEST(Search, FixedKeysStayAndUnknownOnesAreRefused) {
  Pricer pricer = pricer_for("llama2-7b", "A100-80G:16");
  SearchRequest request = request_for(64);
  request.fixed = {{"tensor_parallel", "4"}, {"schedule", "1f1b"}, {"zero_stage", "0"}};
  const auto report = search(pricer, request);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->best.plan.tensor_parallel, 4);
  EXPECT_EQ(report->best.plan.schedule, ScheduleKind::one_f_one_b);
  EXPECT_EQ(report->best.plan.zero_stage, 0);
  request.fixed = {{"tensor_paralel", "4"}, {"schedule", "2f2b"}};
  const auto refused = search(pricer, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().others.size(), 1u);
}

TEST(Search, CapsStopItWithTheBestSoFar) {
  Pricer pricer = pricer_for("llama3-8b", "H100-SXM:64");
  SearchRequest request = request_for(512);
  request.max_evaluations = 300;
  const auto report = search(pricer, request);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->stopped_by, "evaluations");
  EXPECT_LE(report->configurations, 302);
  EXPECT_TRUE(report->best.price.fits());
}

TEST(Search, AModelThatFitsNowhereIsAnsweredWithTheLeastThatWouldDo) {
  Pricer pricer = pricer_for("llama3-405b", "A100-40G:8");
  const auto report = search(pricer, request_for(512));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::invalid);
  EXPECT_NE(report.error().help.find("GiB"), std::string::npos);
}

TEST(Search, TheParetoFrontHoldsNoDominatedPlan) {
  Pricer pricer = pricer_for("llama2-7b", "A100-80G:16");
  SearchRequest request = request_for(64);
  request.objective = Objective::pareto;
  const auto report = search(pricer, request);
  ASSERT_GE(report->pareto.size(), 2u);
  for (const Candidate& a : report->pareto) {
    for (const Candidate& b : report->pareto) {
      const bool dominated = b.metrics.seconds < a.metrics.seconds &&
                             b.metrics.memory_bytes < a.metrics.memory_bytes &&
                             b.metrics.dollars < a.metrics.dollars &&
                             b.metrics.joules < a.metrics.joules;
      EXPECT_FALSE(dominated);
    }
  }
}

TEST(Search, OtherObjectivesGiveWhatTheyAskFor) {
  Pricer pricer = pricer_for("llama2-7b", "A100-80G:16");
  SearchRequest request = request_for(64);
  const auto fast = search(pricer, request);
  request.objective = Objective::memory;
  const auto lean = search(pricer, request);
  EXPECT_LT(lean->best.metrics.memory_bytes, fast->best.metrics.memory_bytes);
  request.objective = Objective::energy;
  EXPECT_LE(search(pricer, request)->best.metrics.joules, fast->best.metrics.joules);
}

TEST(Search, StartingFromAnEarlierResultIsNeverWorse) {
  Pricer small = pricer_for("llama3-8b", "H100-SXM:16");
  const Plan stored = search(small, request_for(128))->best.plan;
  Pricer large = pricer_for("llama3-8b", "H100-SXM:64");
  SearchRequest request = request_for(512);
  const double cold = search(large, request)->best.value;
  request.start_from = {stored};
  EXPECT_LE(search(large, request)->best.value, cold);
}

// The search's own quick test of validity and the one that explains itself must agree.
TEST(Search, PlansItCallsValidAreValidByTheCheck) {
  for (const char* model : {"llama2-7b", "mixtral-8x7b", "t5-large", "resnet50"}) {
    Pricer pricer = pricer_for(model, "A100-80G:24");
    const SearchRequest request = request_for(48);
    const SearchSpace space = *search_space(pricer.workload(), pricer.cluster(), request);
    const std::vector<Mesh> all = meshes(space, pricer.workload(), 24);
    CounterRandom random(5);
    int valid = 0;
    for (int i = 0; i < 2000; ++i) {
      const Plan plan = drawn_plan(all, space, random);
      if (!why_invalid(plan, pricer.workload(), 24).empty()) continue;
      ++valid;
      const auto problems = check_structure(pricer.workload(), pricer.cluster(), plan);
      EXPECT_TRUE(problems.empty()) << summary(plan) << ": " << problems.front().message;
    }
    EXPECT_GT(valid, 100) << model;
  }
}

TEST(Search, ComesWithinOnePercentOfExhaustiveSearch) {
  double worst = 0;
  int misses = 0, problems = 0;
  for (const bool mixed : {false, true}) {
    for (std::uint64_t i = 0; i < 25; ++i) {
      const PlanningProblem problem = generated_problem(11, i, mixed);
      Pricer pricer(problem.workload, problem.cluster);
      const SearchRequest request = request_for(problem.global_batch);
      const double best = exhaustive_value(pricer, request);
      const auto report = search(pricer, request);
      if (best > 1e300) continue;
      ASSERT_TRUE(report.ok());
      ++problems;
      const double regret = report->best.value / best - 1;
      worst = std::max(worst, regret);
      misses += regret > 0.01;
    }
  }
  EXPECT_GE(problems, 40);
  EXPECT_EQ(misses, 0) << "worst regret " << worst;
}

TEST(Search, PublishedPlansAreAmongTheFirstFiveOfTheirOwnSpace) {
  const auto plans = compare_with_experts();
  ASSERT_TRUE(plans.ok());
  EXPECT_EQ(plans->size(), 10u);
  for (const ExpertPlan& e : *plans) {
    EXPECT_LE(e.rank, 5) << e.label;
    EXPECT_GE(e.gain, e.behind_best - 1e-9) << e.label;  // the full space holds the expert's
  }
}

TEST(Search, FixedRecomputationIsOfAllLayers) {
  Pricer pricer = pricer_for("llama3-8b", "H100-SXM:16");
  SearchRequest request = request_for(128);
  request.fixed = {{"recompute", "full"}};
  const auto report = search(pricer, request);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->best.plan.recompute_layers, 0);
}

TEST(StageBalance, SlowDevicesGetFewerLayers) {
  Cluster cluster = *load_cluster("H100-SXM:8");
  cluster.groups.push_back(load_cluster("A100-80G:8")->groups[0]);
  Pricer pricer(workload_of(*model_named("llama2-7b")), cluster);
  Plan plan;
  plan.pipeline_parallel = 4;
  plan.data_parallel = 4;
  plan.global_batch = 64;
  const std::vector<int> layers = balanced_layers(plan, pricer);
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_GT(layers[0] + layers[1], layers[2] + layers[3]);
  EXPECT_EQ(layers[0] + layers[1] + layers[2] + layers[3], 32);
}

TEST(StageBalance, TheCutIsTheBestOfAllCuts) {
  Cluster cluster = *load_cluster("H100-SXM:8");
  cluster.groups.push_back(load_cluster("V100:8")->groups[0]);
  Pricer pricer(workload_of(*model_named("gpt2")), cluster);
  Plan plan;
  plan.pipeline_parallel = 4;
  plan.data_parallel = 4;
  plan.global_batch = 64;
  plan.layers_per_stage = balanced_layers(plan, pricer);
  const auto slowest = [&](const Plan& p) {
    std::vector<StagePrediction> stages;
    pricer.price(p, &stages);
    double most = 0;
    for (const auto& s : stages) most = std::max(most, s.forward_seconds + s.backward_seconds());
    return most;
  };
  const double ours = slowest(plan);
  for (int a = 1; a <= 9; ++a) {
    for (int b = 1; a + b <= 10; ++b) {
      for (int c = 1; a + b + c <= 11; ++c) {
        plan.layers_per_stage = {a, b, c, 12 - a - b - c};
        EXPECT_GE(slowest(plan), ours * 0.999);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::planner
