// Collects rows of a table, whatever file they come from, into arrays.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/dataset/file_sources.h"

namespace tenon::dataset {

/// Rows are added cell by cell, in the order of the options' columns, and ended one by one.
class TableBuilder {
 public:
  explicit TableBuilder(const TableOptions& options) : options_(options) {}
  void add_number(float value) { numeric_.push_back(value); }
  void add_category(std::size_t column, std::string_view text);
  void add_label(float value);
  void end_row() { ++rows_; }
  Result<SourcePtr> build(const std::string& name);

 private:
  const TableOptions& options_;
  std::int64_t rows_ = 0;
  std::vector<float> numeric_, labels_;
  std::vector<std::int64_t> categories_;
  std::vector<std::unordered_map<std::string, std::int64_t>> numbers_;  // by column
};

}  // namespace tenon::dataset
