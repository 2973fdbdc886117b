// Field-by-field reading of TOML and JSON objects.
#include "tenon/base/object_reader.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/closest.h"
#include "tenon/base/json.h"
#include "tenon/base/toml.h"

namespace tenon {
namespace {

using nlohmann::json;

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

}  // namespace

Result<json> parse_config(std::string_view text, std::string_view where) {
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  return is_json ? parse_json(text, where) : parse_toml(text, where);
}

Error all_of(std::vector<Error> problems) {
  TENON_CHECK(!problems.empty(), "an error of no problems");
  Error first = std::move(problems.front());
  for (std::size_t i = 1; i < problems.size(); ++i) first.others.push_back(std::move(problems[i]));
  return first;
}

ObjectReader::ObjectReader(const json& object, std::string where, std::vector<Error>& problems)
    : object_(object), where_(std::move(where)), problems_(problems) {
  if (!object.is_object()) problem(invalid("expected a table, got {}", object.type_name()));
}

bool ObjectReader::has(const char* key) const {
  return object_.is_object() && object_.contains(key) && !object_.at(key).is_null();
}

const json* ObjectReader::find(const char* key) {
  known_.insert(key);
  return has(key) ? &object_.at(key) : nullptr;
}

const json* ObjectReader::child(const char* key) { return find(key); }

void ObjectReader::problem(Error error) { problems_.push_back(std::move(error).at(where_)); }

void ObjectReader::wrong_type(const char* key, const char* wanted, const json& got) {
  problem(invalid("{} must be {}, got {}", key, wanted, got.dump()));
}

void ObjectReader::number(const char* key, double& value, double low, double high) {
  const json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_number()) return wrong_type(key, "a number", *found);
  const double got = found->get<double>();
  if (!std::isfinite(got) || got < low || got > high) {
    return problem(high == std::numeric_limits<double>::max()
                       ? invalid("{} must be at least {}, got {}", key, low, got)
                       : invalid("{} must be {} to {}, got {}", key, low, high, got));
  }
  value = got;
}

void ObjectReader::integer(const char* key, std::int64_t& value, std::int64_t low,
                           std::int64_t high) {
  const json* found = find(key);
  if (found == nullptr) return;
  // 4e6 is a float in TOML and still a whole number.
  const bool whole = found->is_number_integer() ||
                     (found->is_number_float() && std::abs(found->get<double>()) < 9e15 &&
                      found->get<double>() == std::floor(found->get<double>()));
  if (!whole) return wrong_type(key, "a whole number", *found);
  const auto got = found->is_number_float() ? static_cast<std::int64_t>(found->get<double>())
                                            : found->get<std::int64_t>();
  if (got < low) return problem(invalid("{} must be at least {}, got {}", key, low, got));
  if (got > high) return problem(invalid("{} must be at most {}, got {}", key, high, got));
  value = got;
}

void ObjectReader::integer(const char* key, int& value, int low, int high) {
  std::int64_t wide = value;
  const std::size_t before = problems_.size();
  integer(key, wide, std::int64_t{low}, std::int64_t{high});
  if (problems_.size() == before) value = static_cast<int>(wide);
}

void ObjectReader::boolean(const char* key, bool& value) {
  const json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) return wrong_type(key, "true or false", *found);
  value = found->get<bool>();
}

void ObjectReader::text(const char* key, std::string& value) {
  const json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_string()) return wrong_type(key, "a text", *found);
  value = found->get<std::string>();
}

void ObjectReader::integers(const char* key, std::vector<int>& value, int low) {
  const json* found = find(key);
  if (found == nullptr) return;
  std::vector<int> got;
  bool good = found->is_array();
  for (std::size_t i = 0; good && i < found->size(); ++i) {
    const json& item = (*found)[i];
    good = item.is_number_integer() && item.get<std::int64_t>() >= low &&
           item.get<std::int64_t>() <= std::numeric_limits<int>::max();
    if (good) got.push_back(item.get<int>());
  }
  if (!good) {
    return problem(invalid("{} must be a list of whole numbers of at least {}, got {}", key, low,
                           found->dump()));
  }
  value = std::move(got);
}

void ObjectReader::texts(const char* key, std::vector<std::string>& value) {
  const json* found = find(key);
  if (found == nullptr) return;
  std::vector<std::string> got;
  bool good = found->is_array();
  for (std::size_t i = 0; good && i < found->size(); ++i) {
    good = (*found)[i].is_string();
    if (good) got.push_back((*found)[i].get<std::string>());
  }
  if (!good) return wrong_type(key, "a list of texts", *found);
  value = std::move(got);
}

void ObjectReader::choice(const char* key, const std::vector<std::string>& names, int& index) {
  std::string got;
  const std::size_t before = problems_.size();
  text(key, got);
  if (!has(key) || problems_.size() != before) return;
  const auto found = std::find(names.begin(), names.end(), got);
  if (found != names.end()) {
    index = static_cast<int>(found - names.begin());
    return;
  }
  const std::string hint = did_you_mean(got, names);
  problem(invalid("{} has no choice '{}'", key, got)
              .with_help((hint.empty() ? "" : hint + " ") + "one of: " + list_of(names)));
}

void ObjectReader::require(const char* key) {
  known_.insert(key);
  if (object_.is_object() && !has(key)) problem(invalid("{} is missing", key));
}

void ObjectReader::finish() {
  if (!object_.is_object()) return;
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [key, value] : object_.items()) {
    if (known_.count(key) != 0) continue;
    const std::string hint = did_you_mean(key, known);
    problem(invalid("unknown key '{}'", key)
                .with_help(hint.empty() ? "known keys: " + list_of(known) : hint));
  }
}

}  // namespace tenon
