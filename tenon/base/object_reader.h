// Reads configuration objects (TOML or JSON) field by field and reports every problem at once,
// with unknown keys answered by the nearest known name.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

/// Parses JSON (text that starts with '{') or TOML into one tree. `where` names the file in errors.
Result<nlohmann::json> parse_config(std::string_view text, std::string_view where);
/// One error that holds all problems: the first in front, the rest in `others`.
Error all_of(std::vector<Error> problems);

/// Reads the fields of one object. Each call marks its key as known; a missing key leaves the value
/// as it is; a wrong type or range becomes a problem. `finish` refuses keys that nobody asked for.
class ObjectReader {
 public:
  /// `problems` outlives the reader; `where` is the object's place ("cluster.toml: node_group[1]").
  ObjectReader(const nlohmann::json& object, std::string where, std::vector<Error>& problems);

  bool has(const char* key) const;
  void number(const char* key, double& value, double low = 0,
              double high = std::numeric_limits<double>::max());
  void integer(const char* key, std::int64_t& value, std::int64_t low = 1,
               std::int64_t high = std::int64_t{1} << 53);
  void integer(const char* key, int& value, int low = 1,
               int high = std::numeric_limits<int>::max());
  void boolean(const char* key, bool& value);
  void text(const char* key, std::string& value);
  void integers(const char* key, std::vector<int>& value, int low = 0);
  void texts(const char* key, std::vector<std::string>& value);
  /// One of `names`, as its index.
  void choice(const char* key, const std::vector<std::string>& names, int& index);
  /// The value of a key for the caller to read, or nullptr.
  const nlohmann::json* child(const char* key);
  /// The key must be there.
  void require(const char* key);
  void problem(Error error);
  const std::string& where() const { return where_; }
  void finish();

 private:
  const nlohmann::json* find(const char* key);
  void wrong_type(const char* key, const char* wanted, const nlohmann::json& got);
  const nlohmann::json& object_;
  std::string where_;
  std::vector<Error>& problems_;
  std::set<std::string> known_;
};

}  // namespace tenon
