// Calibration files.
#include "tenon/cost/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tenon/base/closest.h"
#include "tenon/base/file.h"
#include "tenon/base/object_reader.h"
#include "tenon/machine/embedded_file.h"

namespace tenon {

/// data/calibrations/*.toml.
std::span<const EmbeddedFile> calibration_files();

namespace {

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

void read_factors(ObjectReader& reader, Efficiency& efficiency, std::vector<Error>& problems) {
  const nlohmann::json* table = reader.child("efficiency");
  if (table == nullptr) return;
  ObjectReader fields(*table, reader.where() + ": efficiency", problems);
  for (const auto& factor : efficiency_factors()) {
    fields.number(factor.name, efficiency.*factor.member, 0, factor.greatest);
  }
  fields.boolean("fused_attention", efficiency.fused_attention);
  fields.boolean("split_pipeline_sends", efficiency.split_pipeline_sends);
  fields.boolean("sends_token_once", efficiency.sends_token_once);
  fields.number("noise", efficiency.noise, 0, 1);
  fields.finish();
}

}  // namespace

const std::vector<EfficiencyFactor>& efficiency_factors() {
  static const std::vector<EfficiencyFactor> factors = {
#define TENON_X(name, mean, spread, greatest) {#name, &Efficiency::name, mean, spread, greatest},
      TENON_EFFICIENCY_FACTORS(TENON_X)
#undef TENON_X
  };
  return factors;
}

Result<Calibration> parse_calibration(std::string_view text, std::string_view where) {
  const auto tree = TENON_TRY(parse_config(text, where));
  std::vector<Error> problems;
  ObjectReader reader(tree, std::string(where), problems);
  Calibration calibration;
  calibration.name = std::string(stem(where));
  reader.text("name", calibration.name);
  reader.text("device", calibration.device);
  reader.text("stack", calibration.stack);
  reader.text("note", calibration.note);
  reader.boolean("default", calibration.is_default);
  reader.texts("rows", calibration.rows);
  read_factors(reader, calibration.efficiency, problems);
  reader.finish();
  if (!problems.empty()) return all_of(std::move(problems));
  return calibration;
}

std::vector<std::string> calibration_names() {
  std::vector<std::string> names;
  for (const auto& file : calibration_files()) names.emplace_back(stem(file.name));
  std::sort(names.begin(), names.end());
  return names;
}

Result<Calibration> load_calibration(const std::string& path_or_name) {
  for (const auto& file : calibration_files()) {
    if (stem(file.name) == path_or_name) return parse_calibration(file.text, file.name);
  }
  if (std::filesystem::exists(path_or_name)) {
    return parse_calibration(TENON_TRY(read_file(path_or_name)), path_or_name);
  }
  const auto names = calibration_names();
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  const std::string hint = did_you_mean(path_or_name, names);
  return not_found("there is no calibration '{}'", path_or_name)
      .with_help((hint.empty() ? "" : hint + " ") + "shipped: " + list + "; or the path of a file");
}

Calibration shipped_calibration(const Device& device) {
  Calibration chosen;
  chosen.name = "data-sheet";
  chosen.note = "no measurements: priors on top of the data sheet";
  chosen.efficiency.noise = 0.15;
  for (const auto& name : calibration_names()) {
    auto calibration = load_calibration(name);
    TENON_CHECK(calibration.ok(), "shipped calibration {}: {}", name, calibration.error().text());
    if (calibration->device == device.name && calibration->is_default)
      chosen = std::move(calibration).value();
  }
  return chosen;
}

std::string to_toml(const Calibration& calibration) {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string text =
      fmt::format("name = {}\ndevice = {}\nstack = {}\nnote = {}\n", quoted(calibration.name),
                  quoted(calibration.device), quoted(calibration.stack), quoted(calibration.note));
  text += fmt::format("default = {}\nrows = {}\n\n[efficiency]\n", calibration.is_default,
                      nlohmann::json(calibration.rows).dump());
  for (const auto& factor : efficiency_factors()) {
    text += fmt::format("{} = {:.6g}\n", factor.name, calibration.efficiency.*factor.member);
  }
  const Efficiency& e = calibration.efficiency;
  text += fmt::format(
      "fused_attention = {}\nsplit_pipeline_sends = {}\nsends_token_once = {}\nnoise = {:.6g}\n",
      e.fused_attention, e.split_pipeline_sends, e.sends_token_once, e.noise);
  return text;
}

}  // namespace tenon
