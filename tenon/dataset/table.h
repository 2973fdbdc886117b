// Tables with typed columns, from CSV, Parquet and Arrow files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/dataset/file_sources.h"

namespace tenon::dataset {

/// Numbers (NaN for a missing one; whole numbers beyond 2^53 are rounded), or texts as places in a
/// dictionary (-1 for a missing one).
struct Column {
  std::string name;
  bool is_text = false;
  bool is_time = false;  // numbers are microseconds since 1970-01-01 00:00
  std::vector<double> numbers;
  std::vector<std::int32_t> codes;
  std::vector<std::string> texts;
  std::int64_t size() const {
    return static_cast<std::int64_t>(is_text ? codes.size() : numbers.size());
  }
};
using Columns = std::vector<Column>;

/// The named columns of a CSV file (all when `names` is empty), gzipped or not. A column is numeric
/// when every cell that is not empty is a number, or when `numeric` names it: then any other cell
/// is an error.
Result<Columns> read_csv(const std::filesystem::path& path, const std::vector<std::string>& names,
                         const std::vector<std::string>& numeric = {});

/// The named columns of a Parquet file (all when `names` is empty): flat columns of booleans,
/// numbers, dates, times and strings, plain or dictionary-encoded, pages of both versions;
/// uncompressed, Snappy, gzip or Zstandard. Nested columns, other encodings and codecs are
/// `unsupported`.
Result<Columns> read_parquet(const std::filesystem::path& path,
                             const std::vector<std::string>& names);

/// The named columns of an Arrow IPC file or stream (all when `names` is empty): flat columns of
/// the same kinds, dictionaries too, uncompressed or Zstandard. Nested columns, other types and
/// codecs are `unsupported`.
Result<Columns> read_arrow(const std::filesystem::path& path,
                           const std::vector<std::string>& names);

// The same from memory; errors name no file.
Result<Columns> parse_csv(std::string_view text, const std::vector<std::string>& names,
                          const std::vector<std::string>& numeric = {});
Result<Columns> parse_parquet(std::span<const std::byte> file,
                              const std::vector<std::string>& names);
Result<Columns> parse_arrow(std::span<const std::byte> file, const std::vector<std::string>& names);

/// Appends the rows of `more`, which has the same columns by name and kind.
Status append_rows(Columns& columns, const Columns& more);

/// Numeric columns with missing values as 0, categories numbered or hashed, the label. A
/// categorical "NAME.hour", "NAME.weekday" (0 = Monday) or "NAME.month" (0-11) takes that part of a
/// time column.
Result<SourcePtr> table_source(const Columns& columns, const TableOptions& options,
                               const std::string& name);

/// The columns that the options need, without ".hour" and the like.
std::vector<std::string> columns_needed(const TableOptions& options);

}  // namespace tenon::dataset
