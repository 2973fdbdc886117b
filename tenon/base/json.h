// JSON: parsing with limits and places, typed access without exceptions, deterministic writing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

/// Keys are kept sorted, so that the same values always print as the same text.
using Json = nlohmann::json;

struct JsonLimits {
  std::size_t max_depth = 256;
  bool refuse_duplicate_keys = false;
  /// Accepts the words NaN, Infinity and -Infinity, which Python's writer produces.
  bool allow_nonfinite = false;
};

/// Parses one JSON value. The error names line and column (both from 1) and, when given, `file`.
Result<Json> parse_json(std::string_view text, std::string_view file = {}, JsonLimits limits = {});
/// Reads and parses a file of at most `max_bytes`.
Result<Json> read_json(const std::filesystem::path& path,
                       std::size_t max_bytes = std::size_t{1} << 30, JsonLimits limits = {});

/// `indent` < 0 gives one line. Invalid UTF-8 is replaced, and a non-finite number held as a number
/// becomes null; `json_number` keeps it as text.
std::string write_json(const Json& value, int indent = -1);
/// A finite number as itself, the others as the strings "NaN", "Infinity", "-Infinity".
Json json_number(double value);
/// The inverse of json_number.
Result<double> number_of(const Json& value);

std::string_view json_kind(const Json& value);

namespace json_detail {
Error wrong_kind(std::string_view key, const Json& value, std::string_view wanted);
template <class T>
struct Reader;
template <>
struct Reader<bool> {
  static constexpr std::string_view kWanted = "true or false";
  static bool read(const Json& v, bool& out);
};
template <>
struct Reader<std::int64_t> {
  static constexpr std::string_view kWanted = "a whole number";
  static bool read(const Json& v, std::int64_t& out);
};
template <>
struct Reader<int> {
  static constexpr std::string_view kWanted = "a whole number of 32 bits";
  static bool read(const Json& v, int& out);
};
template <>
struct Reader<double> {
  static constexpr std::string_view kWanted = "a number";
  static bool read(const Json& v, double& out);
};
template <>
struct Reader<std::string> {
  static constexpr std::string_view kWanted = "a string";
  static bool read(const Json& v, std::string& out);
};
template <class T>
struct Reader<std::vector<T>> {
  static constexpr std::string_view kWanted = "a list of one kind";
  static bool read(const Json& v, std::vector<T>& out) {
    if (!v.is_array()) return false;
    out.clear();
    for (const Json& item : v) {
      T value{};
      if (!Reader<T>::read(item, value)) return false;
      out.push_back(std::move(value));
    }
    return true;
  }
};
}  // namespace json_detail

/// `value` as T: bool, int, std::int64_t, double, std::string or a vector of these. `key` is for
/// the error text. A whole number reads as a double too; a double with a fraction never as a whole
/// one.
template <class T>
Result<T> json_as(const Json& value, std::string_view key) {
  T out{};
  if (!json_detail::Reader<T>::read(value, out))
    return json_detail::wrong_kind(key, value, json_detail::Reader<T>::kWanted);
  return out;
}

/// Member `key` of an object, which must be there.
template <class T>
Result<T> json_get(const Json& object, std::string_view key) {
  if (!object.is_object()) return json_detail::wrong_kind(key, object, "an object around it");
  const auto found = object.find(std::string(key));
  if (found == object.end()) return invalid("key '{}' is missing", key);
  return json_as<T>(*found, key);
}

/// Member `key` of an object, or `fallback` where it is absent; a wrong kind is still an error.
template <class T>
Result<T> json_get_or(const Json& object, std::string_view key, T fallback) {
  if (!object.is_object() || !object.contains(std::string(key))) return fallback;
  return json_get<T>(object, key);
}

/// One Error with all the keys of `object` that are not in `known` (a misspelt key is a mistake,
/// not a wish); success when there are none.
Status check_keys(const Json& object, const std::vector<std::string_view>& known,
                  std::string_view place);

}  // namespace tenon
