// The event simulation against the closed forms, and injected trouble.
#include "tenon/planner/event_simulation.h"

#include <gtest/gtest.h>

namespace tenon::planner {
namespace {

Plan sample(ScheduleKind kind) {
  Plan plan;
  plan.tensor_parallel = 8, plan.pipeline_parallel = 8, plan.data_parallel = 4;
  plan.global_batch = 128, plan.sequence_parallel = true, plan.zero_stage = 1;
  plan.schedule = kind;
  if (kind == ScheduleKind::interleaved) plan.virtual_stages = 2;
  return plan;
}

TEST(Events, AgreeWithTheClosedForms) {
  Pricer pricer(workload_of(*model_named("llama3-70b")), *uniform_cluster("H100-SXM", 256));
  for (ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                            ScheduleKind::interleaved, ScheduleKind::zb_h1, ScheduleKind::zb_h2}) {
    const Plan plan = sample(kind);
    const auto events = simulate_events(pricer, plan);
    ASSERT_TRUE(events.ok()) << events.error().text();
    EXPECT_NEAR(events->prediction.step_seconds / pricer.price(plan).step_seconds, 1, 0.02)
        << name(kind);
    EXPECT_NEAR(events->prediction.parts_seconds() / events->prediction.step_seconds, 1, 1e-9);
  }
}

TEST(Events, ApproximateFormsAreNear) {
  Pricer pricer(workload_of(*model_named("llama3-70b")), *uniform_cluster("H100-SXM", 256));
  for (ScheduleKind kind : {ScheduleKind::zb_v, ScheduleKind::v_half, ScheduleKind::v_min,
                            ScheduleKind::dualpipe, ScheduleKind::automatic}) {
    const Plan plan = sample(kind);
    const auto events = simulate_events(pricer, plan);
    ASSERT_TRUE(events.ok()) << events.error().text();
    EXPECT_NEAR(pricer.price(plan).step_seconds / events->prediction.step_seconds, 1, 0.05)
        << name(kind);
  }
}

TEST(Events, SearchedKindsLoseLessThanPlainOnes) {
  Pricer pricer(workload_of(*model_named("llama3-70b")), *uniform_cluster("H100-SXM", 256));
  const double plain =
      simulate_events(pricer, sample(ScheduleKind::one_f_one_b))->prediction.step_seconds;
  for (ScheduleKind kind : {ScheduleKind::zb_v, ScheduleKind::automatic}) {
    const auto events = simulate_events(pricer, sample(kind));
    ASSERT_TRUE(events.ok()) << events.error().text();
    EXPECT_LT(events->prediction.step_seconds, plain) << name(kind);
  }
}

TEST(Events, ASlowRankSlowsTheStep) {
  Pricer pricer(workload_of(*model_named("llama3-70b")), *uniform_cluster("H100-SXM", 256));
  const Plan plan = sample(ScheduleKind::one_f_one_b);
  RankSetup slow;
  slow.slow_ranks = {{17, 1.5}};
  const double healthy = simulate_events(pricer, plan)->prediction.step_seconds;
  const double hurt = simulate_events(pricer, plan, slow)->prediction.step_seconds;
  EXPECT_GT(hurt, 1.2 * healthy);
  EXPECT_LT(hurt, 1.6 * healthy);
}

}  // namespace
}  // namespace tenon::planner
