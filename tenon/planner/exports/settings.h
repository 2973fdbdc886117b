// An engine's configuration as a flat list of names and values, and the tables that translate it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/planner/exports/engine.h"

namespace tenon::planner {

/// "--tensor-model-parallel-size 8", "zero_optimization.stage": 2, [parallelism] ...: one name, its
/// values, and where it stands.
struct Setting {
  std::string name;
  std::vector<std::string> values;
  std::string where;
  bool used = false;
};

class Settings {
 public:
  /// A later setting of the same name replaces the earlier one, as command lines do.
  void set(std::string name, std::vector<std::string> values, std::string where = {});
  void set(std::string name, std::string value) {
    set(std::move(name), std::vector<std::string>{std::move(value)});
  }
  void flag(std::string name) { set(std::move(name), std::vector<std::string>{}); }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Setting* find(std::string_view name) const;
  /// Marks a setting as read and returns its first value ("" for a flag), or nothing.
  std::optional<std::string> take(std::string_view name);
  /// The same as a whole number; what is no number becomes a problem.
  std::optional<std::int64_t> take_count(std::string_view name, std::vector<Error>& problems);
  const std::vector<Setting>& all() const { return all_; }
  std::vector<std::string> unused() const;

 private:
  std::vector<Setting> all_;
};

/// A whole-number plan key and the setting that holds it.
struct CountRow {
  std::string_view key, setting;
};

/// A value of a plan key and the settings that mean it: "bf16" <-> "bf16.enabled=true". Several
/// settings are separated by spaces; none: what the engine does when nothing is set. The first row
/// of a key and value is written; all rows are read, the one with most settings wins.
struct ChoiceRow {
  std::string_view key, value, settings;
};

/// A value that the engine lacks: what is written instead, and why.
struct NearestRow {
  std::string_view key, value, instead, reason;
};

/// Moves a plan to what an engine has, with a remark for every key that changes.
void apply_nearest(std::span<const NearestRow> rows, Plan& plan, std::vector<Remark>& lost);

void write_counts(std::span<const CountRow> rows, const Plan& plan, Settings& settings);
void write_choices(std::span<const ChoiceRow> rows, const Plan& plan, Settings& settings);
void read_counts(std::span<const CountRow> rows, Settings& settings, nlohmann::json& plan,
                 std::vector<Error>& problems);
void read_choices(std::span<const ChoiceRow> rows, Settings& settings, nlohmann::json& plan);

/// The names an engine knows (data/engines/ENGINE.txt): name -> how many values it takes ('0', '1',
/// '+'). "section.*" stands for everything in a section.
class KnownNames {
 public:
  explicit KnownNames(Engine engine);
  /// '\0' where the name is not known.
  char values_of(std::string_view name) const;
  /// "NAME is not known to ENGINE", with the nearest known name.
  Error unknown(std::string_view name, std::string_view where) const;

 private:
  std::string engine_;
  std::vector<std::pair<std::string, char>> names_;  // sorted
};

}  // namespace tenon::planner
