// safetensors by the description in its repository's README: u64 header size, JSON, data.
#include "tenon/base/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "tenon/base/file.h"
#include "tenon/base/json.h"

namespace tenon {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;

struct TypeRow {
  std::string_view stored_as;
  DType dtype;
};
// Writing takes the first row of a type.
constexpr TypeRow kTypes[] = {{"F64", DType::f64},
                              {"F32", DType::f32},
                              {"F16", DType::f16},
                              {"BF16", DType::bf16},
                              {"F8_E4M3", DType::f8e4m3fn},
                              {"F8_E5M2", DType::f8e5m2},
                              {"F8_E8M0", DType::f8e8m0},
                              {"F4", DType::f4e2m1},
                              {"I64", DType::i64},
                              {"I32", DType::i32},
                              {"I16", DType::i16},
                              {"I8", DType::i8},
                              {"U64", DType::u64},
                              {"U32", DType::u32},
                              {"U16", DType::u16},
                              {"U8", DType::u8},
                              {"BOOL", DType::boolean},
                              {"C64", DType::c64},
                              {"F8_E4M3FNUZ", DType::f8e4m3fnuz},
                              {"F8_E5M2FNUZ", DType::f8e5m2fnuz}};

const TypeRow* row_named(std::string_view stored_as) {
  for (const TypeRow& r : kTypes)
    if (r.stored_as == stored_as) return &r;
  return nullptr;
}

std::string_view stored_name(DType dtype) {
  for (const TypeRow& r : kTypes)
    if (r.dtype == dtype) return r.stored_as;
  return {};
}

// Types without a name of their own in files that every reader knows: stored as this one.
DType carrier_of(DType dtype) {
  switch (dtype) {
    case DType::i4:
    case DType::i2: return DType::i8;
    case DType::u4:
    case DType::u2:
    case DType::string:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2fnuz: return DType::u8;
    case DType::c128: return DType::f64;
    case DType::undefined:
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::boolean:
    case DType::c64: return dtype;
  }
  return dtype;
}

Result<std::uint64_t> stored_bytes(const SafetensorsEntry& e, int bits) {
  const auto count = static_cast<std::uint64_t>(TENON_TRY(checked_num_elements(e.dims)));
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(bits), &total))
    return invalid("dims {} are too large", to_text(e.dims));
  if (total % 8) return invalid("{} elements of {} bits do not fill whole bytes", count, bits);
  return total / 8;
}

Result<SafetensorsEntry> read_entry(const std::string& name, const Json& v,
                                    std::uint64_t data_bytes) {
  SafetensorsEntry e;
  e.name = name;
  TENON_TRY(check_keys(v, {"dtype", "shape", "data_offsets"}, ""));
  e.stored_as = TENON_TRY(json_get<std::string>(v, "dtype"));
  e.dims = TENON_TRY(json_get<Dims>(v, "shape"));
  const auto offsets = TENON_TRY(json_get<std::vector<std::int64_t>>(v, "data_offsets"));
  const TypeRow* row = row_named(e.stored_as);
  if (!row) return unsupported("type '{}'", e.stored_as);
  e.dtype = row->dtype;
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] ||
      static_cast<std::uint64_t>(offsets[1]) > data_bytes)
    return invalid("offsets {} do not lie within the {} bytes of data", to_text(offsets),
                   data_bytes);
  e.begin = static_cast<std::uint64_t>(offsets[0]);
  e.end = static_cast<std::uint64_t>(offsets[1]);
  const auto wanted = TENON_TRY(stored_bytes(e, bits_of(e.dtype)));
  if (wanted != e.end - e.begin)
    return invalid("{} of {} need {} bytes but the offsets span {}", to_text(e.dims), e.stored_as,
                   wanted, e.end - e.begin);
  return e;
}

Status check_layout(std::vector<SafetensorsEntry> entries, std::uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const SafetensorsEntry& e : entries) {
    if (e.begin != at)
      return invalid("tensor '{}' begins at byte {} but {} at byte {}", e.name, e.begin,
                     e.begin < at ? "the one before it ends" : "the data before it ends", at);
    at = e.end;
  }
  if (at != data_bytes) return invalid("{} bytes of data belong to no tensor", data_bytes - at);
  return {};
}

// "string [2, 3]": the true type and dims of a tensor that is stored under another type.
Status apply_true_type(SafetensorsEntry& e, const std::string& text) {
  const auto space = text.find(' ');
  const auto dtype = dtype_named(std::string_view(text).substr(0, space));
  const auto dims = parse_json(space == text.npos ? "" : std::string_view(text).substr(space + 1));
  if (!dtype || !dims.ok())
    return invalid("metadata of tensor '{}': '{}' is no type and dims", e.name, text);
  Dims true_dims = TENON_TRY(json_as<Dims>(*dims, "dims"));
  const auto count = TENON_TRY(checked_num_elements(true_dims));
  const auto stored = TENON_TRY(checked_num_elements(e.dims));
  const bool text_fits = *dtype == DType::string && e.dtype == DType::u8 && count <= stored + 1;
  const bool number_fits = *dtype != DType::string && carrier_of(*dtype) == e.dtype &&
                           stored == count * (*dtype == DType::c128 ? 2 : 1);
  if (!text_fits && !number_fits)
    return invalid("metadata of tensor '{}': {} cannot be stored as {} {}", e.name, text,
                   e.stored_as, to_text(e.dims));
  e.dtype = *dtype;
  e.dims = std::move(true_dims);
  return {};
}

Result<Tensor> unpack_text(std::span<const std::byte> bytes, const SafetensorsEntry& e) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto list =
      TENON_TRY(json_as<std::vector<std::string>>(TENON_TRY(parse_json(text)), e.name));
  if (static_cast<std::int64_t>(list.size()) != num_elements(e.dims))
    return invalid("tensor '{}' holds {} strings for dims {}", e.name, list.size(),
                   to_text(e.dims));
  return Tensor::of<std::string>(e.dims, list);
}

Tensor unpack_halves(std::span<const std::byte> bytes, const SafetensorsEntry& e) {
  Tensor t(e.dtype, e.dims);
  for (std::size_t i = 0; i < t.bytes(); ++i)
    t.raw()[i] = (bytes[i / 2] >> (i % 2 ? 4 : 0)) & std::byte{15};
  return t;
}

struct Piece {  // one tensor as it goes into the file
  std::string name;
  std::string_view stored_as;
  Dims dims;
  int alignment = 1;
  Tensor tensor;      // its bytes, or
  std::string owned;  // bytes made for the file
  bool is_owned = false;
  std::size_t bytes() const { return is_owned ? owned.size() : tensor.bytes(); }
};

std::string pack_halves(const Tensor& t) {
  std::string out(t.bytes() / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>(static_cast<int>(t.raw()[2 * i] & std::byte{15}) |
                               static_cast<int>(t.raw()[2 * i + 1]) << 4);
  return out;
}

Result<Piece> make_piece(const std::string& name, const Tensor& t,
                         std::map<std::string, std::string>& metadata) {
  if (!t.defined()) return invalid("tensor '{}' has no content", name);
  const DType carrier = carrier_of(t.dtype());
  Piece p{name, stored_name(carrier), t.dims(), size_of(carrier), t, {}, false};
  if (carrier != t.dtype())
    metadata["tenon." + name] = fmt::format("{} {}", tenon::name(t.dtype()), to_text(t.dims()));
  if (t.dtype() == DType::c128) p.dims.push_back(2);
  if (t.dtype() == DType::f4e2m1) {
    if (t.count() % 2)
      return unsupported("tensor '{}': {} elements of 4 bits do not fill whole bytes", name,
                         t.count());
    p.owned = pack_halves(t);
    p.is_owned = true;
  } else if (t.dtype() == DType::string) {
    Json list = Json::array();
    for (const std::string& s : t.data<std::string>()) list.push_back(s);
    p.owned = write_json(list);
    p.is_owned = true;
    p.dims = {static_cast<std::int64_t>(p.owned.size())};
    if (parse_json(p.owned).value() != list)
      return unsupported("tensor '{}': a string is not valid UTF-8", name);
  }
  return p;
}

std::string make_header(const std::vector<Piece>& pieces,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const Piece& p : pieces) {
    header[p.name] = {
        {"dtype", p.stored_as}, {"shape", p.dims}, {"data_offsets", {at, at + p.bytes()}}};
    at += p.bytes();
  }
  std::string text = write_json(header);
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');
  return text;
}

}  // namespace

Result<Safetensors> Safetensors::open(const std::filesystem::path& path) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(parse(file->bytes(), file), [&] { return path.string(); });
}

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner) {
  std::uint64_t length = 0;
  if (bytes.size() < 8) return invalid("not a safetensors file: {} bytes", bytes.size());
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeader || length > bytes.size() - 8)
    return invalid("not a safetensors file: a header of {} bytes in a file of {}", length,
                   bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  if (!text.starts_with('{'))
    return invalid("not a safetensors file: the header does not begin with a brace");
  const Json header = TENON_TRY_AT(
      "safetensors header", parse_json(text, "", {.max_depth = 8, .refuse_duplicate_keys = true}));
  Safetensors file;
  file.data_ = bytes.subspan(8 + length);
  file.owner_ = std::move(owner);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) return invalid("safetensors: __metadata__ is {}", json_kind(value));
      for (const auto& [key, item] : value.items())
        file.metadata_[key] = TENON_TRY(json_as<std::string>(item, key));
      continue;
    }
    file.entries_.push_back(
        TENON_TRY_AT(fmt::format("tensor '{}'", name), read_entry(name, value, file.data_.size())));
  }
  TENON_TRY(check_layout(file.entries_, file.data_.size()));
  for (SafetensorsEntry& e : file.entries_) {
    const auto found = file.metadata_.find("tenon." + e.name);
    if (found != file.metadata_.end()) TENON_TRY(apply_true_type(e, found->second));
  }
  return file;
}

const SafetensorsEntry* Safetensors::find(std::string_view name) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const SafetensorsEntry& e, std::string_view n) { return e.name < n; });
  return at == entries_.end() || at->name != name ? nullptr : &*at;
}

Result<Tensor> Safetensors::tensor(const SafetensorsEntry& e) const {
  const auto bytes = data_.subspan(e.begin, e.end - e.begin);
  if (e.dtype == DType::string) return unpack_text(bytes, e);
  if (e.stored_as == "F4") return unpack_halves(bytes, e);
  const auto alignment =
      static_cast<std::uintptr_t>(is_complex(e.dtype) ? size_of(e.dtype) / 2 : size_of(e.dtype));
  if (owner_ && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0)
    return Tensor(e.dtype, e.dims, Buffer::borrow(bytes.data(), bytes.size(), owner_));
  Tensor t(e.dtype, e.dims);
  if (!bytes.empty()) std::memcpy(t.raw(), bytes.data(), bytes.size());
  return t;
}

Result<Tensor> Safetensors::tensor(std::string_view name) const {
  const SafetensorsEntry* e = find(name);
  if (!e) return not_found("no tensor '{}' in the file", name);
  return tensor(*e);
}

Status write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                         const std::map<std::string, std::string>& metadata) {
  std::map<std::string, std::string> all = metadata;
  std::vector<Piece> pieces;
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") return invalid("a tensor cannot be named '__metadata__'");
    if (!names.insert(name).second) return invalid("two tensors are named '{}'", name);
    pieces.push_back(TENON_TRY(make_piece(name, tensor, all)));
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.alignment != b.alignment ? a.alignment > b.alignment : a.name < b.name;
  });
  const std::string header = make_header(pieces, all);
  if (header.size() > kMaxHeader)
    return invalid("a header of {} bytes is over the format's limit", header.size());
  AtomicFile file = TENON_TRY(AtomicFile::create(path));
  const std::uint64_t length = header.size();
  TENON_TRY(file.write(std::string_view(reinterpret_cast<const char*>(&length), 8)));
  TENON_TRY(file.write(header));
  for (const Piece& p : pieces)
    TENON_TRY(p.is_owned ? file.write(p.owned)
                         : file.write(std::span(p.tensor.raw(), p.tensor.bytes())));
  return file.commit();
}

}  // namespace tenon
