// Flat Parquet columns, by the format's own description (parquet-format 2.10).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/zip.h"
#include "tenon/dataset/parquet_runs_internal.h"
#include "tenon/dataset/parquet_thrift_internal.h"
#include "tenon/dataset/snappy_internal.h"
#include "tenon/dataset/table.h"
#include "tenon/dataset/zstd_internal.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::int64_t kMaxRows = std::int64_t{1} << 26;
constexpr std::int64_t kMaxPage = std::int64_t{1} << 30;

enum PhysicalType { kBoolean, kInt32, kInt64, kInt96, kFloat, kDouble, kByteArray, kFixedBytes };
enum Encoding { kPlain = 0, kPlainDictionary = 2, kRle = 3, kRleDictionary = 8 };
enum PageType { kDataPage = 0, kDictionaryPage = 2, kDataPageV2 = 3 };

struct ColumnInfo {
  std::string name;
  int type = 0;
  int fixed_bytes = 0;
  bool optional = false;
  double time_factor = 0;  // to microseconds; 0: no time
};

template <class T>
T load(Bytes b, std::size_t at) {
  T v;
  std::memcpy(&v, b.data() + at, sizeof v);
  return v;
}

double time_factor(const ThriftValue& element) {
  const std::int64_t converted = element.number_at(6, -1);
  if (converted == 6) return 86'400e6;  // DATE, in days
  if (converted == 9) return 1e3;
  if (converted == 10) return 1;
  const ThriftValue* logical = element.field(10);
  if (logical && logical->field(6)) return 86'400e6;
  const ThriftValue* stamp = logical ? logical->field(8) : nullptr;
  const ThriftValue* unit = stamp ? stamp->field(2) : nullptr;
  if (!unit) return 0;
  return unit->field(1) ? 1e3 : unit->field(2) ? 1 : 1e-3;
}

Result<std::vector<ColumnInfo>> read_schema(const ThriftValue& footer) {
  const ThriftValue* schema = footer.field(2);
  if (!schema || schema->items.empty()) return invalid("parquet: no schema");
  std::vector<ColumnInfo> columns;
  for (std::size_t i = 1; i < schema->items.size(); ++i) {
    const ThriftValue& e = schema->items[i];
    ColumnInfo c{e.field(4) ? e.field(4)->text : "", static_cast<int>(e.number_at(1, -1)),
                 static_cast<int>(e.number_at(2)), e.number_at(3) == 1, time_factor(e)};
    if (e.number_at(5) > 0 || e.number_at(3) == 2)
      return unsupported("parquet: column '{}' is nested", c.name);
    columns.push_back(std::move(c));
  }
  return columns;
}

Result<std::string> unpacked(Bytes page, std::int64_t codec, std::int64_t size) {
  if (size < 0 || size > kMaxPage) return invalid("parquet: a page of {} bytes", size);
  const auto bytes = static_cast<std::size_t>(size);
  std::string out;
  switch (codec) {
    case 0: out.assign(reinterpret_cast<const char*>(page.data()), page.size()); break;
    case 1: out = TENON_TRY(unpack_snappy(page, bytes)); break;
    case 2: out = TENON_TRY(inflate_bytes(page, 31, bytes)); break;
    case 6: out = TENON_TRY(unpack_zstd(page, bytes)); break;
    default: return unsupported("parquet: compression codec {}", codec);
  }
  if (out.size() != bytes)
    return invalid("parquet: a page of {} bytes unpacks to {}", bytes, out.size());
  return out;
}

// Values as they stand in a page: numbers, or texts.
struct Plain {
  std::vector<double> numbers;
  std::vector<std::string> texts;
};

Result<Plain> read_texts(Bytes b, const ColumnInfo& c, std::size_t count) {
  if (c.type == kFixedBytes && c.fixed_bytes < 1)
    return invalid("parquet: texts of {} bytes", c.fixed_bytes);
  if (count > b.size()) return invalid("parquet: texts are cut off");
  Plain out;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t n = static_cast<std::size_t>(c.fixed_bytes);
    if (c.type == kByteArray) {
      if (b.size() < 4) return invalid("parquet: texts are cut off");
      n = load<std::uint32_t>(b, 0);
      b = b.subspan(4);
    }
    if (n > b.size()) return invalid("parquet: texts are cut off");
    out.texts.emplace_back(reinterpret_cast<const char*>(b.data()), n);
    b = b.subspan(n);
  }
  return out;
}

Result<Plain> read_plain(Bytes b, const ColumnInfo& c, std::size_t count) {
  if (c.type == kByteArray || c.type == kFixedBytes) return read_texts(b, c, count);
  static constexpr std::size_t kBits[] = {1, 32, 64, 96, 32, 64};
  if (c.type < 0 || c.type > kDouble || c.type == kInt96)
    return unsupported("parquet: column '{}' of physical type {}", c.name, c.type);
  if (count > b.size() * 8 / kBits[c.type]) return invalid("parquet: {} values are cut off", count);
  Plain out;
  out.numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    switch (c.type) {
      case kBoolean: out.numbers.push_back(static_cast<int>(b[i / 8]) >> (i % 8) & 1); break;
      case kInt32: out.numbers.push_back(load<std::int32_t>(b, 4 * i)); break;
      case kInt64: out.numbers.push_back(static_cast<double>(load<std::int64_t>(b, 8 * i))); break;
      case kFloat: out.numbers.push_back(load<float>(b, 4 * i)); break;
      default: out.numbers.push_back(load<double>(b, 8 * i));
    }
  }
  return out;
}

// Collects the pages of one column over all row groups.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(const ColumnInfo& info) : info_(info) {
    column_.name = info.name;
    column_.is_text = info.type == kByteArray || info.type == kFixedBytes;
    column_.is_time = !column_.is_text && info.time_factor > 0;
  }

  Status set_dictionary(Plain values) {
    dictionary_codes_.clear();
    for (std::string& t : values.texts)
      dictionary_codes_.push_back(TENON_TRY(code_of(std::move(t))));
    dictionary_ = std::move(values.numbers);
    return {};
  }

  /// `present[i]` tells whether row i has a value; empty: all have one.
  Status add_page(Bytes values, std::int64_t encoding, const std::vector<std::uint32_t>& present,
                  std::size_t rows) {
    const std::size_t count =
        present.empty() ? rows
                        : static_cast<std::size_t>(std::count(present.begin(), present.end(), 1u));
    if (encoding == kPlain)
      return place(TENON_TRY(read_plain(values, info_, count)), present, rows);
    if (encoding == kRle && info_.type == kBoolean) {
      if (values.size() < 4) return invalid("parquet: booleans are cut off");
      const auto bits = TENON_TRY(read_runs(values.subspan(4), 1, count));
      return place({{bits.begin(), bits.end()}, {}}, present, rows);
    }
    if (encoding != kPlainDictionary && encoding != kRleDictionary)
      return unsupported("parquet: column '{}' in encoding {}", info_.name, encoding);
    if (values.empty())
      return count == 0 ? place({}, present, rows)
                        : Status(invalid("parquet: dictionary numbers are cut off"));
    const auto numbers =
        TENON_TRY(read_runs(values.subspan(1), static_cast<int>(values[0]), count));
    return place_dictionary(numbers, present, rows);
  }
  std::int64_t size() const { return column_.size(); }
  Column take() && { return std::move(column_); }

 private:
  Result<std::int32_t> code_of(std::string text) {
    const auto [at, fresh] =
        known_.try_emplace(std::move(text), static_cast<std::int32_t>(column_.texts.size()));
    if (fresh) column_.texts.push_back(at->first);
    return at->second;
  }
  void add_number(double v) {
    column_.numbers.push_back(column_.is_time ? v * info_.time_factor : v);
  }
  void add_missing() {
    if (column_.is_text)
      column_.codes.push_back(-1);
    else
      column_.numbers.push_back(std::nan(""));
  }
  Status place(Plain values, const std::vector<std::uint32_t>& present, std::size_t rows) {
    std::size_t next = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      if (!present.empty() && !present[r])
        add_missing();
      else if (column_.is_text)
        column_.codes.push_back(TENON_TRY(code_of(std::move(values.texts[next++]))));
      else
        add_number(values.numbers[next++]);
    }
    return {};
  }
  Status place_dictionary(const std::vector<std::uint32_t>& numbers,
                          const std::vector<std::uint32_t>& present, std::size_t rows) {
    const std::size_t size = column_.is_text ? dictionary_codes_.size() : dictionary_.size();
    std::size_t next = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      if (!present.empty() && !present[r]) {
        add_missing();
        continue;
      }
      const std::uint32_t n = numbers[next++];
      if (n >= size) return invalid("parquet: number {} in a dictionary of {}", n, size);
      if (column_.is_text)
        column_.codes.push_back(dictionary_codes_[n]);
      else
        add_number(dictionary_[n]);
    }
    return {};
  }

  const ColumnInfo& info_;
  Column column_;
  std::map<std::string, std::int32_t> known_;
  std::vector<double> dictionary_;
  std::vector<std::int32_t> dictionary_codes_;
};

// Version 1: levels and values are packed together; version 2: the levels stand apart, unpacked.
Status read_data_page(const ThriftValue& header, Bytes packed, std::int64_t codec,
                      const ColumnInfo& info, std::int64_t rows_left, ColumnBuilder& out) {
  const bool second = header.number_at(1) == kDataPageV2;
  const ThriftValue* h = header.field(second ? 8 : 5);
  if (!h) return invalid("parquet: a data page without its header");
  const std::int64_t rows = h->number_at(1);
  if (rows < 0 || rows > rows_left)
    return invalid("parquet: a page of {} rows where {} are left", rows, rows_left);
  const auto count = static_cast<std::size_t>(rows);
  std::size_t levels = 0;
  std::string content;
  if (second) {
    const std::int64_t definition = h->number_at(5), repetition = h->number_at(6);
    if (definition < 0 || repetition != 0 || static_cast<std::size_t>(definition) > packed.size())
      return invalid("parquet: levels of {} and {} bytes", definition, repetition);
    levels = static_cast<std::size_t>(definition);
    content.assign(reinterpret_cast<const char*>(packed.data()), levels);
    if (header.number_at(2) < definition)
      return invalid("parquet: a page of {} bytes with levels of {}", header.number_at(2),
                     definition);
    const std::int64_t left = header.number_at(2) - definition;
    content += TENON_TRY(unpacked(packed.subspan(levels), h->number_at(7, 1) ? codec : 0, left));
  } else {
    content = TENON_TRY(unpacked(packed, codec, header.number_at(2)));
  }
  Bytes body = std::as_bytes(std::span(content));
  std::vector<std::uint32_t> present;
  if (info.optional) {
    if (!second) {
      if (body.size() < 4 || load<std::uint32_t>(body, 0) > body.size() - 4)
        return invalid("parquet: levels are cut off");
      levels = load<std::uint32_t>(body, 0);
      body = body.subspan(4);
    }
    present = TENON_TRY(read_runs(body.first(levels), 1, count));
  }
  return out.add_page(body.subspan(info.optional || second ? levels : 0),
                      h->number_at(second ? 4 : 2), present, count);
}

Status read_chunk(Bytes file, const ThriftValue& chunk, const ColumnInfo& info, std::int64_t rows,
                  ColumnBuilder& out) {
  const ThriftValue* meta = chunk.field(3);
  if (!meta) return unsupported("parquet: column '{}' lies in another file", info.name);
  std::int64_t start = meta->number_at(9);
  if (const std::int64_t dictionary = meta->number_at(11); dictionary > 0)
    start = std::min(start, dictionary);
  const std::int64_t length = meta->number_at(7);
  if (start < 0 || length < 0 || start > static_cast<std::int64_t>(file.size()) ||
      length > static_cast<std::int64_t>(file.size()) - start)
    return invalid("parquet: column '{}' ({} bytes at {}) lies outside the file", info.name, length,
                   start);
  Bytes rest = file.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(length));
  const std::int64_t codec = meta->number_at(4), end = out.size() + rows;
  while (out.size() < end) {
    const ThriftValue header = TENON_TRY(read_thrift_struct(rest));
    const std::int64_t size = header.number_at(3), type = header.number_at(1);
    if (size < 0 || size > static_cast<std::int64_t>(rest.size()))
      return invalid("parquet: a page of {} bytes is cut off", size);
    const Bytes page = rest.first(static_cast<std::size_t>(size));
    rest = rest.subspan(static_cast<std::size_t>(size));
    if (type == kDictionaryPage) {
      const ThriftValue* h = header.field(7);
      const std::string content = TENON_TRY(unpacked(page, codec, header.number_at(2)));
      const std::int64_t count = h ? h->number_at(1) : -1;
      if (count < 0 || count > kMaxRows)
        return invalid("parquet: a dictionary of {} values", count);
      TENON_TRY(out.set_dictionary(TENON_TRY(
          read_plain(std::as_bytes(std::span(content)), info, static_cast<std::size_t>(count)))));
    } else if (type == kDataPage || type == kDataPageV2) {
      TENON_TRY(read_data_page(header, page, codec, info, end - out.size(), out));
    }
  }
  return {};
}

Result<ThriftValue> read_footer(Bytes file) {
  const auto magic = [&](std::size_t at) {
    return file.size() >= 12 && std::memcmp(file.data() + at, "PAR1", 4) == 0;
  };
  if (!magic(0) || !magic(file.size() - 4)) return invalid("not a Parquet file");
  const std::uint32_t length = load<std::uint32_t>(file, file.size() - 8);
  if (length > file.size() - 12)
    return invalid("parquet: a footer of {} bytes in a file of {}", length, file.size());
  Bytes footer = file.subspan(file.size() - 8 - length, length);
  return read_thrift_struct(footer);
}

}  // namespace

Result<Columns> parse_parquet(Bytes file, const std::vector<std::string>& names) {
  const ThriftValue footer = TENON_TRY(read_footer(file));
  const auto schema = TENON_TRY(read_schema(footer));
  if (footer.number_at(3) < 0 || footer.number_at(3) > kMaxRows)
    return invalid("parquet: {} rows", footer.number_at(3));
  for (const std::string& n : names)
    if (std::none_of(schema.begin(), schema.end(),
                     [&](const ColumnInfo& c) { return c.name == n; }))
      return not_found("no column '{}'", n);
  Columns out;
  const ThriftValue* groups = footer.field(4);
  for (std::size_t c = 0; c < schema.size(); ++c) {
    if (!names.empty() && std::find(names.begin(), names.end(), schema[c].name) == names.end())
      continue;
    ColumnBuilder builder(schema[c]);
    for (std::size_t g = 0; groups && g < groups->items.size(); ++g) {
      const ThriftValue* chunks = groups->items[g].field(1);
      const std::int64_t rows = groups->items[g].number_at(3);
      if (!chunks || chunks->items.size() != schema.size() || rows < 0 ||
          rows > kMaxRows - builder.size())
        return invalid("parquet: row group {} is broken", g);
      TENON_TRY_AT(fmt::format("column '{}', row group {}", schema[c].name, g),
                   read_chunk(file, chunks->items[c], schema[c], rows, builder));
    }
    if (builder.size() != footer.number_at(3))
      return invalid("parquet: column '{}' holds {} rows of {}", schema[c].name, builder.size(),
                     footer.number_at(3));
    out.push_back(std::move(builder).take());
  }
  return out;
}

Result<Columns> read_parquet(const fs::path& path, const std::vector<std::string>& names) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(parse_parquet(file->bytes(), names), [&] { return path.string(); });
}

}  // namespace tenon::dataset
