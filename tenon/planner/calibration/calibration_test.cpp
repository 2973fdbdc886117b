// Accuracy goals on the test rows, the split's rules, and the behaviour of the fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/cost/kernel_cost.h"
#include "tenon/planner/calibration/accuracy_report.h"
#include "tenon/planner/calibration/held_out.h"
#include "tenon/planner/calibration/local_measurement.h"
#include "tenon/planner/calibration/split.h"
#include "tenon/planner/check.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {
namespace {

const SplitAccuracy& accuracy(const std::string& name) {
  static const std::vector<SplitAccuracy> all = *measure_accuracy();
  return *std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.split.name == name; });
}

TEST(Split, NoRowIsFittedOnAndScored) {
  const auto splits = *training_splits();
  ASSERT_EQ(splits.size(), 6u);
  for (const auto& split : splits) {
    EXPECT_LE(split.calibration.size(), 10u) << split.name;
    for (const auto& fitted : split.calibration) {
      for (const auto& tested : split.test) EXPECT_NE(fitted.id, tested.id) << split.name;
    }
  }
}

TEST(Accuracy, VtrainMultiNode) {
  const auto& a = accuracy("A100-80G.megatron-deepspeed");
  EXPECT_EQ(a.summary.count, 62);
  EXPECT_LE(a.summary.mean, 0.06);
  EXPECT_LE(a.summary.worst, 0.25);
}

TEST(Accuracy, WeakScalingToThreeThousandDevices) {
  EXPECT_LE(accuracy("A100-80G.megatron-2021").summary.mean, 0.04);
}

TEST(Accuracy, SelectiveRecomputation) {
  const auto& a = accuracy("A100-80G.megatron-2022");
  EXPECT_LE(a.summary.mean, 0.02);
  EXPECT_LE(a.summary.worst, 0.04);
}

TEST(Accuracy, HopperRows) {
  EXPECT_LE(accuracy("H100-SXM.megatron-core-0.8").summary.worst, 0.06);
}

TEST(Accuracy, ZeroBubbleFork) {
  EXPECT_LE(accuracy("A100-80G.zero-bubble-2023").summary.mean, 0.05);
}

TEST(Accuracy, UncertaintyIsHonest) {
  int within = 0, count = 0;
  for (const char* name : {"A100-80G.megatron-deepspeed", "A100-80G.megatron-2021",
                           "A100-80G.megatron-2022", "A100-80G.zero-bubble-2023"}) {
    const auto& a = accuracy(name);
    within += static_cast<int>(std::lround(a.within_sigma * a.summary.count));
    count += a.summary.count;
  }
  EXPECT_GE(within / double(count), 0.6);
  EXPECT_LE(within / double(count), 0.8);
}

TEST(Accuracy, RankingOfPlans) {
  const auto groups = *measure_ranking();
  for (const auto& g : groups) EXPECT_LE(g.quality.regret, 0.01) << g.group;
  EXPECT_GE(groups[0].quality.kendall_tau, 0.85);
  EXPECT_GE(groups[1].quality.kendall_tau, 0.70);  // its rows scatter by more than they differ
}

TEST(Accuracy, ExpertLayersAreWithinFifteenPercent) {
  const auto rows = *compare_experts();
  EXPECT_EQ(rows.size(), 14u);
  for (const auto& row : rows) EXPECT_NEAR(row.predicted / row.measured, 1, 0.15) << row.what;
}

TEST(Accuracy, TablesThatNoFitHasSeenAreWithinTenPercentOnAverage) {
  const auto tables = *measure_held_out();
  EXPECT_EQ(tables.size(), 5u);
  for (const auto& table : tables) {
    EXPECT_LE(table.num_points, 10) << table.name;
    EXPECT_LE(table.data_sheet.mean, 0.10) << table.name;
    if (table.num_points > 0) EXPECT_LE(table.fitted.mean, 0.10) << table.name;
  }
}

TEST(Accuracy, NoPublishedRunIsCalledInfeasible) {
  for (const char* table :
       {"vtrain_multinode_a100.csv", "megatron_sc21_a100.csv", "selective_recompute_a100.csv",
        "megatron_h100_first3.csv", "zero_bubble_a100.csv", "megatron_ci_7b_memory.csv"}) {
    const auto runs = training_runs(table);
    ASSERT_TRUE(runs.ok()) << table;
    for (const auto& run : *runs) {
      Pricer pricer(workload_of(run.model), run.cluster);
      EXPECT_TRUE(check(pricer, run.plan).empty()) << table << " " << run.label;
    }
  }
}

TEST(Accuracy, OneLayerIsWithinFourPercent) {
  const auto rows = *compare_layer();
  for (const auto& row : rows) EXPECT_NEAR(row.predicted / row.measured, 1, 0.04) << row.what;
}

TEST(Calibrations, ShippedOnesAreWhatTheSplitGives) {
  const auto splits = *training_splits();
  for (const auto& split : splits) {
    const auto shipped = load_calibration(split.name);
    ASSERT_TRUE(shipped.ok()) << shipped.error().text();
    const Calibration fresh = fit_split(split)->calibration;
    EXPECT_EQ(shipped->rows, fresh.rows);
    EXPECT_EQ(shipped->is_default, fresh.is_default);
    for (const auto& factor : efficiency_factors()) {
      EXPECT_NEAR(shipped->efficiency.*factor.member / (fresh.efficiency.*factor.member + 1e-300),
                  1, factor.prior > 0 && fresh.efficiency.*factor.member > 0 ? 1e-4 : 1)
          << split.name << " " << factor.name;
    }
  }
}

TEST(Fit, FindsItsWayBackToAKnownDevice) {
  // Steps made by a known efficiency, then fitted: predictions of other plans must come back.
  auto runs = *training_runs("megatron_sc21_a100.csv");
  Calibration truth;
  truth.efficiency.matmul_peak = 0.78, truth.efficiency.memory_peak = 0.7;
  truth.efficiency.fused_attention = false;
  for (auto& run : runs) run.seconds = predicted_seconds(run, truth);
  const std::vector<MeasuredRun> some(runs.begin(), runs.begin() + 6);
  FitOptions options;
  options.point_sigma = 0.005;
  const FitResult fit = *calibrate(some, "known", options);
  EXPECT_FALSE(fit.calibration.efficiency.fused_attention);
  for (const auto& row : residuals_of(runs, fit.calibration)) {
    EXPECT_NEAR(row.relative_error(), 0, 0.015) << row.label;
  }
}

TEST(Fit, OneWildPointMovesLittle) {
  auto runs = *training_runs("megatron_sc21_a100.csv");
  const FitResult clean = *calibrate(runs, "clean", {.fused_attention = {false}});
  runs[3].seconds *= 2;
  const FitResult wild = *calibrate(runs, "wild", {.fused_attention = {false}});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_NEAR(wild.residuals[i].predicted_seconds / clean.residuals[i].predicted_seconds, 1,
                0.04);
  }
}

TEST(Fit, RefusesPointsOfSeveralDevicesAndNone) {
  auto runs = *training_runs("megatron_ci_7b_memory.csv");
  EXPECT_FALSE(calibrate(runs, "mixed").ok());
  EXPECT_FALSE(calibrate({}, "none").ok());
}

TEST(Local, KernelsMadeByAKnownEfficiencyAreFoundAgain) {
  const Device device = *device_named("A100-80G");
  Efficiency truth;
  truth.tile_seconds = 0, truth.wave_quantisation = 0, truth.kernel_seconds = 2e-6;
  truth.matmul_peak = 0.7, truth.memory_peak = 0.6;
  LocalMeasurement measured;
  measured.start_seconds = 2e-6;
  for (int n : {2048, 4096, 8192}) {
    measured.matmuls.push_back(
        {n, n, n,
         matmul_seconds(device, truth, {double(n), double(n), double(n), 1}, Precision::fp32)});
  }
  measured.copies.push_back({1e9, memory_seconds(device, truth, 1e9)});
  const FitResult fit = calibrate_kernels(device, measured);
  for (const auto& row : fit.residuals) EXPECT_NEAR(row.relative_error(), 0, 0.02) << row.label;
}

TEST(Points, UserColumnsAreReadAndBadCellsAllReported) {
  const char* text =
      "kind,device,layers,hidden,heads,vocab,seq,tp,pp,dp,mbs,gbs,iter_s,recompute,sequence_"
      "parallel,zero_stage\n"
      "gpt,H100-SXM,32,4096,32,50304,2048,8,1,1,1,16,1.5,selective,true,1\n";
  const auto runs = runs_of_points(*parse_csv(text, "p.csv"), "");
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  EXPECT_EQ((*runs)[0].plan.recompute, Recompute::selective);
  EXPECT_TRUE((*runs)[0].plan.sequence_parallel);
  EXPECT_EQ((*runs)[0].cluster.num_devices(), 8);
  const auto bad = runs_of_points(*parse_csv("kind,device,layers,hidden,heads,tp,gbs,iter_s,"
                                             "recompute\ngtp,H100-SXM,x,4096,32,1,8,0,partial\n",
                                             "p.csv"),
                                  "");
  ASSERT_FALSE(bad.ok());
  EXPECT_GE(bad.error().others.size(), 3u);
}

TEST(Tables, ChangedRowCountsAreRefused) {
  for (const auto& table : training_tables()) {
    EXPECT_TRUE(training_table(table.name).ok()) << table.name;
  }
  EXPECT_FALSE(parse_csv("a,b\n1,2\n", "t.csv", 2).ok());
  EXPECT_FALSE(parse_csv("a,b\n1,2,3\n", "t.csv").ok());
}

}  // namespace
}  // namespace tenon::planner
