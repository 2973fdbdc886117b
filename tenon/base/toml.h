// TOML files as JSON objects: the one way in which every room reads TOML.
#pragma once

#include <filesystem>
#include <string_view>

#include "tenon/base/error.h"
#include "tenon/base/json.h"

namespace tenon {

/// Parses TOML 1.0 to a JSON object; dates and times become ISO 8601 strings, and inf and nan the
/// strings of `json_number`. The error names line and column (from 1) and, when given, `file`.
Result<Json> parse_toml(std::string_view text, std::string_view file = {});
/// Reads and parses a file of at most 64 MiB.
Result<Json> read_toml(const std::filesystem::path& path);

/// A JSON object as TOML text with sorted keys: plain values first, then tables, then arrays of
/// tables. null has no TOML form and is left out.
std::string write_toml(const Json& object);

/// Sets `dotted.path = value` in `object`, making tables on the way; `value` is TOML text, or,
/// where it is not valid TOML, taken as a string (`--set data.path=/a/b`).
Status set_toml_key(Json& object, std::string_view dotted_key, std::string_view value);

}  // namespace tenon
