// tenon plan calibrate and tenon plan accuracy: fitting devices, and how well it goes.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/cli/plan_commands.h"
#include "tenon/cli/plan_text.h"
#include "tenon/planner/calibration/accuracy_report.h"
#include "tenon/planner/calibration/held_out.h"
#include "tenon/planner/calibration/local_measurement.h"

namespace tenon::cli {
namespace {

using namespace tenon::planner;

struct CalibrateOptions {
  std::string device, points, out;
};

Json residuals_json(const std::vector<Residual>& residuals) {
  Json list = Json::array();
  for (const auto& r : residuals) {
    list.push_back({{"id", r.id},
                    {"label", r.label},
                    {"measured_seconds", r.measured_seconds},
                    {"predicted_seconds", r.predicted_seconds},
                    {"relative_error", r.relative_error()}});
  }
  return list;
}

std::string residuals_text(const std::vector<Residual>& residuals) {
  std::string text;
  for (const auto& r : residuals) {
    text += fmt::format("  {:<44} {:>9} {:>9} {:>+6.1f} %\n", r.label.empty() ? r.id : r.label,
                        seconds_text(r.measured_seconds), seconds_text(r.predicted_seconds),
                        100 * r.relative_error());
  }
  return text;
}

Result<FitResult> fit_points(const CalibrateOptions& options) {
  const CsvTable table = TENON_TRY(parse_csv(TENON_TRY(read_file(options.points)), options.points));
  const auto runs = TENON_TRY(runs_of_points(table, options.device));
  const std::string name = std::filesystem::path(options.out).stem().string();
  FitResult fit = TENON_TRY(calibrate(runs, name));
  fit.calibration.note = fmt::format("fitted on {} points of {}", runs.size(),
                                     std::filesystem::path(options.points).filename().string());
  return fit;
}

Result<Answer> run(const CalibrateOptions& options, Context& context) {
  if (options.points.empty() && options.device != "local") {
    return context.wrong_usage("no points: only the local host can be measured here",
                               "add --points FILE.csv, or --device local");
  }
  const FitResult fit =
      options.points.empty() ? TENON_TRY(measure_local_device()) : TENON_TRY(fit_points(options));
  TENON_TRY(write_file_atomic(options.out, to_toml(fit.calibration)));
  const ErrorSummary errors = summarise(fit.residuals);
  Json json = {{"schema", "tenon.plan_calibrate/1"},
               {"calibration", fit.calibration.name},
               {"device", fit.calibration.device},
               {"file", options.out},
               {"mean_relative_error", errors.mean},
               {"worst_relative_error", errors.worst},
               {"fused_attention", fit.calibration.efficiency.fused_attention},
               {"noise", fit.calibration.efficiency.noise},
               {"residuals", residuals_json(fit.residuals)}};
  std::string text = fmt::format("{} from {} points, written to {}\n", fit.calibration.device,
                                 fit.residuals.size(), options.out);
  text += residuals_text(fit.residuals);
  text +=
      fmt::format("mean error {:.1f} %, worst {:.1f} %, remaining scatter {:.1f} %\n",
                  100 * errors.mean, 100 * errors.worst, 100 * fit.calibration.efficiency.noise);
  return Answer{std::move(json), std::move(text)};
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<CalibrateOptions>();
  app.add_option("--device", options->device,
                 "the device of all points without their own, or local")
      ->required();
  app.add_option("--points", options->points,
                 "measured steps, CSV with the columns of data/training/");
  app.add_option("-o,--output", options->out, "the calibration file to write")->required();
  return [options](Context& context) { return run(*options, context); };
}

struct AccuracyOptions {
  std::string docs, calibrations;
  bool leave_one_out = false;
};

Result<Answer> run_held_out() {
  Json tables = Json::array();
  std::string text = fmt::format("{:<28} {:>6} {:>7} {:>7} {:>10}   {:>16}\n", "rows held out of",
                                 "points", "mean", "worst", "in 1 sigma", "data sheet alone");
  for (const HeldOutTable& t : TENON_TRY(measure_held_out())) {
    tables.push_back({{"calibration", t.name},
                      {"points", t.num_points},
                      {"rows", t.data_sheet.count},
                      {"mean_error", t.fitted.mean},
                      {"worst_error", t.fitted.worst},
                      {"bias", t.fitted_bias},
                      {"within_sigma", t.within_sigma},
                      {"data_sheet_mean_error", t.data_sheet.mean},
                      {"data_sheet_worst_error", t.data_sheet.worst}});
    text += fmt::format("{:<28} {:>6} {:>5.1f} % {:>5.1f} % {:>8.0f} %   {:>5.1f} %, {:>5.1f} %\n",
                        t.name, t.num_points, 100 * t.fitted.mean, 100 * t.fitted.worst,
                        100 * t.within_sigma, 100 * t.data_sheet.mean, 100 * t.data_sheet.worst);
  }
  return Answer{{{"schema", "tenon.plan_held_out/1"}, {"tables", tables}}, std::move(text)};
}

Status write_outputs(const AccuracyOptions& options, const std::vector<SplitAccuracy>& all,
                     Json& files) {
  if (!options.docs.empty()) {
    const auto path = std::filesystem::path(options.docs) / "planner_accuracy.md";
    TENON_TRY(write_file_atomic(path, TENON_TRY(accuracy_page())));
    files.push_back(path.string());
  }
  for (const auto& a : all) {
    if (options.calibrations.empty()) break;
    const auto path = std::filesystem::path(options.calibrations) / (a.split.name + ".toml");
    TENON_TRY(write_file_atomic(path, to_toml(a.fit.calibration)));
    files.push_back(path.string());
  }
  return {};
}

Result<Answer> run_accuracy(const AccuracyOptions& options, Context&) {
  if (options.leave_one_out) return run_held_out();
  const auto all = TENON_TRY(measure_accuracy());
  Json tables = Json::array(), files = Json::array();
  std::string text = fmt::format("{:<32} {:>6} {:>7} {:>7} {:>7} {:>10}\n", "calibration", "tests",
                                 "mean", "median", "worst", "in 1 sigma");
  for (const auto& a : all) {
    const ErrorSummary& s = a.summary;
    tables.push_back({{"calibration", a.split.name},
                      {"test_rows", s.count},
                      {"mean_error", s.mean},
                      {"median_error", s.median},
                      {"worst_error", s.worst},
                      {"within_sigma", a.within_sigma}});
    text += fmt::format("{:<32} {:>6} {:>5.1f} % {:>5.1f} % {:>5.1f} % {:>8.0f} %\n", a.split.name,
                        s.count, 100 * s.mean, 100 * s.median, 100 * s.worst, 100 * a.within_sigma);
  }
  Json groups = Json::array();
  for (const auto& g : TENON_TRY(measure_ranking())) {
    groups.push_back({{"group", g.group},
                      {"plans", g.plans},
                      {"kendall_tau", g.quality.kendall_tau},
                      {"regret", g.quality.regret}});
    text +=
        fmt::format("{:<32} {:>6} tau {:.3f}, regret {:.1f} %\n", "ranking of vTrain " + g.group,
                    g.plans, g.quality.kendall_tau, 100 * g.quality.regret);
  }
  TENON_TRY(write_outputs(options, all, files));
  return Answer{{{"schema", "tenon.plan_accuracy/1"},
                 {"tables", tables},
                 {"rankings", groups},
                 {"files", files}},
                std::move(text)};
}

Runner declare_accuracy(CLI::App& app) {
  auto options = std::make_shared<AccuracyOptions>();
  app.add_option("-o,--output", options->docs, "folder for planner_accuracy.md");
  app.add_option("--calibrations", options->calibrations, "folder for the fitted calibrations");
  app.add_flag("--leave-one-out", options->leave_one_out,
               "predict each table by fits on the device's other tables, and by the data sheet");
  return [options](Context& context) { return run_accuracy(*options, context); };
}

}  // namespace

Command plan_calibrate_command() {
  return {.name = "calibrate",
          .summary = "fit a device's efficiency to measured steps",
          .examples = {"tenon plan calibrate --device H100-SXM --points runs.csv -o h100.toml",
                       "tenon plan calibrate --device local -o local.toml"},
          .declare = declare,
          .children = {}};
}

Command plan_accuracy_command() {
  return {
      .name = "accuracy",
      .summary = "how well published steps are predicted; remakes the page and the calibrations",
      .examples = {"tenon plan accuracy", "tenon plan accuracy --leave-one-out",
                   "tenon plan accuracy -o docs --calibrations data/calibrations"},
      .declare = declare_accuracy,
      .children = {}};
}

}  // namespace tenon::cli
