// Columns to the arrays of a source.
#include "tenon/dataset/table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "tenon/base/function_ref.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kParts[] = {".hour", ".weekday", ".month"};

// "date.hour" -> "date" and the part's number; -1 without one.
std::pair<std::string, int> split_part(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name.ends_with(kParts[i])) return {name.substr(0, name.size() - kParts[i].size()), i};
  return {name, -1};
}

Result<const Column*> find(const Columns& columns, const std::string& name) {
  for (const Column& c : columns)
    if (c.name == name) return &c;
  std::vector<std::string> names;
  for (const Column& c : columns) names.push_back(c.name);
  return not_found("no column '{}'", name)
      .with_help(fmt::format("columns: {}", fmt::join(names, ", ")));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

// The month (0-11) of a day since 1970-01-01, by Hinnant's "chrono-compatible low-level date
// algorithms".
std::int64_t month_of(std::int64_t day) {
  const std::int64_t z = day + 719468, era = floor_divide(z, 146097), doe = z - era * 146097;
  const std::int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365,
                     doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const std::int64_t mp = (5 * doy + 2) / 153;  // March is 0
  return (mp + 2) % 12;
}

std::int64_t part_of_time(double microseconds, int part) {
  // Times beyond what 64 bits of microseconds hold (some 290,000 years) count as missing.
  if (!(std::fabs(microseconds) < 0x1p63)) return 0;
  const auto us = static_cast<std::int64_t>(microseconds);
  constexpr std::int64_t kHour = 3'600'000'000, kDay = 24 * kHour;
  const std::int64_t day = floor_divide(us, kDay);
  if (part == 0) return (us - day * kDay) / kHour;
  if (part == 1) return (day % 7 + 7 + 3) % 7;  // 1970-01-01 was a Thursday
  return month_of(day);
}

std::string text_of(const Column& c, std::size_t row) {
  if (c.is_text)
    return c.codes[row] < 0 ? std::string() : c.texts[static_cast<std::size_t>(c.codes[row])];
  return std::isnan(c.numbers[row]) ? std::string() : fmt::format("{}", c.numbers[row]);
}

struct Category {
  std::vector<std::int64_t> values;
  std::int64_t size = 0;
};

Category hashed(const Column& c, std::int64_t buckets, std::size_t column) {
  const auto bucket = [&](const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325 + column;  // FNV-1a, another for each column
    for (char ch : text) hash = (hash ^ static_cast<unsigned char>(ch)) * 0x100000001b3;
    return static_cast<std::int64_t>(mix_key(hash, column) % static_cast<std::uint64_t>(buckets));
  };
  Category out{{}, buckets};
  std::vector<std::int64_t> of_code;
  for (const std::string& t : c.texts) of_code.push_back(bucket(t));
  for (std::int64_t r = 0; r < c.size(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    out.values.push_back(c.is_text && c.codes[row] >= 0
                             ? of_code[static_cast<std::size_t>(c.codes[row])]
                             : bucket(text_of(c, row)));
  }
  return out;
}

// Numbered by first appearance.
Category numbered(const Column& c) {
  Category out;
  std::unordered_map<std::string, std::int64_t> known;
  std::vector<std::int64_t> of_code(c.texts.size(), -1);
  for (std::int64_t r = 0; r < c.size(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    std::int64_t* remembered =
        c.is_text && c.codes[row] >= 0 ? &of_code[static_cast<std::size_t>(c.codes[row])] : nullptr;
    if (remembered && *remembered >= 0) {
      out.values.push_back(*remembered);
      continue;
    }
    const std::int64_t number =
        known.try_emplace(text_of(c, row), static_cast<std::int64_t>(known.size())).first->second;
    if (remembered) *remembered = number;
    out.values.push_back(number);
  }
  out.size = static_cast<std::int64_t>(known.size());
  return out;
}

Result<Category> category(const Columns& columns, const TableOptions& o, std::size_t at) {
  const auto [name, part] = split_part(o.categorical[at]);
  const bool whole = std::any_of(columns.begin(), columns.end(),
                                 [&](const Column& c) { return c.name == o.categorical[at]; });
  const Column& c = *TENON_TRY(find(columns, whole ? o.categorical[at] : name));
  if (part < 0 || whole) return o.hash_buckets > 0 ? hashed(c, o.hash_buckets, at) : numbered(c);
  if (!c.is_time)
    return invalid("column '{}' holds no times, so it has no '{}'", name, kParts[part].substr(1));
  Category out{{}, part == 0 ? 24 : part == 1 ? 7 : 12};
  for (double v : c.numbers) out.values.push_back(part_of_time(v, part));
  return out;
}

const char* kind_of(const Column& c) {
  return c.is_text ? "texts" : c.is_time ? "times" : "numbers";
}

Result<const Column*> numeric_column(const Columns& columns, const std::string& name) {
  const Column* c = TENON_TRY(find(columns, name));
  if (c->is_text) return invalid("column '{}' holds texts, not numbers", name);
  return c;
}

}  // namespace

std::vector<std::string> columns_needed(const TableOptions& o) {
  std::vector<std::string> names = o.numeric;
  for (const std::string& c : o.categorical) names.push_back(split_part(c).first);
  if (!o.label.empty()) names.push_back(o.label);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<SourcePtr> table_source(const Columns& columns, const TableOptions& o,
                               const std::string& name) {
  if (columns.empty() || (o.numeric.empty() && o.categorical.empty() && o.label.empty()))
    return invalid("no columns are chosen").with_help("name numeric, categorical or label columns");
  const std::int64_t rows = columns[0].size();
  NamedTensors arrays;
  if (!o.numeric.empty()) {
    const auto width = o.numeric.size();
    Tensor t(DType::f32, {rows, static_cast<std::int64_t>(width)});
    for (std::size_t i = 0; i < width; ++i) {
      const Column& c = *TENON_TRY(numeric_column(columns, o.numeric[i]));
      for (std::size_t r = 0; r < c.numbers.size(); ++r)
        t.data<float>()[r * width + i] =
            std::isnan(c.numbers[r]) ? 0.0f : static_cast<float>(c.numbers[r]);
    }
    arrays.emplace_back("numeric", std::move(t));
  }
  std::vector<std::int64_t> sizes;
  if (!o.categorical.empty()) {
    const auto width = o.categorical.size();
    Tensor t(DType::i64, {rows, static_cast<std::int64_t>(width)});
    for (std::size_t i = 0; i < width; ++i) {
      const Category c = TENON_TRY(category(columns, o, i));
      for (std::size_t r = 0; r < c.values.size(); ++r)
        t.data<std::int64_t>()[r * width + i] = c.values[r];
      sizes.push_back(c.size);
    }
    arrays.emplace_back("categories", std::move(t));
  }
  if (!o.label.empty()) {
    const Column& c = *TENON_TRY(numeric_column(columns, o.label));
    Tensor t(DType::f32, {rows});
    for (std::size_t r = 0; r < c.numbers.size(); ++r)
      t.data<float>()[r] = o.label_above
                               ? (c.numbers[r] > *o.label_above ? 1.0f : 0.0f)
                               : static_cast<float>(std::isnan(c.numbers[r]) ? 0 : c.numbers[r]);
    arrays.emplace_back("label", std::move(t));
  }
  return array_source(std::move(arrays), name, std::move(sizes));
}

Status append_rows(Columns& columns, const Columns& more) {
  for (Column& c : columns) {
    const Column& m = *TENON_TRY(find(more, c.name));
    if (m.is_text != c.is_text || m.is_time != c.is_time)
      return invalid("column '{}' holds {} here and {} before", c.name, kind_of(m), kind_of(c));
    c.numbers.insert(c.numbers.end(), m.numbers.begin(), m.numbers.end());
    if (!m.is_text) continue;
    std::unordered_map<std::string, std::int32_t> known;
    for (std::size_t i = 0; i < c.texts.size(); ++i)
      known.emplace(c.texts[i], static_cast<std::int32_t>(i));
    std::vector<std::int32_t> codes;
    for (const std::string& t : m.texts) {
      const auto [at, fresh] = known.try_emplace(t, static_cast<std::int32_t>(c.texts.size()));
      if (fresh) c.texts.push_back(t);
      codes.push_back(at->second);
    }
    for (const std::int32_t code : m.codes)
      c.codes.push_back(code < 0 ? -1 : codes[static_cast<std::size_t>(code)]);
  }
  return {};
}

namespace {

using ReadTable = FunctionRef<Result<Columns>(const fs::path&)>;

// One file, or all with the extension below a folder as one table: categories get one numbering.
Result<SourcePtr> table_of_files(const fs::path& path, const std::string& extension,
                                 const TableOptions& options, ReadTable read) {
  std::vector<fs::path> files = {path};
  if (fs::is_directory(path)) files = TENON_TRY(files_below(path, {extension}));
  if (files.empty()) return not_found("no {} file below '{}'", extension, path.string());
  Columns columns = TENON_TRY(read(files[0]));
  for (std::size_t i = 1; i < files.size(); ++i)
    TENON_TRY_AT(files[i].string(), append_rows(columns, TENON_TRY(read(files[i]))));
  return placed(table_source(columns, options, path.string()), [&] { return path.string(); });
}

}  // namespace

Result<SourcePtr> csv_source(const fs::path& path, const TableOptions& options) {
  std::vector<std::string> numeric = options.numeric;
  if (!options.label.empty()) numeric.push_back(options.label);
  // A column may be called "x.hour" itself: then all are read.
  return table_of_files(path, ".csv", options,
                        [&](const fs::path& file) { return read_csv(file, {}, numeric); });
}

Result<SourcePtr> parquet_source(const fs::path& path, const TableOptions& options) {
  const auto names = columns_needed(options);
  return table_of_files(path, ".parquet", options,
                        [&](const fs::path& file) { return read_parquet(file, names); });
}

Result<SourcePtr> arrow_source(const fs::path& path, const TableOptions& options) {
  const auto names = columns_needed(options);
  return table_of_files(path, ".arrow", options,
                        [&](const fs::path& file) { return read_arrow(file, names); });
}

}  // namespace tenon::dataset
