// docs/planner_accuracy.md, made from the data.
#include <fmt/format.h>

#include <cmath>

#include "tenon/planner/calibration/accuracy_report.h"
#include "tenon/planner/calibration/held_out.h"

namespace tenon::planner {
namespace {

constexpr std::string_view kIntroduction =
    R"(# How far to trust the planner

For whoever spends money on what `tenon plan` says. This page is made by `tenon plan accuracy -o docs`; every figure on it comes from
the tables in `data/training/`. Calibrations are fitted on the rows that `data/training/split.toml` lists, at most ten for a device
and software stack. All errors below are on the other rows.

## Commands that make the figures

| figures | command |
|---|---|
| errors by table, by part and by row; ranking; memory; layers; collectives (this page) | `tenon plan accuracy -o docs --calibrations data/calibrations` |
| tables that no calibration has seen | `tenon plan accuracy --leave-one-out` |
| bubbles of published schedules, our schedules against them ([planner_schedules.md](planner_schedules.md)) | `ctest -R planner` (`published_test`, `schedule_test`, `auto_schedule_test`), `tenon plan schedule` |
| search against exhaustive search, parts of the search, growth, speed ([planner_search.md](planner_search.md)) | `tenon plan study --what small`, `ablation`, `experts`, `growth`, `speed` |
| one's own cluster | `tenon plan calibrate --points runs.csv`, then `tenon plan simulate --calibration` on a run that was not among the points |

## What is modelled

| part | how |
|---|---|
| matrix products | best of a few tile sizes, whole waves over the device's units, filling of each tile, bytes where they are longer |
| attention | two batched products and the traffic of scores, or a fused kernel; causal masks halve the fused one |
| other kernels | bytes over the reached bandwidth, and a floor; launches by the host are a floor of their own |
| tensor, context, expert traffic | closed forms by level of the topology, less what the stack hides; expert dispatchers that send a token once a device, or a copy for each expert |
| gradient reduction | all-reduce, or reduce-scatter and all-gather by ZeRO stage, hidden behind the last backward as far as it reaches |
| pipelines | closed forms with unequal stages; the event simulator where there is none; sends with host synchronisation |
| recomputation | none, selective (attention core), full, by stage and by number of layers |
| embedding, head, loss | on the first and last stage, which they make slower |
| optimizer, step overhead | bytes of the state; a constant of the stack |
| stragglers and jitter | compute time grows with each doubling of nodes |
| memory | every kept tensor, states by precision and ZeRO stage, micro-batches in flight by schedule, buffers; a reserve for context and allocator is held back beside it |
| graphs (ONNX, built) | work and bytes from each operator's page, tensor parallelism from its sharding facet |

## What is not

Network congestion between jobs, host input pipelines that cannot keep up, power capping over hours, garbage collection of
the host language, imbalance of experts over time beyond one constant factor, uneven document lengths, kernels of one's own. Two
runs of one plan on different nodes can differ by more than the planner's own error: the vTrain rows with two or four
tensor peers scatter by 10 to 20 % against each other for the same work. Devices without a row in the tables (H200, B200,
GB200, MI300X, Ascend 910B, V100) are priced from their data sheets; their uncertainty says so.

)";

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string summary_table(const std::vector<SplitAccuracy>& all) {
  std::string text =
      "## Errors by table\n\n| calibration | rows fitted on | test rows | mean | median | worst | "
      "within one sigma |\n|---|---|---|---|---|---|---|\n";
  for (const auto& a : all) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {:.0f} % |\n", a.split.name,
                        a.split.calibration.size(), a.summary.count, percent(a.summary.mean),
                        percent(a.summary.median), percent(a.summary.worst), 100 * a.within_sigma);
  }
  text +=
      "\nThe selective-recomputation table counts two runs a row. In `megatron_h100_first3.csv` "
      "micro-batch and recomputation are not published: two sequences and none are assumed for all "
      "its rows. `A100-80G.megatron-fused` is the default for A100 and is not meant for the stack "
      "of "
      "its test rows, which lack fused attention.\n\n";
  return text;
}

std::string ranking_table(const std::vector<GroupRanking>& groups) {
  std::string text =
      R"(## Ranking of plans

The planner must put plans in the right order. Regret: how much slower the plan predicted best is than the best measured one.
"Clear pairs" are those whose measured times differ by more than 5 %.

In the larger group, plans that differ little scatter by more than they differ. With four tensor peers the measured
times with the bubble taken out fall from 14.0 to 11.0 s on 8 stages and rise from 12.6 to 14.4 s on 16 as the micro-batch grows from 2 to 12
sequences, which no schedule explains. A free straight line through the rows of each pair of tensor and
pipeline degree, fitted on all 47 rows, reaches a tau of 0.84; eight tensor peers alone reach what the table says.

| group | plans | Kendall's tau | tau of clear pairs | regret |
|---|---|---|---|---|
)";
  for (const auto& g : groups) {
    text += fmt::format("| {} | {} | {:.2f} | {:.2f} | {} |\n", g.group, g.plans,
                        g.quality.kendall_tau, g.quality.clear_tau, percent(g.quality.regret));
  }
  return text + "\n";
}

std::string held_out_table(const std::vector<HeldOutTable>& tables) {
  std::string text =
      R"(## Tables that a calibration has not seen

The errors above are of rows whose table gave a few rows to the fit. Here a whole table is held out: its device is fitted on at most ten
rows of the other stacks' tables, or on nothing. What the stack does (fused attention, what overlaps) is taken as known. This
is what to expect of a cluster and a stack that nobody has measured. (The priors of the kernels' factors are means over the shipped
fits, so that every table has had a small say in them.)

| held out | points | mean | worst | bias | within one sigma | data sheet alone: mean | worst | bias |
|---|---|---|---|---|---|---|---|---|
)";
  for (const HeldOutTable& t : tables) {
    const std::string fitted =
        t.num_points == 0
            ? "- | - | - | -"
            : fmt::format("{} | {} | {:+.1f} % | {:.0f} %", percent(t.fitted.mean),
                          percent(t.fitted.worst), 100 * t.fitted_bias, 100 * t.within_sigma);
    text += fmt::format("| {} | {} | {} | {} | {} | {:+.1f} % |\n", t.name, t.num_points, fitted,
                        percent(t.data_sheet.mean), percent(t.data_sheet.worst),
                        100 * t.data_sheet_bias);
  }
  return text + "\n";
}

std::string comparison_table(const std::string& title, const std::string& note,
                             const std::vector<Comparison>& rows, double unit,
                             const std::string& unit_name) {
  std::string text =
      fmt::format("## {}\n\n{}\n\n| | measured {} | predicted | error |\n|---|---|---|---|\n",
                  title, note, unit_name);
  for (const auto& row : rows) {
    text += fmt::format("| {} | {:.4g} | {:.4g} | {:+.1f} % |\n", row.what, row.measured / unit,
                        row.predicted / unit, 100 * (row.predicted / row.measured - 1));
  }
  return text + "\n";
}

/// Bias by what dominates the step: where errors come from.
std::string parts_table(const std::vector<SplitAccuracy>& all) {
  std::string text =
      "## Errors by part\n\nMean signed error of the test rows where a part takes more than a "
      "fifth "
      "of the predicted step.\n\n| part | rows | mean error | mean absolute error "
      "|\n|---|---|---|---|\n";
  using Part = double Prediction::*;
  const std::pair<const char*, Part> parts[] = {
      {"compute", &Prediction::compute_seconds},
      {"exposed communication", &Prediction::exposed_communication_seconds},
      {"bubble", &Prediction::bubble_seconds},
      {"optimizer", &Prediction::optimizer_seconds},
      {"other (overhead, jitter)", &Prediction::other_seconds}};
  for (const auto& [name, part] : parts) {
    int count = 0;
    double sum = 0, absolute = 0;
    for (const auto& a : all) {
      if (a.split.name == "A100-80G.megatron-fused") continue;
      for (std::size_t i = 0; i < a.test.size(); ++i) {
        if (a.predictions[i].*part < 0.2 * a.predictions[i].step_seconds) continue;
        ++count, sum += a.test[i].relative_error(),
            absolute += std::abs(a.test[i].relative_error());
      }
    }
    if (count == 0) {
      text += fmt::format("| {} | 0 | - | - |\n", name);
    } else {
      text += fmt::format("| {} | {} | {:+.1f} % | {:.1f} % |\n", name, count, 100 * sum / count,
                          100 * absolute / count);
    }
  }
  return text + "\n";
}

std::string rows_table(const SplitAccuracy& a) {
  std::string text = fmt::format("### {}\n\n{}. Fitted on: ", a.split.name, a.split.stack);
  for (std::size_t i = 0; i < a.fit.residuals.size(); ++i) {
    text += fmt::format("{}{} ({:+.1f} %)", i == 0 ? "" : ", ", a.fit.residuals[i].label,
                        100 * a.fit.residuals[i].relative_error());
  }
  text +=
      ".\n\n| test row | measured s | predicted s | error | compute | communication | bubble | "
      "optimizer | other | sigma |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < a.test.size(); ++i) {
    const Residual& row = a.test[i];
    const Prediction& p = a.predictions[i];
    text += fmt::format(
        "| {} | {:.4g} | {:.4g} | {:+.1f} % | {:.3g} | {:.3g} | {:.3g} | {:.3g} | "
        "{:.3g} | {:.1f} % |\n",
        row.label, row.measured_seconds, row.predicted_seconds, 100 * row.relative_error(),
        p.compute_seconds, p.exposed_communication_seconds, p.bubble_seconds, p.optimizer_seconds,
        p.other_seconds, 100 * p.uncertainty);
  }
  return text + "\n";
}

}  // namespace

Result<std::string> accuracy_page() {
  const auto all = TENON_TRY(measure_accuracy());
  std::string text(kIntroduction);
  text += summary_table(all);
  text += held_out_table(TENON_TRY(measure_held_out()));
  text += ranking_table(TENON_TRY(measure_ranking()));
  text += parts_table(all);
  text += comparison_table("Peak memory", "Megatron-LM's own test runs, 7B on eight devices.",
                           TENON_TRY(compare_memory()), 1e9, "GB");
  text += comparison_table(
      "One layer", "A 22B layer, eight tensor peers, four sequences; no row here was fitted on.",
      TENON_TRY(compare_layer()), 1, "ms");
  text += comparison_table(
      "One expert layer",
      "Eight H100, one sequence of 4,096 on each; not fitted on. The benchmark forces even routing "
      "and "
      "builds no shared expert; a layer of a few milliseconds with waits between keeps the clock "
      "that "
      "the data sheet counts, which whole steps do not. `a2a` sends a copy of a token for each "
      "expert, the others send it once a device.",
      TENON_TRY(compare_experts()), 1, "ms");
  text +=
      comparison_table("All-reduce in one node",
                       "Under the priors, as no calibration is fitted on it. Small messages are "
                       "measured out of place and alone.",
                       TENON_TRY(compare_all_reduce()), 1, "us");
  text += "## Every test row\n\n";
  for (const auto& a : all) text += rows_table(a);
  return text;
}

}  // namespace tenon::planner
