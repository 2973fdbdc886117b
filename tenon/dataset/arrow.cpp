// Flat Arrow columns from the IPC format, file or stream, by the format's own description
// (Arrow Columnar Format 1.5).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "tenon/base/dtype.h"
#include "tenon/base/file.h"
#include "tenon/dataset/arrow_message_internal.h"
#include "tenon/dataset/table.h"
#include "tenon/dataset/zstd_internal.h"

namespace tenon::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxRows = std::int64_t{1} << 26;
constexpr std::int64_t kMaxBuffer = std::int64_t{1} << 30;
constexpr std::int64_t kMaxColumns = 1 << 14;

enum TypeKind {
  kInt = 2,
  kFloating = 3,
  kUtf8 = 5,
  kBool = 6,
  kDate = 8,
  kTimestamp = 10,
  kLargeUtf8 = 20
};

// How the values of one column, or of a dictionary, are stored.
struct Layout {
  int kind = 0;
  int bits = 0;
  bool is_signed = true;
  double time_factor = 0;  // to microseconds
  bool is_text() const { return kind == kUtf8 || kind == kLargeUtf8; }
};

struct FieldInfo {
  std::string name;
  Layout values;
  Layout indices;  // kind 0: not dictionary-encoded
  std::int64_t dictionary = 0;
};

Result<Layout> int_layout(Flat type) {
  const int bits = type.number<std::int32_t>(0);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return invalid("arrow: integers of {} bits", bits);
  return Layout{kInt, bits, type.number<std::uint8_t>(1) != 0};
}

Result<Layout> read_layout(int kind, Flat type) {
  switch (kind) {
    case kInt: return int_layout(type);
    case kFloating: {
      const int precision = type.number<std::int16_t>(0);
      if (precision < 0 || precision > 2)
        return invalid("arrow: floats of precision {}", precision);
      return Layout{kFloating, 16 << precision};
    }
    case kUtf8: return Layout{kUtf8, 32};
    case kLargeUtf8: return Layout{kLargeUtf8, 64};
    case kBool: return Layout{kBool, 1};
    case kDate:
      return type.number<std::int16_t>(0, 1) == 0 ? Layout{kDate, 32, true, 86'400e6}
                                                  : Layout{kDate, 64, true, 1e3};
    case kTimestamp: {
      static constexpr double kFactors[] = {1e6, 1e3, 1, 1e-3};
      const int unit = type.number<std::int16_t>(0);
      if (unit < 0 || unit > 3) return invalid("arrow: time unit {}", unit);
      return Layout{kTimestamp, 64, true, kFactors[unit]};
    }
    default: return unsupported("arrow: a column of type {}", kind);
  }
}

Result<std::vector<FieldInfo>> read_schema(Flat schema) {
  if (schema.number<std::int16_t>(0) != 0) return unsupported("arrow: big-endian data");
  std::vector<FieldInfo> out;
  const std::size_t count = schema.count(1, 4);
  if (count > kMaxColumns) return invalid("arrow: {} columns", count);
  for (std::size_t i = 0; i < count; ++i) {
    const Flat field = schema.element(1, i);
    FieldInfo info;
    info.name = field.text(0);
    const auto place = [&] { return fmt::format("column '{}'", info.name); };
    info.values = TENON_TRY_AT(place(), read_layout(field.number<std::uint8_t>(2), field.table(3)));
    if (const Flat dictionary = field.table(4); dictionary.present()) {
      info.dictionary = dictionary.number<std::int64_t>(0);
      // Absent: 32 bits with sign.
      const Flat type = dictionary.table(1);
      info.indices = type.present() ? TENON_TRY_AT(place(), int_layout(type)) : Layout{kInt, 32};
    }
    out.push_back(std::move(info));
  }
  return out;
}

/// Walks the nodes and buffers of one record batch.
class Body {
 public:
  Body(Flat batch, Bytes body) : batch_(batch), body_(body) {
    nodes_ = batch.count(1, 16);
    buffers_ = batch.count(2, 16);
    if (const Flat compression = batch.table(3); compression.present())
      codec_ = compression.number<std::int8_t>(0);
  }

  Result<std::size_t> next_rows(std::int64_t expected) {
    if (node_ >= nodes_) return invalid("arrow: a batch without all of its columns");
    const std::int64_t rows = batch_.pair(1, node_++, 0);
    if (rows != expected || rows < 0 || rows > kMaxRows)
      return invalid("arrow: a column of {} rows in a batch of {}", rows, expected);
    return static_cast<std::size_t>(rows);
  }
  /// The next buffer, unpacked into `storage` if it is compressed.
  Result<Bytes> next_buffer(std::string& storage) {
    if (buffer_ >= buffers_) return invalid("arrow: a batch without all of its buffers");
    const std::int64_t at = batch_.pair(2, buffer_, 0), size = batch_.pair(2, buffer_, 1);
    ++buffer_;
    const auto whole = static_cast<std::int64_t>(body_.size());
    if (at < 0 || size < 0 || at > whole || size > whole - at)
      return invalid("arrow: a buffer of {} bytes at {} in a body of {}", size, at, whole);
    const Bytes b = body_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
    return codec_ < 0 || b.empty() ? b : unpacked(b, storage);
  }

 private:
  Result<Bytes> unpacked(Bytes b, std::string& storage) const {
    if (codec_ != 1) return unsupported("arrow: compression codec {}", codec_);
    if (b.size() < 8) return invalid("arrow: a compressed buffer is cut off");
    const auto size = load<std::int64_t>(b, 0);
    b = b.subspan(8);
    if (size == -1) return b;  // stored as it is
    if (size < 0 || size > kMaxBuffer) return invalid("arrow: a buffer of {} bytes", size);
    storage = TENON_TRY(unpack_zstd(b, static_cast<std::size_t>(size)));
    return std::as_bytes(std::span(storage));
  }
  Flat batch_;
  Bytes body_;
  std::size_t nodes_ = 0, buffers_ = 0, node_ = 0, buffer_ = 0;
  int codec_ = -1;
};

bool bit(Bytes b, std::size_t i) { return (static_cast<unsigned>(b[i / 8]) >> (i % 8) & 1) != 0; }

template <class Signed, class Unsigned>
double integer_of(bool is_signed, Bytes b, std::size_t i) {
  return is_signed ? static_cast<double>(load<Signed>(b, sizeof(Signed) * i))
                   : static_cast<double>(load<Unsigned>(b, sizeof(Signed) * i));
}

double integer_at(const Layout& l, Bytes b, std::size_t i) {
  switch (l.bits) {
    case 8: return integer_of<std::int8_t, std::uint8_t>(l.is_signed, b, i);
    case 16: return integer_of<std::int16_t, std::uint16_t>(l.is_signed, b, i);
    case 32: return integer_of<std::int32_t, std::uint32_t>(l.is_signed, b, i);
    default: return integer_of<std::int64_t, std::uint64_t>(l.is_signed, b, i);
  }
}

double number_at(const Layout& l, Bytes b, std::size_t i) {
  if (l.kind == kBool) return bit(b, i);
  if (l.kind != kFloating) return integer_at(l, b, i);
  if (l.bits == 16) return f16_to_float(load<std::uint16_t>(b, 2 * i));
  return l.bits == 32 ? load<float>(b, 4 * i) : load<double>(b, 8 * i);
}

// Values with missing ones: numbers as NaN, texts as no value.
struct Values {
  std::vector<double> numbers;
  std::vector<std::optional<std::string>> texts;
};

Result<std::vector<std::optional<std::string>>> read_texts(const Layout& l, Bytes offsets,
                                                           Bytes data, Bytes valid,
                                                           std::size_t rows) {
  const std::size_t width = static_cast<std::size_t>(l.bits / 8);
  std::vector<std::optional<std::string>> out;
  if (rows == 0) return out;
  if (offsets.size() / width < rows + 1) return invalid("arrow: offsets of texts are cut off");
  const auto at = [&](std::size_t i) {
    return width == 4 ? load<std::int32_t>(offsets, 4 * i) : load<std::int64_t>(offsets, 8 * i);
  };
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t from = at(i), to = at(i + 1);
    if (from < 0 || to < from || to > static_cast<std::int64_t>(data.size()))
      return invalid("arrow: a text from {} to {} of {} bytes", from, to, data.size());
    if (!valid.empty() && !bit(valid, i))
      out.emplace_back();
    else
      out.emplace_back(std::string(reinterpret_cast<const char*>(data.data()) + from,
                                   static_cast<std::size_t>(to - from)));
  }
  return out;
}

Result<Values> read_values(const Layout& l, Body& body, std::int64_t expected) {
  const std::size_t rows = TENON_TRY(body.next_rows(expected));
  std::string storage[3];
  const Bytes valid = TENON_TRY(body.next_buffer(storage[0]));
  if (!valid.empty() && valid.size() < (rows + 7) / 8)
    return invalid("arrow: marks of missing values are cut off");
  const Bytes data = TENON_TRY(body.next_buffer(storage[1]));
  Values out;
  if (l.is_text()) {
    const Bytes texts = TENON_TRY(body.next_buffer(storage[2]));
    out.texts = TENON_TRY(read_texts(l, data, texts, valid, rows));
    return out;
  }
  if (data.size() < (rows * static_cast<std::size_t>(l.bits) + 7) / 8)
    return invalid("arrow: {} values are cut off", rows);
  out.numbers.reserve(rows);
  const double factor = l.time_factor > 0 ? l.time_factor : 1;
  for (std::size_t i = 0; i < rows; ++i)
    out.numbers.push_back(valid.empty() || bit(valid, i) ? number_at(l, data, i) * factor
                                                         : std::nan(""));
  return out;
}

class ArrowReader {
 public:
  Result<Columns> read(Bytes file, const std::vector<std::string>& names) {
    Bytes rest = TENON_TRY(messages_of(file));
    while (true) {
      const auto more = TENON_TRY(message(rest, names));
      if (!more) break;
    }
    if (!started_) return invalid("arrow: no schema");
    Columns out;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (wanted(fields_[i].name, names)) out.push_back(std::move(columns_[i]));
    return out;
  }

 private:
  static bool wanted(const std::string& name, const std::vector<std::string>& names) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  }

  // A file is a stream between two magic words, with a footer that only repeats where things are.
  static Result<Bytes> messages_of(Bytes file) {
    if (file.size() < 8 || std::memcmp(file.data(), "ARROW1", 6) != 0) {
      if (file.size() >= 8 && load<std::uint32_t>(file, 0) == 0xffffffff) return file;
      return invalid("not an Arrow file");
    }
    if (file.size() < 18 || std::memcmp(file.data() + file.size() - 6, "ARROW1", 6) != 0)
      return invalid("arrow: the file is cut off");
    const std::size_t footer = load<std::uint32_t>(file, file.size() - 10);
    if (footer > file.size() - 18)
      return invalid("arrow: a footer of {} bytes in a file of {}", footer, file.size());
    return file.subspan(8, file.size() - 18 - footer);
  }

  // Reads one message; false at the end.
  Result<bool> message(Bytes& rest, const std::vector<std::string>& names) {
    if (rest.empty()) return false;
    const auto cut = [] { return invalid("arrow: a message is cut off"); };
    if (rest.size() >= 4 && load<std::uint32_t>(rest, 0) == 0xffffffff) rest = rest.subspan(4);
    if (rest.size() < 4) return cut();
    const std::size_t length = load<std::uint32_t>(rest, 0);
    rest = rest.subspan(4);
    if (length == 0) return false;
    if (length > rest.size()) return cut();
    const Flat head = Flat::root(rest.first(length));
    rest = rest.subspan(length);
    const auto body = head.number<std::int64_t>(3);
    if (body < 0 || body > static_cast<std::int64_t>(rest.size())) return cut();
    const Bytes content = rest.first(static_cast<std::size_t>(body));
    rest = rest.subspan(std::min(rest.size(), (content.size() + 7) / 8 * 8));
    const Flat table = head.table(2);
    switch (head.number<std::uint8_t>(1)) {
      case 1: TENON_TRY(start(table, names)); break;
      case 2: TENON_TRY(add_dictionary(table, content)); break;
      case 3: TENON_TRY(add_batch(table, content, names)); break;
      default: break;
    }
    return true;
  }

  Status start(Flat schema, const std::vector<std::string>& names) {
    if (started_) return invalid("arrow: a second schema");
    started_ = true;
    fields_ = TENON_TRY(read_schema(schema));
    for (const std::string& n : names)
      if (std::none_of(fields_.begin(), fields_.end(), [&](const auto& f) { return f.name == n; }))
        return not_found("no column '{}'", n);
    for (const FieldInfo& f : fields_) {
      Column c;
      c.name = f.name;
      c.is_text = f.values.is_text();
      c.is_time = f.values.time_factor > 0;
      columns_.push_back(std::move(c));
    }
    known_.resize(fields_.size());
    return {};
  }

  Status add_dictionary(Flat message, Bytes content) {
    const auto id = message.number<std::int64_t>(0);
    const auto field = std::find_if(fields_.begin(), fields_.end(), [&](const FieldInfo& f) {
      return f.indices.kind && f.dictionary == id;
    });
    if (field == fields_.end()) return {};
    const Flat batch = message.table(1);
    Body body(batch, content);
    Values values = TENON_TRY(read_values(field->values, body, batch.number<std::int64_t>(0)));
    Values& all = dictionaries_[id];
    if (message.number<std::uint8_t>(2) == 0) all = {};
    std::move(values.numbers.begin(), values.numbers.end(), std::back_inserter(all.numbers));
    std::move(values.texts.begin(), values.texts.end(), std::back_inserter(all.texts));
    return {};
  }

  Status add_batch(Flat batch, Bytes content, const std::vector<std::string>& names) {
    const auto rows = batch.number<std::int64_t>(0);
    if (rows < 0 || rows > kMaxRows || (!columns_.empty() && rows > kMaxRows - rows_))
      return invalid("arrow: a batch of {} rows", rows);
    rows_ += rows;
    Body body(batch, content);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const FieldInfo& f = fields_[i];
      const auto place = [&] { return fmt::format("column '{}'", f.name); };
      const Values v =
          TENON_TRY_AT(place(), read_values(f.indices.kind ? f.indices : f.values, body, rows));
      if (wanted(f.name, names)) TENON_TRY_AT(place(), append(i, v));
    }
    return {};
  }

  Status append(std::size_t i, const Values& v) {
    if (fields_[i].indices.kind) return append_indices(i, v.numbers);
    Column& c = columns_[i];
    c.numbers.insert(c.numbers.end(), v.numbers.begin(), v.numbers.end());
    for (const auto& text : v.texts) c.codes.push_back(code_of(i, text));
    return {};
  }

  Status append_indices(std::size_t i, const std::vector<double>& indices) {
    Column& c = columns_[i];
    const Values& dictionary = dictionaries_[fields_[i].dictionary];
    const std::size_t size = c.is_text ? dictionary.texts.size() : dictionary.numbers.size();
    std::vector<std::int32_t> codes;
    for (const auto& text : dictionary.texts) codes.push_back(code_of(i, text));
    for (const double index : indices) {
      const bool missing = std::isnan(index);
      if (!missing && !(index >= 0 && index < static_cast<double>(size)))
        return invalid("arrow: number {} in a dictionary of {}", index, size);
      const std::size_t at = missing ? 0 : static_cast<std::size_t>(index);
      if (c.is_text)
        c.codes.push_back(missing ? -1 : codes[at]);
      else
        c.numbers.push_back(missing ? index : dictionary.numbers[at]);
    }
    return {};
  }

  std::int32_t code_of(std::size_t i, const std::optional<std::string>& text) {
    if (!text) return -1;
    std::vector<std::string>& texts = columns_[i].texts;
    const auto [at, fresh] = known_[i].try_emplace(*text, static_cast<std::int32_t>(texts.size()));
    if (fresh) texts.push_back(*text);
    return at->second;
  }

  bool started_ = false;
  std::int64_t rows_ = 0;
  std::vector<FieldInfo> fields_;
  Columns columns_;
  std::vector<std::map<std::string, std::int32_t>> known_;
  std::map<std::int64_t, Values> dictionaries_;
};

}  // namespace

Result<Columns> parse_arrow(Bytes file, const std::vector<std::string>& names) {
  return ArrowReader().read(file, names);
}

Result<Columns> read_arrow(const fs::path& path, const std::vector<std::string>& names) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(parse_arrow(file->bytes(), names), [&] { return path.string(); });
}

}  // namespace tenon::dataset
