#include "tenon/planner/pipeline/auto_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/lower_bound.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {
namespace {

using Orders = std::vector<std::vector<ScheduledOp>>;

Pipeline random_pipeline(int p, int m, std::uint64_t seed) {
  Pipeline pipeline;
  pipeline.micro_batches = m;
  pipeline.virtual_stages = 1;
  std::uint64_t state = seed * 2654435761u + 1;
  const auto draw = [&](double low, double high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state >> 40) / (1 << 24);
  };
  for (int d = 0; d < p; ++d) {
    pipeline.stages.push_back({draw(0.5, 2), draw(0.5, 2), draw(0.3, 1.5), draw(0, 0.3), 1});
  }
  return pipeline;
}

// All orders of one device on the plain placement that keep the limit. Micro-batches are alike, so
// each of F, B and W may run them in their order.
void all_orders(int m, double limit, double share, std::vector<ScheduledOp>& ops, int f, int b,
                int w, Orders& found) {
  if (w == m) {
    found.push_back(ops);
    return;
  }
  const auto take = [&](Phase phase, int j, int df, int db, int dw) {
    ops.push_back({j, 0, phase});
    all_orders(m, limit, share, ops, f + df, b + db, w + dw, found);
    ops.pop_back();
  };
  if (f < m && (f + 1 - b) + share * (b - w) <= limit + 1e-9) take(Phase::forward, f, 1, 0, 0);
  if (b < f) take(Phase::backward_input, b, 0, 1, 0);
  if (w < b) take(Phase::backward_weight, w, 0, 0, 1);
}

double exhaustive_makespan(const Pipeline& pipeline, double limit) {
  const int p = pipeline.devices(), m = pipeline.micro_batches;
  Orders choices;
  std::vector<ScheduledOp> ops;
  all_orders(m, limit, pipeline.weight_share, ops, 0, 0, 0, choices);
  const Placement placement = looped_placement(pipeline, 1);
  MakespanSimulator simulator(placement, m);
  double best = 1e300;
  Orders devices(p);
  const std::function<void(int)> choose = [&](int d) {
    if (d == p) {
      best = std::min(best, simulator.run(devices));
      return;
    }
    for (const auto& order : choices) {
      devices[d] = order;
      choose(d + 1);
    }
  };
  choose(0);
  return best;
}

double auto_makespan(Pipeline pipeline, double limit) {
  pipeline.memory_limits = {limit};
  const Result<Schedule> schedule = auto_schedule(pipeline);
  EXPECT_TRUE(schedule.ok());
  if (!schedule.ok()) return 1e300;
  EXPECT_TRUE(check_complete(*schedule).ok());
  const auto peaks = peak_activations(*schedule, pipeline.weight_share);
  EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()), limit + 1e-9);
  return simulate_schedule(*schedule)->makespan;
}

TEST(AutoSchedule, FindsTheOptimumOfTinyPipelines) {
  double worst = 1;
  for (const auto& [p, m] : {std::pair{2, 2}, {2, 3}, {2, 4}, {3, 2}, {3, 3}}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      for (const double limit : {1.0, 2.0, 4.0}) {
        const Pipeline pipeline = random_pipeline(p, m, seed + 10 * p + 100 * m);
        const double best = exhaustive_makespan(pipeline, limit);
        const double found = auto_makespan(pipeline, limit);
        EXPECT_GE(found, best - 1e-9);
        const Placement placement = looped_placement(pipeline, 1);
        EXPECT_LE(makespan_lower_bound(placement, m, std::vector<double>(p, limit),
                                       pipeline.weight_share),
                  best + 1e-9);
        worst = std::max(worst, found / best);
      }
    }
  }
  EXPECT_LE(worst, 1.02);
}

TEST(AutoSchedule, MoreMemoryIsNeverSlower) {
  for (const auto& [p, m] : {std::pair{3, 8}, {4, 12}, {8, 16}, {12, 30}}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      Pipeline pipeline = random_pipeline(p, m, seed + p);
      pipeline.virtual_stages = 0;
      double before = 1e300;
      for (double limit = 1; limit <= 2 * p + 2; limit += p < 8 ? 0.5 : 1.5) {
        const double now = auto_makespan(pipeline, limit);
        EXPECT_LE(now, before + 1e-9) << p << " " << m << " " << limit;
        before = now;
      }
    }
  }
}

TEST(AutoSchedule, IsNotSlowerThanThePublishedKindsThatFit) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Pipeline pipeline = random_pipeline(6, 18, seed);
    for (const auto kind : {ScheduleKind::one_f_one_b, ScheduleKind::zb_h1, ScheduleKind::zb_h2}) {
      const Schedule published = *make_schedule(kind, pipeline);
      const double limit = kind == ScheduleKind::zb_h2 ? 12 : 6;
      EXPECT_LE(auto_makespan(pipeline, limit), simulate_schedule(published)->makespan + 1e-9);
    }
  }
}

TEST(AutoSchedule, TheSamePipelineGetsTheSameSchedule) {
  Pipeline pipeline = random_pipeline(6, 20, 3);
  pipeline.memory_limits = {7};
  EXPECT_EQ(auto_schedule(pipeline)->devices, auto_schedule(pipeline)->devices);
}

TEST(AutoSchedule, KeepsALimitOfEachDevice) {
  Pipeline pipeline = random_pipeline(4, 12, 5);
  pipeline.memory_limits = {6, 4, 3, 2};
  const Schedule schedule = *auto_schedule(pipeline);
  const auto peaks = peak_activations(schedule, pipeline.weight_share);
  for (int d = 0; d < 4; ++d) EXPECT_LE(peaks[d], pipeline.memory_limits[d] + 1e-9);
}

TEST(AutoSchedule, ALimitBelowOneMicroBatchIsRefusedWithTheLeastThatWouldDo) {
  Pipeline pipeline = random_pipeline(4, 12, 5);
  pipeline.memory_limits = {0.5};
  const auto refused = auto_schedule(pipeline);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().help, "allow at least 1");
}

}  // namespace
}  // namespace tenon::planner
