// docs/planner_accuracy.md, made from the data.
#include <fmt/format.h>

#include <cmath>

#include "tenon/planner/calibration/accuracy_report.h"

namespace tenon::planner {
namespace {

constexpr std::string_view kIntroduction =
    R"(# How far to trust the planner

This page is made by `tenon plan accuracy -o docs`; every figure on it comes from the tables in `data/training/`.
Calibrations are fitted on the rows that `data/training/split.toml` lists, at most ten for a device and software stack.
All errors below are on the other rows.

## What is modelled

| part | how |
|---|---|
| matrix products | best of a few tile sizes, whole waves over the device's units, filling of each tile, bytes where they are longer |
| attention | two batched products and the traffic of scores, or a fused kernel; causal masks halve the fused one |
| other kernels | bytes over the reached bandwidth, and a floor; launches by the host are a floor of their own |
| tensor, context, expert traffic | closed forms by level of the topology, less what the stack hides |
| gradient reduction | all-reduce, or reduce-scatter and all-gather by ZeRO stage, hidden behind the last backward as far as it reaches |
| pipelines | closed forms with unequal stages; the event simulator where there is none; sends with host synchronisation |
| recomputation | none, selective (attention core), full, by stage and by number of layers |
| embedding, head, loss | on the first and last stage, which they make slower |
| optimizer, step overhead | bytes of the state; a constant of the stack |
| stragglers and jitter | compute time grows with each doubling of nodes |
| memory | every kept tensor, states by precision and ZeRO stage, micro-batches in flight by schedule, buffers; a reserve for context and allocator is held back beside it |

## What is not

Network congestion between jobs, host input pipelines that cannot keep up, power capping over hours, garbage collection of
the host language, imbalance of experts over time beyond one constant factor, uneven document lengths, kernels of one's own. Two
runs of one plan on different nodes can differ by more than the planner's own error: the vTrain rows with two or four
tensor peers scatter by 10 to 20 % against each other for the same work.

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
      "## Ranking of plans\n\nThe planner must put plans in the right order. Regret: how much "
      "slower "
      "the plan predicted best is than the best measured one.\n\n| group | plans | Kendall's tau | "
      "regret |\n|---|---|---|---|\n";
  for (const auto& g : groups) {
    text += fmt::format("| {} | {} | {:.2f} | {} |\n", g.group, g.plans, g.quality.kendall_tau,
                        percent(g.quality.regret));
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
  text += ranking_table(TENON_TRY(measure_ranking()));
  text += parts_table(all);
  text += comparison_table("Peak memory", "Megatron-LM's own test runs, 7B on eight devices.",
                           TENON_TRY(compare_memory()), 1e9, "GB");
  text += comparison_table(
      "One layer", "A 22B layer, eight tensor peers, four sequences; no row here was fitted on.",
      TENON_TRY(compare_layer()), 1, "ms");
  text +=
      comparison_table("One expert layer",
                       "Eight H100, one sequence of 4,096; not fitted on. The layer was measured "
                       "alone, at clocks that whole steps do not keep, without norm and "
                       "residual; dispatchers that send a token once a device are not modelled.",
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
