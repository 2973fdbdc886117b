// Calibration and test rows.
#include "tenon/planner/calibration/split.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tenon/base/object_reader.h"
#include "tenon/machine/embedded_file.h"

namespace tenon {
std::span<const EmbeddedFile> training_files();
}  // namespace tenon

namespace tenon::planner {
namespace {

using nlohmann::json;

/// The data row of a run, from its identifier "table#12f".
int row_of(const MeasuredRun& run) { return std::atoi(run.id.c_str() + run.id.find('#') + 1); }

bool contains(const std::vector<int>& rows, int row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

void read_table(const json& table, const std::string& where, CalibrationSplit& split,
                std::vector<Error>& problems) {
  ObjectReader reader(table, where, problems);
  std::string file;
  std::vector<int> rows, left_out;
  reader.require("file");
  reader.text("file", file);
  reader.integers("rows", rows, 1);
  reader.integers("left_out", left_out, 1);
  reader.finish();
  auto runs = training_runs(file);
  if (!runs.ok()) return problems.push_back(std::move(runs).error().at(where));
  int last = 0;
  for (MeasuredRun& run : *runs) {
    last = row_of(run);
    if (contains(left_out, last)) continue;
    (contains(rows, last) ? split.calibration : split.test).push_back(std::move(run));
  }
  for (int row : rows) {
    if (row > last) reader.problem(invalid("{} has no row {}", file, row));
  }
}

void read_factors(ObjectReader& reader, const char* key, std::map<std::string, double>& factors) {
  const json* table = reader.child(key);
  if (table == nullptr) return;
  for (const auto& [name, value] : table->items()) {
    const auto& known = efficiency_factors();
    const bool there =
        name == "noise" ||
        std::any_of(known.begin(), known.end(), [&](const auto& f) { return name == f.name; });
    if (!there || !value.is_number()) {
      reader.problem(invalid("{}: no efficiency factor '{}'", key, name));
    } else {
      factors[name] = value.get<double>();
    }
  }
}

CalibrationSplit read_split(const json& entry, const std::string& where,
                            std::vector<Error>& problems) {
  CalibrationSplit split;
  ObjectReader reader(entry, where, problems);
  bool fused = true;
  reader.require("name");
  reader.text("name", split.name);
  reader.text("stack", split.stack);
  reader.boolean("fused_attention", fused);
  reader.boolean("split_pipeline_sends", split.options.split_pipeline_sends);
  reader.number("point_sigma", split.options.point_sigma, 1e-3, 1.0);
  split.options.fused_attention = {fused};
  reader.boolean("default", split.is_default);
  reader.boolean("fused_afterwards", split.fused_afterwards);
  read_factors(reader, "fixed", split.options.fixed);
  read_factors(reader, "prior", split.options.priors);
  read_factors(reader, "afterwards", split.afterwards);
  if (const json* tables = reader.child("tables")) {
    for (const json& table : *tables) read_table(table, where, split, problems);
  }
  reader.finish();
  return split;
}

}  // namespace

Result<std::vector<CalibrationSplit>> training_splits() {
  for (const auto& file : training_files()) {
    if (file.name != "split.toml") continue;
    const json tree = TENON_TRY(parse_config(file.text, file.name));
    std::vector<Error> problems;
    std::vector<CalibrationSplit> splits;
    for (const json& entry : tree.at("calibration")) {
      splits.push_back(read_split(entry, fmt::format("split.toml: {}", splits.size()), problems));
    }
    if (!problems.empty()) return all_of(std::move(problems));
    return splits;
  }
  return not_found("there is no split.toml among the training files");
}

Result<FitResult> fit_split(const CalibrationSplit& split) {
  FitResult result = TENON_TRY(calibrate(split.calibration, split.name, split.options));
  result.calibration.stack = split.stack;
  result.calibration.is_default = split.is_default;
  Efficiency& efficiency = result.calibration.efficiency;
  for (const auto& factor : efficiency_factors()) {
    const auto set = split.afterwards.find(factor.name);
    if (set != split.afterwards.end()) efficiency.*factor.member = set->second;
  }
  if (const auto noise = split.afterwards.find("noise"); noise != split.afterwards.end()) {
    efficiency.noise = noise->second;
  }
  efficiency.fused_attention = efficiency.fused_attention || split.fused_afterwards;
  if (!split.afterwards.empty())
    result.residuals = residuals_of(split.calibration, result.calibration);
  result.calibration.note =
      "fitted on the rows listed; every other row of their tables is a test row";
  return result;
}

RankQuality rank_quality(const std::vector<Residual>& rows) {
  RankQuality quality;
  if (rows.size() < 2) return quality;
  double concordant = 0, pairs = 0, clear_concordant = 0, clear_pairs = 0,
         best = rows[0].measured_seconds;
  const Residual* chosen = &rows[0];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    best = std::min(best, rows[i].measured_seconds);
    if (rows[i].predicted_seconds < chosen->predicted_seconds) chosen = &rows[i];
    for (std::size_t j = 0; j < i; ++j) {
      const double product = (rows[i].measured_seconds - rows[j].measured_seconds) *
                             (rows[i].predicted_seconds - rows[j].predicted_seconds);
      const double sign = product > 0 ? 1 : product < 0 ? -1 : 0;
      concordant += sign, pairs += 1;
      if (std::abs(rows[i].measured_seconds / rows[j].measured_seconds - 1) > 0.05)
        clear_concordant += sign, clear_pairs += 1;
    }
  }
  quality.kendall_tau = concordant / pairs;
  quality.clear_tau = clear_concordant / std::max(1.0, clear_pairs);
  quality.regret = chosen->measured_seconds / best - 1;
  return quality;
}

ErrorSummary summarise(const std::vector<Residual>& rows) {
  ErrorSummary summary;
  std::vector<double> errors;
  for (const auto& row : rows) errors.push_back(std::abs(row.relative_error()));
  summary.count = static_cast<int>(errors.size());
  if (errors.empty()) return summary;
  std::sort(errors.begin(), errors.end());
  for (double error : errors) summary.mean += error / static_cast<double>(errors.size());
  summary.worst = errors.back();
  summary.median = errors[errors.size() / 2];
  return summary;
}

}  // namespace tenon::planner
