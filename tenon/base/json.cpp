// JSON text to values by a SAX handler that keeps depth, duplicates and the place of the mistake.
#include "tenon/base/json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/file.h"

namespace tenon {
namespace {

std::string place_of(std::string_view text, std::size_t position, std::string_view file) {
  position = std::min(position, text.size());
  const std::string_view before = text.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const auto column = start == std::string_view::npos ? position : position - start - 1;
  return fmt::format("{}line {}, column {}", file.empty() ? "" : fmt::format("{}, ", file), line,
                     std::max<std::size_t>(column, 1));
}

// Builds the value; every handler returns false to stop.
class Builder {
 public:
  explicit Builder(JsonLimits limits) : limits_(limits) {}

  bool null() { return add(nullptr); }
  bool boolean(bool v) { return add(v); }
  bool number_integer(Json::number_integer_t v) { return add(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return add(v); }
  bool number_float(Json::number_float_t v, const std::string&) { return add(v); }
  bool string(std::string& v) { return add(std::move(v)); }
  bool binary(Json::binary_t&) { return fail("binary value"); }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool key(std::string& k) {
    if (limits_.refuse_duplicate_keys && open_.back()->contains(k))
      return fail(fmt::format("key '{}' stands twice", k));
    slot_ = &(*open_.back())[k];
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    position_ = position;
    // The library's text ends in what was expected; its prefix repeats the place.
    const std::string_view what = e.what();
    const auto colon = what.rfind("while parsing");
    return fail(std::string(colon == std::string_view::npos ? what : what.substr(colon)));
  }

  Json root;
  std::string problem;
  std::size_t position() const { return position_; }

 private:
  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    *slot_ = std::move(value);
    return slot_;
  }
  template <class T>
  bool add(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }
  bool open(Json empty) {
    if (open_.size() >= limits_.max_depth)
      return fail(fmt::format("nested deeper than {}", limits_.max_depth));
    open_.push_back(place(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  // Pointers stay valid: only the innermost open container grows.
  std::vector<Json*> open_;
  Json* slot_ = nullptr;
  std::size_t position_ = 0;
};

// Counts how far the parser has read, for the handlers that fail without a position.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at;
  std::size_t* read;
  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++*read;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& o) const { return at == o.at; }
  bool operator!=(const CountingIterator& o) const { return at != o.at; }
};

// Python's words for the numbers that JSON lacks become strings that number_of understands.
std::string quote_nonfinite(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size())
        out += text[++i];
      else if (c == '"')
        in_string = false;
      continue;
    }
    in_string = c == '"';
    bool replaced = false;
    for (std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
      if (text.substr(i, word.size()) != word) continue;
      out += fmt::format("\"{}\"", word);
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out += c;
  }
  return out;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view file, JsonLimits limits) {
  std::string quoted;
  if (limits.allow_nonfinite &&
      (text.find("NaN") != text.npos || text.find("Infinity") != text.npos)) {
    quoted = quote_nonfinite(text);
    text = quoted;
  }
  Builder builder(limits);
  std::size_t read = 0;
  const CountingIterator first{text.data(), &read}, last{text.data() + text.size(), &read};
  const bool ok = Json::sax_parse(first, last, &builder);
  if (ok && builder.problem.empty()) return std::move(builder.root);
  const std::size_t position = builder.position() ? builder.position() : read;
  return invalid("not valid JSON: {}", builder.problem).at(place_of(text, position, file));
}

Result<Json> read_json(const std::filesystem::path& path, std::size_t max_bytes,
                       JsonLimits limits) {
  const std::string text = TENON_TRY(read_file(path, max_bytes));
  return parse_json(text, path.string(), limits);
}

std::string write_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

Result<double> number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return invalid("{} is no number", json_kind(value));
}

std::string_view json_kind(const Json& value) {
  if (value.is_number_integer()) return "a whole number";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.is_null() ? "null" : "a boolean";
}

namespace json_detail {

Error wrong_kind(std::string_view key, const Json& value, std::string_view wanted) {
  std::string shown = write_json(value);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  return invalid("'{}' must be {}, not {} {}", key, wanted, json_kind(value), shown);
}

bool Reader<bool>::read(const Json& v, bool& out) {
  if (!v.is_boolean()) return false;
  out = v.get<bool>();
  return true;
}

bool Reader<std::int64_t>::read(const Json& v, std::int64_t& out) {
  if (v.is_number_unsigned()) {
    const auto u = v.get<std::uint64_t>();
    out = static_cast<std::int64_t>(u);
    return u <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  }
  if (v.is_number_integer()) {
    out = v.get<std::int64_t>();
    return true;
  }
  if (!v.is_number_float()) return false;
  const double d = v.get<double>();
  if (std::floor(d) != d || std::fabs(d) > 9007199254740992.0) return false;
  out = static_cast<std::int64_t>(d);
  return true;
}

bool Reader<int>::read(const Json& v, int& out) {
  std::int64_t wide = 0;
  if (!Reader<std::int64_t>::read(v, wide)) return false;
  out = static_cast<int>(wide);
  return out == wide;
}

bool Reader<double>::read(const Json& v, double& out) {
  if (!v.is_number()) return false;
  out = v.get<double>();
  return true;
}

bool Reader<std::string>::read(const Json& v, std::string& out) {
  if (!v.is_string()) return false;
  out = v.get_ref<const std::string&>();
  return true;
}

}  // namespace json_detail

Status check_keys(const Json& object, const std::vector<std::string_view>& known,
                  std::string_view place) {
  std::optional<Error> first;
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    Error e = invalid("unknown key '{}'", key)
                  .at(place)
                  .with_help(fmt::format("known keys: {}", fmt::join(known, ", ")));
    if (first)
      first->others.push_back(std::move(e));
    else
      first = std::move(e);
  }
  if (first) return std::move(*first);
  return {};
}

}  // namespace tenon
