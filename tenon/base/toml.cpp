// TOML through toml++, compiled in here without exceptions so that no caller sees its types.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include "tenon/base/toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "tenon/base/file.h"

namespace tenon {
namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Depth is bounded by toml++ itself (TOML_MAX_NESTED_VALUES, 256).
Json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = to_json(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const auto& value : *array) list.push_back(to_json(value));
    return list;
  }
  if (const auto* v = node.as_string()) return v->get();
  if (const auto* v = node.as_integer()) return v->get();
  if (const auto* v = node.as_floating_point()) return json_number(v->get());
  if (const auto* v = node.as_boolean()) return v->get();
  if (const auto* v = node.as_date()) return printed(v->get());
  if (const auto* v = node.as_time()) return printed(v->get());
  return printed(node.as_date_time()->get());
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
}

// JSON's string escapes are a subset of TOML's basic strings.
std::string key_text(const std::string& key) {
  return is_bare_key(key) ? key : write_json(Json(key));
}

std::string value_text(const Json& value) {
  if (value == "NaN") return "nan";
  if (value == "Infinity") return "inf";
  if (value == "-Infinity") return "-inf";
  if (value.is_array()) {
    std::string out = "[";
    for (const Json& item : value) out += (out.size() > 1 ? ", " : "") + value_text(item);
    return out + "]";
  }
  if (value.is_object()) {
    std::string out = "{";
    for (const auto& [key, item] : value.items())
      out += (out.size() > 1 ? ", " : "") + key_text(key) + " = " + value_text(item);
    return out + "}";
  }
  return write_json(value);
}

bool is_table_list(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_object(); });
}

void write_table(const Json& object, const std::string& prefix, std::string& out) {
  for (const auto& [key, value] : object.items())
    if (!value.is_object() && !is_table_list(value) && !value.is_null())
      out += fmt::format("{} = {}\n", key_text(key), value_text(value));
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix.empty() ? key_text(key) : prefix + "." + key_text(key);
    if (value.is_object()) {
      out += fmt::format("\n[{}]\n", path);
      write_table(value, path, out);
    } else if (is_table_list(value)) {
      for (const Json& item : value) {
        out += fmt::format("\n[[{}]]\n", path);
        write_table(item, path, out);
      }
    }
  }
}

}  // namespace

Result<Json> parse_toml(std::string_view text, std::string_view file) {
  const toml::parse_result parsed = toml::parse(text);
  if (parsed) return to_json(parsed.table());
  const toml::parse_error& e = parsed.error();
  return invalid("not valid TOML: {}", e.description())
      .at(fmt::format("{}line {}, column {}", file.empty() ? "" : fmt::format("{}, ", file),
                      e.source().begin.line, e.source().begin.column));
}

Result<Json> read_toml(const std::filesystem::path& path) {
  const std::string text = TENON_TRY(read_file(path, std::size_t{64} << 20));
  return parse_toml(text, path.string());
}

std::string write_toml(const Json& object) {
  std::string out;
  write_table(object, "", out);
  return out;
}

Status set_toml_key(Json& object, std::string_view dotted_key, std::string_view value) {
  Json* at = &object;
  std::string_view rest = dotted_key;
  while (true) {
    const auto dot = rest.find('.');
    const std::string key(rest.substr(0, dot));
    if (key.empty()) return invalid("'{}' is no key", dotted_key);
    if (!at->is_object())
      return invalid("'{}': what stands before '{}' is {}, not a table", dotted_key, key,
                     json_kind(*at));
    at = &(*at)[key];
    if (dot == std::string_view::npos) break;
    if (at->is_null()) *at = Json::object();
    rest.remove_prefix(dot + 1);
  }
  Result<Json> parsed = parse_toml(fmt::format("v = {}", value));
  *at = parsed.ok() && parsed->size() == 1 ? (*parsed)["v"] : Json(std::string(value));
  return {};
}

}  // namespace tenon
