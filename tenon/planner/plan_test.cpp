// Plan files: both formats read back to the same plan; defaults; wrong keys.
#include "tenon/planner/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tenon::planner {
namespace {

Plan sample() {
  Plan plan;
  plan.data_parallel = 4, plan.tensor_parallel = 8, plan.pipeline_parallel = 2;
  plan.micro_batch = 2, plan.global_batch = 64, plan.sequence_parallel = true;
  plan.schedule = ScheduleKind::interleaved, plan.virtual_stages = 3;
  plan.recompute = Recompute::selective, plan.zero_stage = 1;
  plan.layers_per_stage = {11, 13}, plan.placement = {Axis::tensor, Axis::data};
  plan.recompute_per_stage = {Recompute::full, Recompute::none};
  LayerOverride layer;
  layer.match = "attention", layer.tensor_parallel = 4, layer.precision = Precision::fp8;
  plan.layers = {layer};
  return plan;
}

TEST(Plan, ReadsBackFromJsonAndToml) {
  for (const Plan& plan : {sample(), Plan{}}) {
    auto from_json = parse_plan(to_json(plan).dump(), "p.json");
    ASSERT_TRUE(from_json.ok()) << from_json.error().text();
    EXPECT_EQ(from_json->plan, plan);
    auto from_toml = parse_plan(to_toml(plan), "p.toml");
    ASSERT_TRUE(from_toml.ok()) << from_toml.error().text() << to_toml(plan);
    EXPECT_EQ(from_toml->plan, plan);
  }
}

TEST(Plan, DefaultsAreThoseOfTheCommandLinePage) {
  auto file = parse_plan("data_parallel = 2\nmicro_batch = 1\nglobal_batch = 8\n", "p.toml");
  ASSERT_TRUE(file.ok());
  const Plan& plan = file->plan;
  EXPECT_EQ(plan.tensor_parallel, 1);
  EXPECT_EQ(name(plan.schedule), "1f1b");
  EXPECT_EQ(name(plan.recompute), "none");
  EXPECT_EQ(name(plan.precision), "bf16");
  EXPECT_EQ(name(plan.optimizer), "adam");
  EXPECT_FALSE(plan.sequence_parallel);
  EXPECT_EQ(plan.num_micro_batches(), 4);
}

TEST(Plan, WholePlanOutputIsAcceptedAndKeepsItsModel) {
  nlohmann::json outer;
  outer["plan"] = nlohmann::json::parse(to_json(sample()).dump());
  outer["plan"]["model"] = {{"kind", "gpt"}};
  outer["prediction"] = {{"step_seconds", 1.0}};
  auto file = parse_plan(outer.dump(), "plan.json");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->plan, sample());
  EXPECT_EQ(file->model_json, "{\"kind\":\"gpt\"}");
}

TEST(Plan, ReportsMissingUnknownAndWrong) {
  auto bad = parse_plan(
      "tensor_paralel = 2\nzero_stage = 4\nschedule = \"1f1\"\nmicro_batch = 0\nglobal_batch = 8\n",
      "p.toml");
  ASSERT_FALSE(bad.ok());
  std::string all = bad.error().text() + bad.error().help;
  for (const auto& other : bad.error().others) all += "\n" + other.text() + " " + other.help;
  for (const char* part :
       {"data_parallel is missing", "did you mean 'tensor_parallel'?",
        "zero_stage must be at most 3", "did you mean '1f1b'?", "micro_batch must be at least 1"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

TEST(Plan, OneKeyFromText) {
  Plan plan = sample();
  ASSERT_TRUE(set_plan_key(plan, "schedule", "zb-v").ok());
  ASSERT_TRUE(set_plan_key(plan, "tensor_parallel", "16").ok());
  ASSERT_TRUE(set_plan_key(plan, "sequence_parallel", "false").ok());
  EXPECT_EQ(plan.schedule, ScheduleKind::zb_v);
  EXPECT_EQ(plan.tensor_parallel, 16);
  EXPECT_FALSE(plan.sequence_parallel);
  EXPECT_FALSE(set_plan_key(plan, "tensor_parallel", "many").ok());
  EXPECT_EQ(summary(plan).substr(0, 12), "tp16 pp2 dp4");
}

}  // namespace
}  // namespace tenon::planner
