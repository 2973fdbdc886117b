// CSV reading.
#include "tenon/planner/calibration/csv_table.h"

#include <algorithm>
#include <charconv>

namespace tenon::planner {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

bool CsvTable::has(std::string_view column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::string CsvTable::text(std::size_t row, std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return "";
  return rows[row][static_cast<std::size_t>(found - columns.begin())];
}

Result<double> CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string cell = text(row, column);
  double value = 0;
  const auto [stop, bad] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || bad != std::errc() || stop != cell.data() + cell.size()) {
    return invalid("'{}' is not a number", cell)
        .at(fmt::format("{} row {} column {}", name, row + 1, column));
  }
  return value;
}

Result<double> CsvTable::number_or(std::size_t row, std::string_view column,
                                   double fallback) const {
  if (text(row, column).empty()) return fallback;
  return number(row, column);
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view name) {
  CsvTable table;
  table.name = std::string(name);
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    auto cells = cells_of(line);
    if (table.columns.empty()) {
      table.columns = std::move(cells);
    } else if (cells.size() != table.columns.size()) {
      return invalid("{} cells but {} columns", cells.size(), table.columns.size())
          .at(fmt::format("{} line {}", name, number));
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  if (table.rows.empty()) return invalid("the table has no rows").at(name);
  return table;
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view name, std::size_t num_rows) {
  CsvTable table = TENON_TRY(parse_csv(text, name));
  if (table.rows.size() != num_rows) {
    return invalid("the table has {} rows, expected {}", table.rows.size(), num_rows)
        .at(name)
        .with_help("scores and calibrations name rows: restore the published file");
  }
  return table;
}

}  // namespace tenon::planner
