// The npy header is a Python dict literal; a small strict reader takes the three keys it may hold.
#include "tenon/base/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "tenon/base/file.h"
#include "tenon/base/unicode.h"
#include "tenon/base/zip.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 1 << 20;
constexpr std::size_t kMaxDims = 64;

struct Header {
  std::string descr;
  bool fortran = false;
  Dims dims;
  std::size_t data_at = 0;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<Header> read() {
    Header h;
    unsigned seen = 0;
    if (!take('{')) return broken("an opening brace");
    while (!take('}')) {
      const std::string key = TENON_TRY(string());
      if (!take(':')) return broken("a colon");
      unsigned bit = 0;
      if (key == "descr") {
        if (peek() == '[') return unsupported("npy: arrays of records are not read");
        h.descr = TENON_TRY(string());
        bit = 1;
      } else if (key == "fortran_order") {
        h.fortran = TENON_TRY(boolean());
        bit = 2;
      } else if (key == "shape") {
        h.dims = TENON_TRY(tuple());
        bit = 4;
      } else {
        return invalid("npy header: unknown key '{}'", key);
      }
      if (seen & bit) return invalid("npy header: key '{}' stands twice", key);
      seen |= bit;
      if (!take(',') && peek() != '}') return broken("a comma");
    }
    if (seen != 7) return invalid("npy header: descr, fortran_order and shape are needed");
    if (peek() != '\0') return broken("the end");
    return h;
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Error broken(std::string_view wanted) const {
    return invalid("npy header: {} expected at byte {}", wanted, at_);
  }
  Result<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return broken("a string");
    const auto end = text_.find(quote, at_ + 1);
    if (end == text_.npos) return broken("a closing quote");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  Result<bool> boolean() {
    peek();
    for (bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    return broken("True or False");
  }
  Result<Dims> tuple() {
    if (!take('(')) return broken("a tuple");
    Dims dims;
    while (!take(')')) {
      peek();
      std::int64_t n = 0;
      const char* end = text_.data() + text_.size();
      const auto [stop, code] = std::from_chars(text_.data() + at_, end, n);
      if (code != std::errc() || n < 0) return broken("a size");
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      dims.push_back(n);
      if (dims.size() > kMaxDims) return invalid("npy header: more than {} dims", kMaxDims);
      if (!take(',') && peek() != ')') return broken("a comma");
    }
    return dims;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Result<Header> read_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 10)
    return invalid("not an npy file: the magic bytes are missing");
  const int major = static_cast<unsigned char>(text[6]),
            minor = static_cast<unsigned char>(text[7]);
  if (major < 1 || major > 3) return unsupported("npy version {}.{}", major, minor);
  std::uint32_t length = 0;
  const std::size_t prefix = major == 1 ? 10 : 12;
  if (text.size() < prefix) return invalid("npy header is cut off");
  std::memcpy(&length, text.data() + 8, major == 1 ? 2 : 4);
  if (length > kMaxHeader)
    return invalid("npy header of {} bytes is over the limit of {}", length, kMaxHeader);
  if (length > text.size() - prefix) return invalid("npy header is cut off");
  Header h = TENON_TRY(HeaderReader(text.substr(prefix, length)).read());
  h.data_at = prefix + length;
  return h;
}

struct Element {
  DType dtype = DType::undefined;
  std::size_t bytes = 0;  // in the file
  std::size_t swap = 0;   // width of what byte order applies to
  bool big_endian = false;
  char text = 0;  // 'U' or 'S'
};

std::optional<DType> plain_type(char kind, std::size_t bytes) {
  struct Row {
    char kind;
    std::size_t bytes;
    DType dtype;
  };
  static constexpr Row kRows[] = {
      {'b', 1, DType::boolean}, {'i', 1, DType::i8},    {'i', 2, DType::i16},  {'i', 4, DType::i32},
      {'i', 8, DType::i64},     {'u', 1, DType::u8},    {'u', 2, DType::u16},  {'u', 4, DType::u32},
      {'u', 8, DType::u64},     {'f', 2, DType::f16},   {'f', 4, DType::f32},  {'f', 8, DType::f64},
      {'c', 8, DType::c64},     {'c', 16, DType::c128}, {'V', 2, DType::bf16}, {'V', 1, DType::u8}};
  for (const Row& r : kRows)
    if (r.kind == kind && r.bytes == bytes) return r.dtype;
  return std::nullopt;
}

Result<Element> read_descr(std::string_view descr) {
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return descr == "|O" || descr == "O" ? unsupported("npy: arrays of Python objects are not read")
                                         : invalid("npy: '{}' is no element type", descr);
  Element e;
  std::size_t n = 0;
  const auto [stop, code] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), n);
  if (code != std::errc() || stop != descr.data() + descr.size() || n > (1u << 30))
    return invalid("npy: '{}' is no element type", descr);
  e.big_endian = descr[0] == '>';
  if (descr[1] == 'U' || descr[1] == 'S') {
    e.text = descr[1];
    e.dtype = DType::string;
    e.bytes = descr[1] == 'U' ? 4 * n : n;
    return e;
  }
  const auto dtype = plain_type(descr[1], n);
  if (!dtype) return unsupported("npy: element type '{}'", descr);
  e.dtype = *dtype;
  e.bytes = n;
  e.swap = is_complex(*dtype) ? n / 2 : n;
  return e;
}

Result<Tensor> read_strings(std::span<const std::byte> data, const Element& e, const Dims& dims) {
  Tensor t(DType::string, dims);
  auto out = t.data<std::string>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::byte* p = data.data() + i * e.bytes;
    if (e.text == 'S') {
      out[i].assign(reinterpret_cast<const char*>(p), e.bytes);
      while (!out[i].empty() && out[i].back() == '\0') out[i].pop_back();
      continue;
    }
    std::size_t length = e.bytes / 4;
    const auto code_at = [&](std::size_t k) {
      std::uint32_t c;
      std::memcpy(&c, p + 4 * k, 4);
      return e.big_endian ? __builtin_bswap32(c) : c;
    };
    while (length > 0 && code_at(length - 1) == 0) --length;
    for (std::size_t k = 0; k < length; ++k)
      if (!append_utf8(code_at(k), out[i]))
        return invalid("npy: element {} is not valid Unicode", i);
  }
  return t;
}

void swap_bytes(std::byte* data, std::size_t bytes, std::size_t width) {
  if (width < 2) return;
  for (std::size_t i = 0; i < bytes; i += width) std::reverse(data + i, data + i + width);
}

// Column-major source to row-major destination, by counting the destination's index.
template <class Copy>
void for_each_transposed(const Dims& dims, Copy copy) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = 1; i < dims.size(); ++i) strides[i] = strides[i - 1] * dims[i - 1];
  Dims index(dims.size(), 0);
  const std::int64_t count = num_elements(dims);
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < count; ++to) {
    copy(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
    for (std::size_t k = dims.size(); k-- > 0;) {
      from += strides[k];
      if (++index[k] < dims[k]) break;
      from -= strides[k] * dims[k];
      index[k] = 0;
    }
  }
}

Tensor row_major(const Tensor& t) {
  Tensor out(t.dtype(), t.dims());
  const auto size = static_cast<std::size_t>(size_of(t.dtype()));
  if (t.dtype() == DType::string) {
    const auto from = t.data<std::string>();
    auto to = out.data<std::string>();
    for_each_transposed(t.dims(), [&](std::size_t a, std::size_t b) { to[a] = from[b]; });
  } else {
    for_each_transposed(t.dims(), [&](std::size_t a, std::size_t b) {
      std::memcpy(out.raw() + a * size, t.raw() + b * size, size);
    });
  }
  return out;
}

Result<std::string> descr_of(const Tensor& t) {
  switch (t.dtype()) {
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    case DType::f16: return "<f2";
    case DType::bf16: return "<V2";
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1: return "|V1";
    case DType::i8:
    case DType::i4:
    case DType::i2: return "|i1";
    case DType::u8:
    case DType::u4:
    case DType::u2: return "|u1";
    case DType::i16: return "<i2";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::u16: return "<u2";
    case DType::u32: return "<u4";
    case DType::u64: return "<u8";
    case DType::boolean: return "|b1";
    case DType::c64: return "<c8";
    case DType::c128: return "<c16";
    case DType::string:
    case DType::undefined: break;
  }
  return unsupported("npy: a tensor of type {} cannot be written", name(t.dtype()));
}

std::string header_text(std::string_view descr, const Dims& dims) {
  std::string shape = "(";
  for (std::size_t i = 0; i < dims.size(); ++i)
    shape += fmt::format("{}{}", i ? ", " : "", dims[i]);
  shape += dims.size() == 1 ? ",)" : ")";
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  // Data start at a multiple of 64, as NumPy writes them, so that maps are aligned.
  dict.append((64 - (10 + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  const auto length = static_cast<std::uint16_t>(dict.size());
  std::string out(kMagic);
  out.append("\x01\x00", 2);
  out.append(reinterpret_cast<const char*>(&length), 2);
  return out + dict;
}

Result<std::string> string_bytes(const Tensor& t) {
  std::vector<std::u32string> texts;
  std::size_t longest = 1;  // NumPy has no <U0 arrays with elements
  for (const std::string& s : t.data<std::string>()) {
    auto decoded = decode_utf8(s);
    if (!decoded) return invalid("npy: element {} is not valid UTF-8", texts.size());
    longest = std::max(longest, decoded->size());
    texts.push_back(std::move(*decoded));
  }
  std::string out = header_text(fmt::format("<U{}", longest), t.dims());
  for (std::u32string& s : texts) {
    s.resize(longest, U'\0');
    out.append(reinterpret_cast<const char*>(s.data()), 4 * longest);
  }
  return out;
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  const Header h = TENON_TRY(read_header(bytes));
  const Element e = TENON_TRY(read_descr(h.descr));
  const std::int64_t count = TENON_TRY(checked_num_elements(h.dims));
  std::span<const std::byte> data = bytes.subspan(h.data_at);
  std::uint64_t wanted = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), e.bytes, &wanted) ||
      wanted != data.size())
    return invalid("npy: dims {} of '{}' do not fill the {} bytes that follow the header",
                   to_text(h.dims), h.descr, data.size());
  // Elements of no bytes (<U0) would let a short file ask for any amount of memory.
  if (e.bytes == 0 && count > (1 << 20))
    return invalid("npy: {} empty strings are over the limit", count);
  if (e.text) {
    Tensor t = TENON_TRY(read_strings(data, e, h.dims));
    return h.fortran && h.dims.size() > 1 ? row_major(t) : t;
  }
  const bool turned = (e.big_endian && e.swap > 1) || (h.fortran && h.dims.size() > 1);
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(data.data()) % std::max<std::size_t>(e.swap, 1) == 0;
  if (owner && !turned && aligned)
    return Tensor(e.dtype, h.dims, Buffer::borrow(data.data(), data.size(), std::move(owner)));
  Tensor t(e.dtype, h.dims);
  if (!data.empty()) std::memcpy(t.raw(), data.data(), data.size());
  if (e.big_endian) swap_bytes(t.raw(), data.size(), e.swap);
  return h.fortran && h.dims.size() > 1 ? row_major(t) : t;
}

Result<Tensor> read_npy(const std::filesystem::path& path) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(parse_npy(file->bytes(), file), [&] { return path.string(); });
}

Result<std::string> npy_bytes(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) return string_bytes(tensor);
  std::string out = header_text(TENON_TRY(descr_of(tensor)), tensor.dims());
  out.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
  return out;
}

Status write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  AtomicFile file = TENON_TRY(AtomicFile::create(path));
  if (tensor.dtype() == DType::string) {
    TENON_TRY(file.write(TENON_TRY(npy_bytes(tensor))));
  } else {
    TENON_TRY(file.write(header_text(TENON_TRY(descr_of(tensor)), tensor.dims())));
    TENON_TRY(file.write(std::span(tensor.raw(), tensor.bytes())));
  }
  return file.commit();
}

Result<Tensor> reinterpreted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  if (tensor.dtype() == DType::string || dtype == DType::string ||
      size_of(tensor.dtype()) != size_of(dtype))
    return invalid("elements of type {} cannot be read as {}", name(tensor.dtype()), name(dtype));
  return Tensor(dtype, tensor.dims(), tensor.buffer(), tensor.offset_bytes());
}

Result<NamedTensors> read_npz(const std::filesystem::path& path) {
  const ZipReader zip = TENON_TRY(ZipReader::open(path));
  NamedTensors out;
  for (const ZipEntry& e : zip.entries()) {
    const std::string content = TENON_TRY_AT(path.string(), zip.read(e));
    std::string name = e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
    out.emplace_back(std::move(name), TENON_TRY_AT(fmt::format("{} in {}", e.name, path.string()),
                                                   parse_npy(std::as_bytes(std::span(content)))));
  }
  return out;
}

Status write_npz(const std::filesystem::path& path, const NamedTensors& tensors, bool deflate) {
  ZipWriter zip = TENON_TRY(ZipWriter::create(path));
  for (const auto& [name, tensor] : tensors)
    TENON_TRY(zip.add(name + ".npy", TENON_TRY_AT(name, npy_bytes(tensor)), deflate));
  return zip.finish();
}

}  // namespace tenon
