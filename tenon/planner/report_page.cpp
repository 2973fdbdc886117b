#include "tenon/planner/report_page.h"

#include <fmt/format.h>

#include "tenon/base/html.h"
#include "tenon/planner/event_simulation.h"
#include "tenon/planner/pipeline/generators.h"
#include "tenon/planner/pipeline/picture.h"

namespace tenon::planner {
namespace {

constexpr double gib = 1 << 30;

std::string gibibytes(double bytes) { return fmt::format("{:.2f}", bytes / gib); }

void add_step(HtmlPage& page, const Prediction& p) {
  page.heading("Where the step goes");
  page.raw(
      bar_chart({"computation", "exposed communication", "pipeline bubble", "optimizer", "other"},
                {p.compute_seconds, p.exposed_communication_seconds, p.bubble_seconds,
                 p.optimizer_seconds, p.other_seconds},
                {.title = fmt::format("{:.3f} s a step, one standard deviation {:.1f} %",
                                      p.step_seconds, 100 * p.uncertainty),
                 .x_label = "seconds",
                 .y_label = ""}));
}

void add_memory(HtmlPage& page, const Prediction& p) {
  page.heading("Memory of each stage (GiB a device)");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < p.per_stage.size(); ++i) {
    const StagePrediction& s = p.per_stage[i];
    rows.push_back({fmt::format("{}", i), fmt::format("{}", s.layers),
                    fmt::format("{:.2f}", 1e3 * s.forward_seconds),
                    fmt::format("{:.2f}", 1e3 * s.backward_seconds()), gibibytes(s.memory.weights),
                    gibibytes(s.memory.gradients), gibibytes(s.memory.optimizer),
                    gibibytes(s.memory.activations), gibibytes(s.memory.buffers),
                    gibibytes(s.memory.total())});
  }
  page.table({"stage", "layers", "forward ms", "backward ms", "weights", "gradients", "optimizer",
              "activations", "buffers", "total"},
             rows);
  std::vector<std::string> labels;
  std::vector<double> totals;
  for (std::size_t i = 0; i < p.per_stage.size(); ++i) {
    labels.push_back(fmt::format("stage {}", i));
    totals.push_back(p.per_stage[i].memory.total() / gib);
  }
  page.raw(bar_chart(labels, totals, {.title = "memory", .x_label = "GiB", .y_label = ""}));
}

Status add_timeline(HtmlPage& page, const Predicted& best) {
  if (best.plan.pipeline_parallel == 1) return {};
  const Schedule schedule = TENON_TRY(
      make_schedule(best.plan.schedule, pipeline_of(best.plan, best.prediction.per_stage)));
  const ScheduleTiming timing = TENON_TRY(simulate_schedule(schedule));
  page.heading("One iteration of the pipeline");
  page.paragraph(
      fmt::format("{:.1f} ms, bubble {:.2f} %. Blue forward, orange gradient of the input, green "
                  "gradient of the weights.",
                  timing.makespan, 100 * timing.bubble_rate));
  page.raw(timeline_svg(schedule, timing));
  return {};
}

void add_pareto(HtmlPage& page, const SearchReport& report) {
  if (report.pareto.size() < 2) return;
  Series front{"not dominated", {}, {}};
  std::vector<std::vector<std::string>> rows;
  for (const Candidate& c : report.pareto) {
    front.x.push_back(c.metrics.memory_bytes / gib);
    front.y.push_back(c.metrics.seconds);
    rows.push_back({summary(c.plan), fmt::format("{:.3f}", c.metrics.seconds),
                    gibibytes(c.metrics.memory_bytes), fmt::format("{:.4f}", c.metrics.dollars),
                    fmt::format("{:.0f}", c.metrics.joules / 1e3)});
  }
  page.heading("Pareto front");
  page.raw(line_chart({front}, {.title = "time against memory",
                                .x_label = "GiB on the fullest device",
                                .y_label = "s a step"}));
  page.table({"plan", "s a step", "GiB", "dollars a step", "kJ a step"}, rows);
}

void add_others(HtmlPage& page, const PlanAnswer& answer) {
  page.heading("Plans that lost");
  std::vector<std::vector<std::string>> rows;
  for (const Predicted& other : answer.runners_up) {
    rows.push_back({summary(other.plan), fmt::format("{:.3f}", other.prediction.step_seconds),
                    gibibytes(other.prediction.memory.total()), other.why_lost});
  }
  page.table({"plan", "s a step", "GiB", "why it lost"}, rows);
}

}  // namespace

Result<std::string> report_page(const Pricer& pricer, const PlanAnswer& answer,
                                const std::string& headline) {
  HtmlPage page(fmt::format("Plan for {} on {}", pricer.workload().name, pricer.cluster().name));
  page.paragraph(headline);
  page.paragraph("Limited by " + answer.report.limited_by +
                 ". What would help most: " + answer.report.advice + ".");
  page.paragraph(
      "All figures are predictions of the planner's model, none is measured on this cluster.");
  add_step(page, answer.best.prediction);
  add_memory(page, answer.best.prediction);
  TENON_TRY(add_timeline(page, answer.best));
  add_pareto(page, answer.report);
  add_others(page, answer);
  return page.text();
}

}  // namespace tenon::planner
