#include "tenon/planner/exports/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tenon/base/closest.h"
#include "tenon/machine/embedded_file.h"

namespace tenon {
/// data/engines/*.txt.
std::span<const EmbeddedFile> engine_files();
}  // namespace tenon

namespace tenon::planner {
namespace {

using nlohmann::json;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto space = text.find(' ');
    if (space != 0) words.push_back(text.substr(0, space));
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return words;
}

/// The values of a plan key as text, as --fix gives them.
std::string text_of(const nlohmann::ordered_json& plan, std::string_view key) {
  const auto& value = plan[std::string(key)];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

json value_of(std::string_view text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(std::string(text)) : parsed;
}

/// How many settings of a row hold, -1 where one does not.
int matches(std::string_view row, const Settings& settings) {
  int count = 0;
  for (std::string_view word : words_of(row)) {
    const auto equal = word.find('=');
    const Setting* found = settings.find(word.substr(0, equal));
    if (found == nullptr) return -1;
    if (equal != std::string_view::npos &&
        (found->values.empty() || found->values.front() != word.substr(equal + 1)))
      return -1;
    ++count;
  }
  return count;
}

}  // namespace

void Settings::set(std::string name, std::vector<std::string> values, std::string where) {
  for (Setting& setting : all_) {
    if (setting.name != name) continue;
    setting.values = std::move(values), setting.where = std::move(where);
    return;
  }
  all_.push_back({std::move(name), std::move(values), std::move(where), false});
}

const Setting* Settings::find(std::string_view name) const {
  for (const Setting& setting : all_) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::optional<std::string> Settings::take(std::string_view name) {
  for (Setting& setting : all_) {
    if (setting.name != name) continue;
    setting.used = true;
    return setting.values.empty() ? std::string() : setting.values.front();
  }
  return std::nullopt;
}

std::optional<std::int64_t> Settings::take_count(std::string_view name,
                                                 std::vector<Error>& problems) {
  const auto text = take(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (failed == std::errc() && end == text->data() + text->size()) return value;
  Error error = invalid("{} is '{}', not a whole number", name, *text).at(find(name)->where);
  if (text->find('$') != std::string::npos) {
    error = std::move(error).with_help(
        "the script does not set that variable: write the number in, or set the plan key with "
        "--set key=value");
  }
  problems.push_back(std::move(error));
  return std::nullopt;
}

std::vector<std::string> Settings::unused() const {
  std::vector<std::string> names;
  for (const Setting& setting : all_) {
    if (!setting.used) names.push_back(setting.name);
  }
  return names;
}

void apply_nearest(std::span<const NearestRow> rows, Plan& plan, std::vector<Remark>& lost) {
  for (const NearestRow& row : rows) {
    if (text_of(to_json(plan), row.key) != row.value) continue;
    set_plan_key(plan, row.key, row.instead).value();
    lost.push_back(
        {std::string(row.key), fmt::format("{}; written as {}", row.reason, row.instead)});
  }
}

void write_counts(std::span<const CountRow> rows, const Plan& plan, Settings& settings) {
  const auto values = to_json(plan);
  for (const CountRow& row : rows) settings.set(std::string(row.setting), text_of(values, row.key));
}

void write_choices(std::span<const ChoiceRow> rows, const Plan& plan, Settings& settings) {
  const auto values = to_json(plan);
  std::vector<std::string_view> written;
  for (const ChoiceRow& row : rows) {
    if (text_of(values, row.key) != row.value) continue;
    if (std::find(written.begin(), written.end(), row.key) != written.end()) continue;
    written.push_back(row.key);
    for (std::string_view word : words_of(row.settings)) {
      const auto equal = word.find('=');
      if (equal == std::string_view::npos) {
        settings.flag(std::string(word));
      } else {
        settings.set(std::string(word.substr(0, equal)), std::string(word.substr(equal + 1)));
      }
    }
  }
}

void read_counts(std::span<const CountRow> rows, Settings& settings, json& plan,
                 std::vector<Error>& problems) {
  for (const CountRow& row : rows) {
    if (const auto count = settings.take_count(row.setting, problems)) {
      plan[std::string(row.key)] = *count;
    }
  }
}

void read_choices(std::span<const ChoiceRow> rows, Settings& settings, json& plan) {
  for (std::size_t first = 0; first < rows.size();) {
    const ChoiceRow* best = nullptr;
    int most = -1;
    std::size_t last = first;
    for (; last < rows.size() && rows[last].key == rows[first].key; ++last) {
      const int held = matches(rows[last].settings, settings);
      if (held > most) most = held, best = &rows[last];
    }
    if (best != nullptr) {
      plan[std::string(best->key)] = value_of(best->value);
      for (std::string_view word : words_of(best->settings)) {
        settings.take(word.substr(0, word.find('=')));
      }
    }
    first = last;
  }
}

KnownNames::KnownNames(Engine engine) : engine_(name(engine)) {
  for (const auto& file : engine_files()) {
    if (file.name != engine_ + ".txt") continue;
    std::string_view text = file.text;
    while (!text.empty()) {
      const auto end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      if (line.empty() || line.front() == '#') continue;
      const auto space = line.find(' ');
      const char count = space == std::string_view::npos ? '1' : line[space + 1];
      names_.emplace_back(std::string(line.substr(0, space)), count);
    }
  }
  std::sort(names_.begin(), names_.end());
}

char KnownNames::values_of(std::string_view name) const {
  const auto found = std::lower_bound(
      names_.begin(), names_.end(), name,
      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  if (found != names_.end() && found->first == name) return found->second;
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const std::string section = std::string(name.substr(0, dot)) + ".*";
    for (const auto& [known, count] : names_) {
      if (known == section) return count;
    }
  }
  return '\0';
}

Error KnownNames::unknown(std::string_view name, std::string_view where) const {
  std::vector<std::string> names;
  for (const auto& [known, count] : names_) names.push_back(known);
  const std::string hint = did_you_mean(name, names);
  return invalid("'{}' is not known to {}", name, engine_)
      .at(where)
      .with_help(hint.empty() ? "take it out, or add --ignore-unknown" : hint);
}

}  // namespace tenon::planner
