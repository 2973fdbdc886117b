// Data of tensors: raw bytes, typed fields, external files, sub-byte packing, sparse forms.
#include "tenon/formats/onnx/tensor_reader.h"

#include <charconv>
#include <cstring>

#include "tenon/formats/onnx/wire.h"

namespace tenon::onnx {
namespace {

// Bytes of `count` packed elements in a file.
std::size_t packed_bytes(DType dtype, std::int64_t count) {
  if (bits_of(dtype) >= 8)
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(dtype));
  return (static_cast<std::size_t>(count) * static_cast<std::size_t>(bits_of(dtype)) + 7) / 8;
}

// The k-th element of packed 4- or 2-bit data, lowest bits first; signed types are sign-extended.
std::uint8_t unpack(std::string_view packed, std::size_t k, DType dtype) {
  const unsigned bits = static_cast<unsigned>(bits_of(dtype)), per_byte = 8 / bits;
  const auto byte = static_cast<std::uint8_t>(packed[k / per_byte]);
  auto value = static_cast<std::uint8_t>((byte >> (bits * (k % per_byte))) & ((1u << bits) - 1));
  const bool is_signed = class_of(dtype) == DTypeClass::signed_integer;
  if (is_signed && (value >> (bits - 1)))
    value = static_cast<std::uint8_t>(value | (0xffu << bits));
  return value;
}

Result<Tensor> from_raw(std::string_view bytes, DType dtype, const Dims& dims, std::int64_t count,
                        const std::shared_ptr<const void>& owner) {
  if (dtype == DType::string) return invalid("strings cannot be raw bytes");
  const std::size_t expected = packed_bytes(dtype, count);
  if (bytes.size() != expected)
    return invalid("{} of {} takes {} bytes but {} are given", name(dtype), to_text(dims), expected,
                   bytes.size());
  if (bits_of(dtype) < 8) {
    Tensor t(dtype, dims);
    auto out = t.data<std::uint8_t>();
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = unpack(bytes, k, dtype);
    return t;
  }
  const auto alignment =
      static_cast<std::uintptr_t>(is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype));
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
  if (owner && is_aligned && count > 0)
    return Tensor(dtype, dims, Buffer::borrow(bytes.data(), bytes.size(), owner));
  Tensor t(dtype, dims);
  if (count > 0) std::memcpy(t.raw(), bytes.data(), bytes.size());
  return t;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Tensor> from_external(const TensorProto& t, DType dtype, std::int64_t count,
                             DataFiles& files) {
  std::string_view location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const auto& [key, value] : t.external_data) {
    if (key == "location") location = value;
    const bool is_number = key == "offset" || key == "length";
    const auto number = is_number ? number_of(value) : std::nullopt;
    if (is_number && !number) return invalid("external data: {} '{}' is no number", key, value);
    if (key == "offset") offset = *number;
    if (key == "length") length = *number;
  }
  const auto file = TENON_TRY(files.open(location));
  const std::uint64_t size = file->size(), expected = packed_bytes(dtype, count),
                      wanted = length.value_or(expected);
  if (wanted != expected)
    return invalid("external data: {} of {} takes {} bytes but the length is {}", name(dtype),
                   to_text(t.dims), expected, wanted);
  if (offset > size || wanted > size - offset)
    return invalid("external data: bytes {} to {} lie outside of {}, which has {}", offset,
                   offset + wanted, location, size)
        .with_help("fetch the data file again, whole");
  return from_raw(file->text().substr(offset, wanted), dtype, t.dims, count, file);
}

// Which field of TensorProto holds elements of a type, and how they are coded there.
struct TypedField {
  int number;
  bool is_fixed;  // float and double: fixed width; integers: varints
};

TypedField typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64: return {4, true};
    case DType::f64:
    case DType::c128: return {10, true};
    case DType::i64: return {7, false};
    case DType::u32:
    case DType::u64: return {11, false};
    default: return {5, false};  // int32_data: every smaller type, as numbers or bits
  }
}

void store(std::byte* out, std::uint64_t value, std::size_t size) {
  std::memcpy(out, &value, size);
}

// Writes elements in order; says when there are too many.
class ElementWriter {
 public:
  explicit ElementWriter(Tensor& t)
      : tensor_(t),
        size_(static_cast<std::size_t>(size_of(t.dtype()))),
        left_(t.bytes()),
        out_(t.raw()) {}
  bool fixed(std::string_view bytes) {
    if (bytes.size() > left_) return false;
    std::memcpy(out_, bytes.data(), bytes.size());
    return advance(bytes.size());
  }
  bool integer(std::uint64_t value) {
    const int bits = bits_of(tensor_.dtype());
    if (bits >= 8) {
      if (left_ < size_) return false;
      store(out_, tensor_.dtype() == DType::boolean ? (value != 0) : value, size_);
      return advance(size_);
    }
    const auto byte = static_cast<char>(value & 0xff);  // several small elements in one number
    for (std::size_t k = 0; k < static_cast<std::size_t>(8 / bits) && left_ > 0; ++k) {
      store(out_, unpack({&byte, 1}, k, tensor_.dtype()), 1);
      advance(1);
    }
    return true;
  }
  std::size_t left() const { return left_; }

 private:
  bool advance(std::size_t n) {
    out_ += n;
    left_ -= n;
    return true;
  }
  Tensor& tensor_;
  std::size_t size_, left_;
  std::byte* out_;
};

Result<Tensor> from_typed(const TensorProto& t, DType dtype) {
  // Every element takes at least one byte of the message, so the file bounds the allocation (four
  // small ones may share one).
  const std::int64_t count = num_elements(t.dims);
  if (count > 4 * static_cast<std::int64_t>(t.bytes.size()))
    return invalid("{} of {} has {} elements but no data for them", name(dtype), to_text(t.dims),
                   count);
  Tensor out(dtype, t.dims);
  ElementWriter writer(out);
  const TypedField field = typed_field(dtype);
  WireReader r(t.bytes, "TensorProto");
  bool fits = true;
  while (fits && TENON_TRY(r.next())) {
    if (r.field() != field.number) continue;
    std::string_view data = r.raw();
    if (field.is_fixed) {
      fits = writer.fixed(data);
      continue;
    }
    if (r.type() != WireType::bytes && r.type() != WireType::varint)
      return invalid("data has the wrong wire type");
    std::uint64_t value = 0;
    while (fits && !data.empty()) {
      if (!take_varint(data, value)) return invalid("data is cut off");
      fits = writer.integer(value);
    }
  }
  if (!fits)
    return invalid("{} of {} has {} elements but more data", name(dtype), to_text(t.dims), count);
  if (writer.left())
    return invalid("{} of {} has {} elements but data for {} bytes less", name(dtype),
                   to_text(t.dims), count, writer.left());
  return out;
}

Result<Tensor> from_strings(const TensorProto& t, std::int64_t count) {
  std::vector<std::string_view> texts;
  WireReader r(t.bytes, "TensorProto");
  while (TENON_TRY(r.next()))
    if (r.field() == 6) texts.push_back(TENON_TRY(r.text()));
  if (static_cast<std::int64_t>(texts.size()) != count)
    return invalid("{} strings are given for {} elements", texts.size(), count);
  Tensor out(DType::string, t.dims);
  for (std::size_t i = 0; i < texts.size(); ++i) out.data<std::string>()[i] = texts[i];
  return out;
}

Result<Tensor> read(const TensorProto& t, DataFiles& files) {
  const auto dtype = dtype_of_onnx(t.data_type);
  if (!dtype) return invalid("the element type is the unknown number {}", t.data_type);
  const std::int64_t count = TENON_TRY(checked_num_elements(t.dims));
  if (count > 0 && count > (std::int64_t{1} << 60) / size_of(*dtype))
    return invalid("{} of {} has too many elements", name(*dtype), to_text(t.dims));
  if (t.is_external) return from_external(t, *dtype, count, files);
  if (*dtype == DType::string) return from_strings(t, count);
  if (t.raw_data) return from_raw(*t.raw_data, *dtype, t.dims, count, files.owner());
  return from_typed(t, *dtype);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> DataFiles::open(std::string_view location) {
  if (auto it = open_.find(location); it != open_.end()) return it->second;
  if (folder_.empty())
    return invalid("external data '{}' is named but the model has no folder", location);
  const auto path = TENON_TRY_AT("external data", safe_path(folder_, location));
  auto file = MappedFile::open(path);
  if (!file.ok()) return std::move(file).error().with_help("put the data file beside the model");
  open_.emplace(location, *file);
  return *file;
}

std::vector<std::string> DataFiles::opened() const {
  std::vector<std::string> names;
  for (const auto& [location, file] : open_) names.push_back(location);
  return names;
}

Result<Tensor> read_tensor(const TensorProto& t, DataFiles& files) {
  return placed(read(t, files), [&] { return fmt::format("tensor '{}'", t.name); });
}

Result<Tensor> read_sparse_tensor(const SparseTensorProto& t, DataFiles& files) {
  const std::string place = fmt::format("sparse tensor '{}'", t.values.name);
  const Tensor values = TENON_TRY(read_tensor(t.values, files)),
               indices = TENON_TRY(read_tensor(t.indices, files));
  const std::int64_t count = TENON_TRY_AT(place, checked_num_elements(t.dims));
  if (values.dtype() == DType::string || indices.dtype() != DType::i64)
    return invalid("values are {} and indices {}", name(values.dtype()), name(indices.dtype()))
        .at(place);
  if (count > kMaxDenseBytes / size_of(values.dtype()))
    return unsupported("the dense form of {} takes more than {} bytes", to_text(t.dims),
                       kMaxDenseBytes)
        .at(place);
  const auto n = static_cast<std::size_t>(values.count()), rank = t.dims.size();
  const bool is_linear = indices.ndim() == 1;
  if (static_cast<std::size_t>(indices.count()) != (is_linear ? n : n * rank))
    return invalid("{} indices are given for {} values", indices.count(), n).at(place);
  Tensor dense = Tensor::zeros(values.dtype(), t.dims);
  const Dims strides = row_major_strides(t.dims);
  const auto index = indices.data<std::int64_t>();
  const auto size = static_cast<std::size_t>(size_of(values.dtype()));
  for (std::size_t k = 0; k < n; ++k) {
    std::int64_t at = is_linear ? index[k] : 0;
    for (std::size_t a = 0; !is_linear && a < rank; ++a) {
      const std::int64_t i = index[k * rank + a];
      if (i < 0 || i >= t.dims[a])
        return invalid("index {} lies outside of axis {} of {}", i, a, to_text(t.dims)).at(place);
      at += i * strides[a];
    }
    if (at < 0 || at >= count)
      return invalid("index {} lies outside of {}", at, to_text(t.dims)).at(place);
    std::memcpy(dense.raw() + static_cast<std::size_t>(at) * size, values.raw() + k * size, size);
  }
  return dense;
}

}  // namespace tenon::onnx
