#include "tenon/planner/pipeline/stage_times.h"

#include <cmath>

#include "tenon/base/object_reader.h"
#include "tenon/planner/calibration/csv_table.h"

namespace tenon::planner {
namespace {

struct Column {
  const char* name;
  double StageTimes::* field;
  bool required;
};
constexpr Column columns[] = {{"forward", &StageTimes::forward, true},
                              {"backward_input", &StageTimes::backward_input, true},
                              {"backward_weight", &StageTimes::backward_weight, true},
                              {"send", &StageTimes::send, true},
                              {"activation", &StageTimes::activation, false}};

// Spaces around cells are common in hand-written files.
void trim(std::string& cell) {
  const auto first = cell.find_first_not_of(" \t\r");
  const auto last = cell.find_last_not_of(" \t\r");
  cell = first == std::string::npos ? std::string() : cell.substr(first, last - first + 1);
}

void check_columns(const CsvTable& table, std::vector<Error>& problems) {
  for (const Column& column : columns) {
    if (column.required && !table.has(column.name)) {
      problems.push_back(invalid("the column {} is missing", column.name));
    }
  }
  for (const std::string& given : table.columns) {
    bool known = false;
    for (const Column& column : columns) known = known || given == column.name;
    if (!known) problems.push_back(invalid("the column {} is not known", given));
  }
}

StageTimes read_row(const CsvTable& table, std::size_t row, std::vector<Error>& problems) {
  StageTimes stage;
  for (const Column& column : columns) {
    if (!column.required && !table.has(column.name)) continue;
    Result<double> value = table.number(row, column.name);
    if (!value.ok()) {
      problems.push_back(std::move(value).error());
    } else if (!(std::isfinite(*value) && *value >= 0)) {
      problems.push_back(
          invalid("row {}: {} is {}, but must be at least 0", row + 1, column.name, *value));
    } else {
      stage.*column.field = *value;
    }
  }
  return stage;
}

}  // namespace

Result<std::vector<StageTimes>> parse_stage_times(std::string_view text, std::string_view where,
                                                  int num_stages) {
  CsvTable table = TENON_TRY(parse_csv(text, where));
  for (std::string& column : table.columns) trim(column);
  for (auto& row : table.rows) {
    for (std::string& cell : row) trim(cell);
  }
  std::vector<Error> problems;
  check_columns(table, problems);
  const std::size_t rows = table.rows.size();
  if (rows != 1 && rows != static_cast<std::size_t>(num_stages)) {
    problems.push_back(invalid("{} rows of times for {} stages", rows, num_stages)
                           .with_help("give one row a stage, or one row for all"));
  }
  std::vector<StageTimes> stages;
  if (problems.empty()) {
    for (std::size_t row = 0; row < rows; ++row) stages.push_back(read_row(table, row, problems));
  }
  if (!problems.empty()) return all_of(std::move(problems)).at(where);
  stages.resize(num_stages, stages.front());
  return stages;
}

}  // namespace tenon::planner
