#include "tenon/planner/pipeline/rank_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {
namespace {

Schedule schedule_of(ScheduleKind kind, int p, int m, int v = 1) {
  Pipeline pipeline;
  pipeline.micro_batches = m;
  pipeline.virtual_stages = v;
  pipeline.stages.assign(p, {1, 1.2, 0.8, 0.05, 1});
  return *make_schedule(kind, pipeline);
}

RankReport run(const Schedule& schedule, const RankSetup& setup) {
  Result<RankReport> report = simulate_ranks(schedule, setup);
  EXPECT_TRUE(report.ok());
  return *report;
}

TEST(RankSimulator, AgreesWithThePipelineAlone) {
  for (const auto kind :
       {ScheduleKind::one_f_one_b, ScheduleKind::interleaved, ScheduleKind::zb_v}) {
    const Schedule schedule = schedule_of(kind, 4, 16, 2);
    const RankReport report = run(
        schedule, {.group_ranks = 2, .replicas = 3, .gradient_sync_ms = {2}, .optimizer_ms = {1}});
    EXPECT_NEAR(report.pipeline_ms, simulate_schedule(schedule)->wall, 1e-9);
    EXPECT_NEAR(report.step_ms, report.pipeline_ms + 3, 1e-9);
  }
}

TEST(RankSimulator, FoldingChangesNoNumber) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 4, 16);
  RankSetup setup = {.group_ranks = 2, .replicas = 8, .gradient_sync_ms = {2, 1, 1, 2}};
  setup.slow_ranks = {{17, 1.3}};
  setup.slow_links = {{4, 20, 5}};
  const RankReport folded = run(schedule, setup);
  setup.fold = false;
  const RankReport full = run(schedule, setup);
  EXPECT_EQ(full.simulated_replicas, 8);
  EXPECT_EQ(full.events, 4 * 2 * 8 * 16 * 2);
  EXPECT_LT(folded.simulated_replicas, 8);
  EXPECT_DOUBLE_EQ(folded.step_ms, full.step_ms);
  EXPECT_DOUBLE_EQ(folded.pipeline_ms, full.pipeline_ms);
}

TEST(RankSimulator, OneSlowRankSlowsItsPipelineAndTheGradientExchange) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 4, 32);
  const RankSetup healthy = {.group_ranks = 2, .replicas = 4};
  RankSetup slow = healthy;
  slow.slow_ranks = {{(1 * 4 + 2) * 2 + 1, 2.0}};  // stage 1, replica 2, member 1
  const double before = run(schedule, healthy).step_ms, after = run(schedule, slow).step_ms;
  EXPECT_GT(after, before + 32 * 3 * 0.9);  // its stage takes twice as long on every micro-batch
  EXPECT_LT(after, before + (32 + 4) * 3 * 1.1);
  const RankReport report = run(schedule, slow);
  const auto at = std::find(report.ranks.begin(), report.ranks.end(), 13) - report.ranks.begin();
  ASSERT_LT(static_cast<std::size_t>(at), report.ranks.size());
  EXPECT_NEAR(report.busy_ms[at], 2 * 32 * 3, 1e-9);
}

TEST(RankSimulator, ASlowLinkCostsOnlyWhatNothingHides) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 2, 32);
  RankSetup setup = {.group_ranks = 1, .replicas = 2};
  const double before = run(schedule, setup).step_ms;
  setup.slow_links = {{0, 2, 10}};
  const double after = run(schedule, setup).step_ms;
  EXPECT_GT(after, before);
  EXPECT_LT(after, before + 32 * 2 * 0.05 * 10);
}

TEST(RankSimulator, AFailureStopsEverybodyAndTheStepStartsAgain) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 4, 16);
  RankSetup setup = {.group_ranks = 1, .replicas = 2};
  const double healthy = run(schedule, setup).step_ms;
  setup.failure = RankFailure{3, 20, 100};
  const RankReport report = run(schedule, setup);
  EXPECT_TRUE(report.failed);
  EXPECT_EQ(report.blocked_ranks, 8);
  EXPECT_NEAR(report.step_ms, 20 + 100 + healthy, 1e-9);
  setup.failure->at_ms = 1e6;  // after its work is done
  EXPECT_FALSE(run(schedule, setup).failed);
}

TEST(RankSimulator, JitterSlowsAndRepeatsExactly) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 4, 16);
  RankSetup setup = {.group_ranks = 4, .replicas = 4};
  const double before = run(schedule, setup).step_ms;
  setup.jitter = 0.05;
  const double once = run(schedule, setup).step_ms;
  EXPECT_GT(once, before * 1.03);
  EXPECT_EQ(once, run(schedule, setup).step_ms);
  setup.seed = 1;
  EXPECT_NE(once, run(schedule, setup).step_ms);
}

TEST(RankSimulator, SixteenThousandRanksTakeSecondsAndLittleMemory) {
  const Schedule schedule = schedule_of(ScheduleKind::interleaved, 16, 64, 4);
  const RankReport report = run(schedule, {.group_ranks = 8, .replicas = 128, .fold = false});
  EXPECT_EQ(report.events, 16384 * 64 * 4 * 2);
}

TEST(RankSimulator, BadSetupsAreRefusedWithEveryProblem) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 2, 4);
  RankSetup setup = {.group_ranks = 1, .replicas = 2, .gradient_sync_ms = {1, 2, 3}};
  setup.slow_ranks = {{99, 1.5}, {0, -1}};
  const auto refused = simulate_ranks(schedule, setup);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().others.size(), 2u);
  EXPECT_FALSE(simulate_ranks(schedule, {.group_ranks = 0}).ok());
}

TEST(RankSimulator, TheTraceHoldsEveryOpOfOneReplica) {
  const Schedule schedule = schedule_of(ScheduleKind::one_f_one_b, 2, 4);
  TraceWriter trace;
  ASSERT_TRUE(simulate_ranks(schedule, {.group_ranks = 2, .replicas = 2}, &trace).ok());
  const std::string text = trace.text();
  std::size_t spans = 0;
  for (std::size_t at = text.find("\"X\""); at != std::string::npos;
       at = text.find("\"X\"", at + 1))
    ++spans;
  EXPECT_EQ(spans, 2u * 2 * 4 * 2);
}

}  // namespace
}  // namespace tenon::planner
