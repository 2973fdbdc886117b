// Small CSV tables with a header line, as the training measurements come.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::planner {

struct CsvTable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  bool has(std::string_view column) const;
  /// The cell, empty where the column is missing.
  std::string text(std::size_t row, std::string_view column) const;
  /// The cell as a number; an error that names table, row (from 1) and column.
  Result<double> number(std::size_t row, std::string_view column) const;
  /// The same, or `fallback` where the column is missing or the cell is empty.
  Result<double> number_or(std::size_t row, std::string_view column, double fallback) const;
};

/// Every row must have as many cells as the header. No quoting: measurements have no commas.
Result<CsvTable> parse_csv(std::string_view text, std::string_view name);
/// Also refuses a table that has not exactly `num_rows` rows.
Result<CsvTable> parse_csv(std::string_view text, std::string_view name, std::size_t num_rows);

}  // namespace tenon::planner
