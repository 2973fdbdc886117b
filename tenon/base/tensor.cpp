// Storage, dims arithmetic and wide element access of host tensors.
#include "tenon/base/tensor.h"

#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace tenon {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kAlignment = 64;  // one cache line, and one AVX-512 register

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Calls f with the C++ type that stores `dtype`; small floats and sub-byte integers as their bits.
template <class F>
decltype(auto) visit_storage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i8:
    case DType::i4:
    case DType::i2: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u8:
    case DType::u4:
    case DType::u2:
    case DType::boolean: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::undefined:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::c64:
    case DType::c128:
    case DType::string: break;
  }
  TENON_CHECK(false, "{} is no plain number", name(dtype));
  return f(float{});
}

bool is_mini(DType d) { return is_floating(d) && size_of(d) <= 2; }

double load_mini(const std::byte* p, DType d) {
  if (d == DType::f16) return f16_to_float(load<std::uint16_t>(p));
  if (d == DType::bf16) return bf16_to_float(load<std::uint16_t>(p));
  return decode_mini(load<std::uint8_t>(p), d);
}

void store_mini(std::byte* p, double value, DType d) {
  const std::uint16_t bits = encode_mini(value, d);
  if (size_of(d) == 2)
    std::memcpy(p, &bits, 2);
  else
    *p = static_cast<std::byte>(bits);
}

std::int64_t double_to_int(double v) {  // C leaves out-of-range conversion undefined; saturate here
  if (std::isnan(v)) return 0;
  if (v >= 9223372036854775808.0)
    return v >= 18446744073709551616.0 ? -1
                                       : static_cast<std::int64_t>(static_cast<std::uint64_t>(v));
  if (v < -9223372036854775808.0) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(v);
}

std::int64_t wrap_small(std::int64_t v, DType d) {
  switch (bits_of(d)) {
    case 4: return d == DType::u4 ? (v & 15) : ((v & 15) ^ 8) - 8;
    case 2: return d == DType::u2 ? (v & 3) : ((v & 3) ^ 2) - 2;
    default: return d == DType::boolean ? (v != 0) : v;
  }
}

void store_int(std::byte* p, std::int64_t value, DType d) {
  if (is_mini(d)) return store_mini(p, static_cast<double>(value), d);
  visit_storage(d, [&](auto zero) {
    const auto out = static_cast<decltype(zero)>(wrap_small(value, d));
    std::memcpy(p, &out, sizeof out);
  });
}

void store_double(std::byte* p, double value, DType d) {
  if (is_mini(d)) return store_mini(p, value, d);
  if (d == DType::boolean) {
    *p = static_cast<std::byte>(value != 0);
    return;
  }
  if (is_integer(d)) return store_int(p, double_to_int(value), d);
  visit_storage(d, [&](auto zero) {
    const auto out = static_cast<decltype(zero)>(value);
    std::memcpy(p, &out, sizeof out);
  });
}

}  // namespace

std::int64_t num_elements(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  for (auto d : dims) n *= d;
  return n;
}

Result<std::int64_t> checked_num_elements(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  bool has_zero = false;
  for (auto d : dims) {
    if (d < 0) return invalid("dims {} hold a negative size", to_text(dims));
    if (d == 0)
      has_zero = true;
    else if (__builtin_mul_overflow(n, d, &n) || n > (std::int64_t{1} << 58))
      return invalid("dims {} hold more elements than 2^58", to_text(dims));
  }
  return has_zero ? std::int64_t{0} : n;
}

Dims row_major_strides(std::span<const std::int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::string to_text(std::span<const std::int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes) {
  std::shared_ptr<Buffer> b(new Buffer);
  b->bytes_ = bytes;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  b->data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (!b->data_) throw std::bad_alloc();
  // Weights and activations are walked from end to end: large pages spare a page walk every 4 KB.
  // Only advice: where the system declines, pages stay small.
  if (bytes >= kHugePage) madvise(b->data_, rounded, MADV_HUGEPAGE);
  return b;
}

std::shared_ptr<Buffer> Buffer::strings(std::size_t count) {
  std::shared_ptr<Buffer> b(new Buffer);
  b->strings_.resize(count);
  b->data_ = reinterpret_cast<std::byte*>(b->strings_.data());
  b->bytes_ = count * sizeof(std::string);
  return b;
}

std::shared_ptr<Buffer> Buffer::borrow(const void* data, std::size_t bytes,
                                       std::shared_ptr<const void> keep_alive) {
  TENON_CHECK(keep_alive != nullptr, "borrowed storage needs an owner");
  std::shared_ptr<Buffer> b(new Buffer);
  b->data_ = static_cast<std::byte*>(const_cast<void*>(data));
  b->bytes_ = bytes;
  b->keep_alive_ = std::move(keep_alive);
  return b;
}

Buffer::~Buffer() {
  if (owned() && strings_.empty()) std::free(data_);
}

Tensor::Tensor(DType dtype, Dims dims)
    : dtype_(dtype), dims_(std::move(dims)), count_(num_elements(dims_)) {
  buffer_ = dtype == DType::string ? Buffer::strings(static_cast<std::size_t>(count_))
                                   : Buffer::allocate(bytes());
}

Tensor::Tensor(DType dtype, Dims dims, std::shared_ptr<Buffer> buffer, std::size_t offset_bytes)
    : dtype_(dtype),
      dims_(std::move(dims)),
      count_(num_elements(dims_)),
      buffer_(std::move(buffer)),
      offset_(offset_bytes) {
  TENON_CHECK(offset_ + bytes() <= buffer_->bytes(), "tensor of {} bytes at {} in a buffer of {}",
              bytes(), offset_, buffer_->bytes());
}

Tensor Tensor::zeros(DType dtype, Dims dims) {
  Tensor t(dtype, std::move(dims));
  if (dtype != DType::string) std::memset(t.raw(), 0, t.bytes());
  return t;
}

Tensor Tensor::full(DType dtype, Dims dims, double value) {
  Tensor t(dtype, std::move(dims));
  const auto size = static_cast<std::size_t>(size_of(dtype));
  if (t.count() == 0) return t;
  if (is_complex(dtype))
    return from_complexes(
        std::vector<std::complex<double>>(static_cast<std::size_t>(t.count()), value), dtype,
        t.dims());
  store_double(t.raw(), value, dtype);
  for (std::int64_t i = 1; i < t.count(); ++i)
    std::memcpy(t.raw() + static_cast<std::size_t>(i) * size, t.raw(), size);
  return t;
}

Tensor Tensor::reshaped(Dims dims) const {
  TENON_CHECK(num_elements(dims) == count_, "{} elements under dims {}", count_, to_text(dims));
  Tensor t = *this;
  t.dims_ = std::move(dims);
  return t;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor t(dtype_, dims_);
  if (dtype_ == DType::string) {
    auto from = data<std::string>();
    std::copy(from.begin(), from.end(), t.data<std::string>().begin());
  } else if (bytes()) {
    std::memcpy(t.raw(), raw(), bytes());
  }
  return t;
}

double element(const Tensor& t, std::int64_t index) {
  const DType d = t.dtype();
  const std::byte* p = t.raw() + index * size_of(d);
  if (is_mini(d)) return load_mini(p, d);
  if (d == DType::c64) return load<float>(p);
  if (d == DType::c128) return load<double>(p);
  return visit_storage(d, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(p)); });
}

std::int64_t integer_element(const Tensor& t, std::int64_t index) {
  const DType d = t.dtype();
  if (is_floating(d) || is_complex(d)) return double_to_int(element(t, index));
  const std::byte* p = t.raw() + index * size_of(d);
  return visit_storage(
      d, [&](auto zero) { return static_cast<std::int64_t>(load<decltype(zero)>(p)); });
}

std::vector<double> to_doubles(const Tensor& t) {
  std::vector<double> out(static_cast<std::size_t>(t.count()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = element(t, static_cast<std::int64_t>(i));
  return out;
}

std::vector<std::int64_t> to_int64s(const Tensor& t) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(t.count()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = integer_element(t, static_cast<std::int64_t>(i));
  return out;
}

std::vector<std::complex<double>> to_complexes(const Tensor& t) {
  std::vector<std::complex<double>> out(static_cast<std::size_t>(t.count()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (t.dtype() == DType::c64)
      out[i] = t.data<std::complex<float>>()[i];
    else if (t.dtype() == DType::c128)
      out[i] = t.data<std::complex<double>>()[i];
    else
      out[i] = element(t, static_cast<std::int64_t>(i));
  }
  return out;
}

Tensor from_doubles(std::span<const double> values, DType dtype, Dims dims) {
  Tensor t(dtype, std::move(dims));
  TENON_CHECK(static_cast<std::size_t>(t.count()) == values.size(), "{} values for {}",
              values.size(), to_text(t.dims()));
  for (std::size_t i = 0; i < values.size(); ++i)
    store_double(t.raw() + i * static_cast<std::size_t>(size_of(dtype)), values[i], dtype);
  return t;
}

Tensor from_int64s(std::span<const std::int64_t> values, DType dtype, Dims dims) {
  Tensor t(dtype, std::move(dims));
  TENON_CHECK(static_cast<std::size_t>(t.count()) == values.size(), "{} values for {}",
              values.size(), to_text(t.dims()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::byte* p = t.raw() + i * static_cast<std::size_t>(size_of(dtype));
    if (is_floating(dtype))
      store_double(p, static_cast<double>(values[i]), dtype);
    else
      store_int(p, values[i], dtype);
  }
  return t;
}

Tensor from_complexes(std::span<const std::complex<double>> values, DType dtype, Dims dims) {
  Tensor t(dtype, std::move(dims));
  TENON_CHECK(static_cast<std::size_t>(t.count()) == values.size(), "{} values for {}",
              values.size(), to_text(t.dims()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::c64)
      t.data<std::complex<float>>()[i] = std::complex<float>(values[i]);
    else if (dtype == DType::c128)
      t.data<std::complex<double>>()[i] = values[i];
    else
      store_double(t.raw() + i * static_cast<std::size_t>(size_of(dtype)), values[i].real(), dtype);
  }
  return t;
}

}  // namespace tenon
