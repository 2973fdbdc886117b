// CSV to typed columns, read once when the source is opened.
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "tenon/base/file.h"
#include "tenon/base/random.h"
#include "tenon/base/zip.h"
#include "tenon/dataset/table_internal.h"

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

Result<float> number_in(std::string_view cell, std::string_view column) {
  if (cell.empty()) return 0.0f;
  double v = 0;
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  if (code != std::errc() || end != cell.data() + cell.size())
    return invalid("'{}' in column '{}' is no number", cell, column);
  return static_cast<float>(v);
}

Result<std::vector<std::size_t>> find_columns(const std::vector<std::string>& header,
                                              const std::vector<std::string>& wanted) {
  std::vector<std::size_t> at;
  for (const std::string& name : wanted) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end())
      return not_found("no column '{}'", name)
          .with_help(fmt::format("columns: {}", fmt::join(header, ", ")));
    at.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return at;
}

Result<SourcePtr> read_csv(std::string_view text, const TableOptions& o, const std::string& name) {
  CsvReader reader(text);
  if (reader.done()) return invalid("csv: the file is empty");
  std::vector<std::string> header;
  for (std::string_view cell : TENON_TRY(reader.row())) header.emplace_back(cell);
  TableBuilder table(o);
  const auto numeric = TENON_TRY(find_columns(header, o.numeric)),
             categorical = TENON_TRY(find_columns(header, o.categorical));
  const auto label = TENON_TRY(find_columns(
      header, o.label.empty() ? std::vector<std::string>{} : std::vector<std::string>{o.label}));
  while (!reader.done()) {
    const std::size_t line = reader.line();
    const auto place = [&] { return fmt::format("line {}", line); };
    const auto cells = TENON_TRY(reader.row());
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (cells.size() != header.size())
      return invalid("csv: {} cells under {} columns", cells.size(), header.size()).at(place());
    for (std::size_t i = 0; i < numeric.size(); ++i)
      table.add_number(TENON_TRY_AT(place(), number_in(cells[numeric[i]], o.numeric[i])));
    for (std::size_t i = 0; i < categorical.size(); ++i)
      table.add_category(i, cells[categorical[i]]);
    if (!label.empty()) table.add_label(TENON_TRY_AT(place(), number_in(cells[label[0]], o.label)));
    table.end_row();
  }
  return table.build(name);
}

}  // namespace

void TableBuilder::add_category(std::size_t column, std::string_view text) {
  if (options_.hash_buckets > 0) {
    std::uint64_t hash = 0xcbf29ce484222325 + column;  // FNV-1a, another for each column
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    categories_.push_back(static_cast<std::int64_t>(
        mix_key(hash, column) % static_cast<std::uint64_t>(options_.hash_buckets)));
    return;
  }
  if (numbers_.size() <= column) numbers_.resize(column + 1);
  auto& known = numbers_[column];
  categories_.push_back(
      known.try_emplace(std::string(text), static_cast<std::int64_t>(known.size())).first->second);
}

void TableBuilder::add_label(float value) {
  labels_.push_back(options_.label_above ? (value > *options_.label_above ? 1.0f : 0.0f) : value);
}

Result<SourcePtr> TableBuilder::build(const std::string& name) {
  NamedTensors columns;
  const auto n = [&](const std::vector<std::string>& list) {
    return static_cast<std::int64_t>(list.size());
  };
  if (!options_.numeric.empty())
    columns.emplace_back("numeric", Tensor::of<float>({rows_, n(options_.numeric)}, numeric_));
  if (!options_.categorical.empty())
    columns.emplace_back("categories",
                         Tensor::of<std::int64_t>({rows_, n(options_.categorical)}, categories_));
  if (!options_.label.empty()) columns.emplace_back("label", Tensor::of<float>({rows_}, labels_));
  if (columns.empty())
    return invalid("no columns are chosen").with_help("name numeric, categorical or label columns");
  return array_source(std::move(columns), name);
}

Result<SourcePtr> csv_source(const fs::path& path, const TableOptions& options) {
  const std::string text = TENON_TRY(read_gzip(path));
  return placed(read_csv(text, options, path.string()), [&] { return path.string(); });
}

}  // namespace tenon::dataset
