// Validity: all reasons at once, and changes that truly help.
#include "tenon/planner/check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::planner {
namespace {

bool has(const std::vector<Problem>& problems, const std::string& code) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& p) { return p.code == code; });
}

Pricer pricer_for(const char* model, const char* device, int devices) {
  return Pricer(workload_of(*model_named(model)), *uniform_cluster(device, devices));
}

TEST(Check, ReportsEveryReason) {
  Plan plan;
  plan.data_parallel = 3, plan.tensor_parallel = 7, plan.pipeline_parallel = 5;
  plan.micro_batch = 2, plan.global_batch = 10, plan.expert_parallel = 2;
  plan.schedule = ScheduleKind::interleaved, plan.zero_group = 2, plan.precision = Precision::fp8;
  plan.recompute_per_stage = {Recompute::full}, plan.layers_per_stage = {1, 2, 3, 4, 5};
  Pricer pricer = pricer_for("llama3-8b", "A100-80G", 64);
  const auto problems = check(pricer, plan);
  for (const char* code :
       {"devices", "batch", "tensor", "layers", "schedule", "experts", "precision", "sharding"}) {
    EXPECT_TRUE(has(problems, code)) << code;
  }
  for (const auto& problem : problems) EXPECT_FALSE(problem.help.empty()) << problem.message;
}

TEST(Check, AcceptsAGoodPlanAndKeepsKeyValueHeadsInMind) {
  Plan plan;
  plan.tensor_parallel = 8, plan.data_parallel = 8, plan.global_batch = 64, plan.zero_stage = 1;
  plan.sequence_parallel = true;
  Pricer pricer = pricer_for("llama3-8b", "H100-SXM", 64);
  EXPECT_TRUE(check(pricer, plan).empty());
  plan.tensor_parallel = 16, plan.data_parallel = 4;  // 8 key-value heads, copied twice
  EXPECT_TRUE(check(pricer, plan).empty());
}

TEST(Check, OverridesMustNameLayers) {
  Pricer pricer = pricer_for("llama3-8b", "H100-SXM", 8);
  Plan plan;
  plan.tensor_parallel = 8, plan.global_batch = 8, plan.sequence_parallel = true;
  LayerOverride layer;
  layer.match = "attention", layer.recompute = Recompute::full;
  plan.layers = {layer};
  EXPECT_TRUE(check(pricer, plan).empty());
  plan.layers[0].match = "30-40";
  plan.layers.push_back(layer);
  plan.layers[1].match = "atention", plan.layers[1].zero_stage = 3;
  const auto problems = check(pricer, plan);
  EXPECT_EQ(problems.size(), 3u);
}

TEST(Check, TheLeastChangeMakesItFit) {
  Plan plan;
  plan.data_parallel = 64, plan.global_batch = 256, plan.micro_batch = 4;
  Pricer pricer = pricer_for("llama3-8b", "A100-80G", 64);
  const auto problems = check(pricer, plan);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, "memory");
  const auto change = least_change_that_fits(pricer, plan);
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(check(pricer, change->plan).empty());
  EXPECT_NE(problems[0].help.find(change->text), std::string::npos);
}

TEST(Check, AModelTooLargeForAnythingSaysWhatItNeeds) {
  Plan plan;
  plan.data_parallel = 8, plan.global_batch = 8;
  Pricer pricer = pricer_for("gpt-1t", "V100", 8);
  const auto problems = check(pricer, plan);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].help.find("GiB"), std::string::npos) << problems[0].help;
}

TEST(Simulate, InvalidPlansStillGetANumberWhereOneCanBeMade) {
  Plan plan;
  plan.data_parallel = 64, plan.global_batch = 256, plan.micro_batch = 4;
  Pricer pricer = pricer_for("llama3-8b", "A100-80G", 64);
  const Plan before = plan;
  const Simulation answer = simulate(pricer, plan);
  EXPECT_FALSE(answer.valid);
  ASSERT_TRUE(answer.prediction.has_value());
  EXPECT_GT(answer.prediction->step_seconds, 0);
  EXPECT_EQ(plan, before);
  plan.global_batch = 255;
  EXPECT_FALSE(simulate(pricer, plan).prediction.has_value());
}

}  // namespace
}  // namespace tenon::planner
