#include "tenon/planner/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/planner/pipeline/closed_forms.h"
#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/stage_times.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {
namespace {

Pipeline equal_stages(int p, int m, StageTimes stage = {1, 1, 1, 0, 1}) {
  Pipeline pipeline;
  pipeline.micro_batches = m;
  pipeline.stages.assign(p, stage);
  return pipeline;
}

ScheduleTiming timed(const Schedule& schedule) {
  Result<ScheduleTiming> timing = simulate_schedule(schedule);
  EXPECT_TRUE(timing.ok());
  return *timing;
}

double peak(const Schedule& schedule, double share = default_weight_share) {
  const auto peaks = peak_activations(schedule, share);
  return *std::max_element(peaks.begin(), peaks.end());
}

TEST(Schedules, EveryKindIsCompleteForAwkwardCounts) {
  for (const int p : {1, 2, 3, 5, 8}) {
    for (const int m : {1, 2, 3, 7, 16, 40}) {
      for (int kind = 0; kind < kNumSchedules; ++kind) {
        Pipeline pipeline = equal_stages(p, m, {1, 1.1, 0.7, 0.05, 1});
        pipeline.virtual_stages =
            static_cast<ScheduleKind>(kind) == ScheduleKind::automatic ? 0 : 2;
        const Result<Schedule> schedule = make_schedule(static_cast<ScheduleKind>(kind), pipeline);
        if (!schedule.ok()) {
          EXPECT_FALSE(schedule.error().help.empty());
          continue;
        }
        EXPECT_TRUE(check_complete(*schedule).ok()) << name(schedule->kind) << p << " " << m;
        EXPECT_TRUE(simulate_schedule(*schedule).ok()) << name(schedule->kind) << p << " " << m;
      }
    }
  }
}

TEST(Schedules, CountsThatAKindCannotTakeAreAnsweredWithOnesThatWouldDo) {
  Pipeline pipeline = equal_stages(4, 10);
  pipeline.virtual_stages = 2;
  const auto interleaved = make_schedule(ScheduleKind::interleaved, pipeline);
  ASSERT_FALSE(interleaved.ok());
  EXPECT_EQ(interleaved.error().help, "take 8 or 12 micro-batches");
  const auto dual = make_schedule(ScheduleKind::dualpipe, equal_stages(4, 5));
  ASSERT_FALSE(dual.ok());
  EXPECT_EQ(dual.error().help, "take 8 micro-batches");
  EXPECT_EQ(make_schedule(ScheduleKind::dualpipe, equal_stages(3, 12)).error().help,
            "take 4 stages");
}

TEST(Schedules, ClosedFormsHoldExactlyWhereTheyAreStated) {
  for (const StageTimes stage : {StageTimes{1, 1, 1, 0, 1}, StageTimes{1, 1.2, 0.8, 0.01, 1}}) {
    for (const auto& [p, m] : {std::pair{2, 8}, {4, 16}, {8, 32}}) {
      for (const auto kind :
           {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved,
            ScheduleKind::zb_h1, ScheduleKind::zb_h2}) {
        Pipeline pipeline = equal_stages(p, m, stage);
        pipeline.virtual_stages = 2;
        const double closed = *closed_form_iteration(kind, p, m, 2, stage);
        EXPECT_NEAR(timed(*make_schedule(kind, pipeline)).makespan, closed, 1e-9)
            << name(kind) << p;
      }
    }
  }
}

// The idle time counts the late start of the inner devices: it is that of the wall time.
TEST(Schedules, DualPipeIdlesNoLongerThanPublished) {
  for (const StageTimes stage : {StageTimes{1, 1, 1, 0, 1}, StageTimes{1, 1.2, 0.8, 0, 1}}) {
    for (const auto& [p, m] : {std::pair{2, 4}, {4, 16}, {8, 18}, {8, 32}}) {
      const Schedule schedule = *make_schedule(ScheduleKind::dualpipe, equal_stages(p, m, stage));
      EXPECT_NEAR(timed(schedule).wall, *closed_form_iteration(schedule.kind, p, m, 1, stage),
                  1e-9);
      const double fused = stage.forward + 2 * stage.backward_input - stage.backward_weight;
      EXPECT_LE(timed(schedule).wall, m * stage.work() + (p / 2 - 1) * fused + 1e-9);
      EXPECT_DOUBLE_EQ(peak(schedule), p + 1);
    }
  }
}

TEST(Schedules, PeaksAreThePublishedOnes) {
  const Pipeline pipeline = equal_stages(8, 32);
  EXPECT_DOUBLE_EQ(peak(*make_schedule(ScheduleKind::gpipe, pipeline)), 32);
  EXPECT_DOUBLE_EQ(peak(*make_schedule(ScheduleKind::one_f_one_b, pipeline)), 8);
  EXPECT_DOUBLE_EQ(peak(*make_schedule(ScheduleKind::zb_h2, pipeline)), 15);
  Pipeline chunked = pipeline;
  chunked.virtual_stages = 4;
  EXPECT_DOUBLE_EQ(peak(*make_schedule(ScheduleKind::interleaved, chunked)),
                   8 * (1 + 7.0 / (8 * 4)));
  EXPECT_LE(peak(*make_schedule(ScheduleKind::zb_v, pipeline)), 8);
  EXPECT_LE(peak(*make_schedule(ScheduleKind::v_half, pipeline)), 5);
  EXPECT_LE(peak(*make_schedule(ScheduleKind::v_min, pipeline)), 4);
}

TEST(Schedules, ZeroBubbleH1MemoryFallsFromWholeActivationsToWeightShares) {
  const double share = 0.4;
  const Schedule schedule = *make_schedule(ScheduleKind::zb_h1, equal_stages(6, 24));
  const auto peaks = peak_activations(schedule, share);
  for (int d = 0; d < 6; ++d) EXPECT_NEAR(peaks[d], (6 - d) + d * share, 1e-12);
}

TEST(Schedules, VShapedKindsReachTheirPublishedBubbles) {
  const Pipeline pipeline = equal_stages(8, 32);
  const double ramp = 7 * 3;  // 1F1B idles (p-1)(F+B+W)
  EXPECT_NEAR(timed(*make_schedule(ScheduleKind::zb_v, pipeline)).makespan, 96, 1e-9);
  EXPECT_LE(timed(*make_schedule(ScheduleKind::v_half, pipeline)).makespan, 96 + ramp / 2);
  EXPECT_LE(timed(*make_schedule(ScheduleKind::v_min, pipeline)).makespan, 96 + ramp * 2 / 3 + 3);
}

TEST(Timing, FewMicroBatchesCostTheWayThereAndBack) {
  // One micro-batch: F all the way, then B and W all the way back.
  EXPECT_DOUBLE_EQ(timed(*make_schedule(ScheduleKind::one_f_one_b, equal_stages(5, 1))).makespan,
                   15);
  const StageTimes stage = {1, 1, 1, 0.25, 1};
  EXPECT_DOUBLE_EQ(
      timed(*make_schedule(ScheduleKind::one_f_one_b, equal_stages(5, 1, stage))).makespan, 17);
}

TEST(Timing, UnequalStagesWaitForTheSlowest) {
  Pipeline pipeline = equal_stages(4, 64);
  pipeline.stages[2] = {2, 2, 2, 0, 1};
  const ScheduleTiming timing = timed(*make_schedule(ScheduleKind::one_f_one_b, pipeline));
  EXPECT_GE(timing.makespan, 64 * 6);
  EXPECT_LE(timing.makespan, 64 * 6 + 3 * 3 + 6);
}

TEST(Timing, BlockingSendsOccupyTheSender) {
  const Schedule schedule =
      *make_schedule(ScheduleKind::one_f_one_b, equal_stages(4, 16, {1, 1, 1, 0.1, 1}));
  EXPECT_GT(simulate_schedule(schedule, SendModel::blocking)->makespan,
            simulate_schedule(schedule, SendModel::overlapped)->makespan);
}

TEST(Timing, OrdersThatWaitForEachOtherAreAnErrorAndNotAHang) {
  Schedule schedule = *make_schedule(ScheduleKind::one_f_one_b, equal_stages(2, 2));
  std::swap(schedule.devices[1][0], schedule.devices[1][1]);  // B before its own F
  EXPECT_FALSE(simulate_schedule(schedule).ok());
  schedule.devices[1].pop_back();
  EXPECT_FALSE(check_complete(schedule).ok());
}

TEST(StageTimesFile, OneRowStandsForAllAndEveryProblemIsNamed) {
  const auto one =
      parse_stage_times("forward, backward_input,backward_weight,send\n1,2,3,0.5\n", "t.csv", 3);
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 3u);
  EXPECT_EQ((*one)[2].backward_weight, 3);
  const auto wrong =
      parse_stage_times("forward,backward_input,backward_weight,send\n1,-2,x,0.5\n", "t.csv", 3);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().others.size(), 1u);
  EXPECT_FALSE(parse_stage_times("forward,send\n1,2\n", "t.csv", 1).ok());
  EXPECT_FALSE(parse_stage_times("forward,backward_input,backward_weight,send\n1,1,1,0\n1,1,1,0\n",
                                 "t.csv", 3)
                   .ok());
}

TEST(Schedules, BadPipelinesAreRefused) {
  EXPECT_FALSE(make_schedule(ScheduleKind::gpipe, equal_stages(0, 4)).ok());
  EXPECT_FALSE(make_schedule(ScheduleKind::gpipe, equal_stages(4, 0)).ok());
  EXPECT_FALSE(make_schedule(ScheduleKind::gpipe, equal_stages(2, 2, {-1, 1, 1, 0, 1})).ok());
  EXPECT_FALSE(make_schedule(ScheduleKind::gpipe, equal_stages(2, 2, {0, 0, 0, 0, 1})).ok());
}

}  // namespace
}  // namespace tenon::planner
