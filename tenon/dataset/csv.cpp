// CSV to typed columns.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <unordered_map>

#include "tenon/base/zip.h"
#include "tenon/dataset/table.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

// Walks the cells of RFC 4180 text; `line` counts for error messages.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }
  bool done() const { return rest_.empty(); }
  std::size_t line() const { return line_; }

  /// The cells of the next row; a cell is valid until the next call.
  Result<std::vector<std::string_view>> row() {
    std::vector<std::string_view> cells;
    unescaped_.clear();
    while (true) {
      cells.push_back(TENON_TRY(cell()));
      if (rest_.empty()) break;
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == ',') continue;
      if (c == '\r' && rest_.starts_with('\n')) rest_.remove_prefix(1);
      break;
    }
    ++line_;
    return cells;
  }

 private:
  Result<std::string_view> cell() {
    if (rest_.starts_with('"')) return quoted();
    const auto end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return out;
  }
  Result<std::string_view> quoted() {
    rest_.remove_prefix(1);
    auto text = std::make_unique<std::string>();
    while (true) {
      const auto quote = rest_.find('"');
      if (quote == rest_.npos)
        return invalid("csv: a quote is not closed").at(fmt::format("line {}", line_));
      for (char c : rest_.substr(0, quote)) line_ += c == '\n';
      *text += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      *text += '"';
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && rest_.find_first_of(",\r\n") != 0)
      return invalid("csv: text after a closing quote").at(fmt::format("line {}", line_));
    unescaped_.push_back(std::move(text));
    return std::string_view(*unescaped_.back());
  }

  std::string_view rest_;
  std::size_t line_ = 1;
  std::vector<std::unique_ptr<std::string>> unescaped_;
};

std::optional<double> number_in(std::string_view cell) {
  if (cell.empty()) return std::nan("");
  double v = 0;
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  if (code != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return v;
}

// Collects one column: numbers as long as every cell is one, texts from then on.
class ColumnReader {
 public:
  ColumnReader(std::string name, bool must_be_numeric) : must_be_numeric_(must_be_numeric) {
    column_.name = std::move(name);
  }

  Status add(std::string_view cell) {
    if (!column_.is_text) {
      if (const auto v = number_in(cell)) {
        column_.numbers.push_back(*v);
        if (!must_be_numeric_) cells_.push_back(code_of(cell));
        return {};
      }
      if (must_be_numeric_) return invalid("'{}' in column '{}' is no number", cell, column_.name);
      column_.is_text = true;
      column_.numbers.clear();
    }
    cells_.push_back(code_of(cell));
    return {};
  }
  Column take() && {
    if (column_.is_text) {
      column_.codes = std::move(cells_);
    } else {
      column_.texts.clear();
    }
    return std::move(column_);
  }

 private:
  std::int32_t code_of(std::string_view cell) {
    if (cell.empty()) return -1;
    const auto [at, fresh] =
        known_.try_emplace(std::string(cell), static_cast<std::int32_t>(column_.texts.size()));
    if (fresh) column_.texts.emplace_back(cell);
    return at->second;
  }
  Column column_;
  bool must_be_numeric_;
  std::vector<std::int32_t> cells_;  // the texts so far, in case a later cell is no number
  std::unordered_map<std::string, std::int32_t> known_;
};

}  // namespace

Result<Columns> parse_csv(std::string_view text, const std::vector<std::string>& names,
                          const std::vector<std::string>& numeric) {
  CsvReader reader(text);
  if (reader.done()) return invalid("csv: the file is empty");
  std::vector<std::string> header;
  for (std::string_view cell : TENON_TRY(reader.row())) header.emplace_back(cell);
  for (const auto* list : {&names, &numeric})
    for (const std::string& name : *list)
      if (std::find(header.begin(), header.end(), name) == header.end())
        return not_found("no column '{}'", name)
            .with_help(fmt::format("columns: {}", fmt::join(header, ", ")));
  std::vector<std::pair<std::size_t, ColumnReader>> columns;
  for (std::size_t i = 0; i < header.size(); ++i)
    if (names.empty() || std::find(names.begin(), names.end(), header[i]) != names.end())
      columns.emplace_back(i, ColumnReader(header[i], std::find(numeric.begin(), numeric.end(),
                                                                header[i]) != numeric.end()));
  while (!reader.done()) {
    const std::size_t line = reader.line();
    const auto place = [&] { return fmt::format("line {}", line); };
    const auto cells = TENON_TRY(reader.row());
    if (cells.size() == 1 && cells[0].empty() && header.size() > 1) continue;  // an empty line
    if (cells.size() != header.size())
      return invalid("csv: {} cells under {} columns", cells.size(), header.size()).at(place());
    for (auto& [at, column] : columns) TENON_TRY_AT(place(), column.add(cells[at]));
  }
  Columns out;
  for (auto& [at, column] : columns) out.push_back(std::move(column).take());
  return out;
}

Result<Columns> read_csv(const fs::path& path, const std::vector<std::string>& names,
                         const std::vector<std::string>& numeric) {
  const std::string text = TENON_TRY(read_gzip(path));
  return placed(parse_csv(text, names, numeric), [&] { return path.string(); });
}

}  // namespace tenon::dataset
