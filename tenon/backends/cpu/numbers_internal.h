// Element types as C++ types, for kernels that are written once for all of them.
#pragma once

#include <atomic>
#include <bit>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"

namespace tenon::backends::cpu {

/// Half floats that convert to and from float, rounding to nearest even.
struct F16 {
  std::uint16_t bits = 0;
  F16() = default;
  F16(float v) : bits(float_to_f16(v)) {}                // NOLINT: implicit
  operator float() const { return f16_to_float(bits); }  // NOLINT: implicit
};
struct BF16 {
  std::uint16_t bits = 0;
  BF16() = default;
  BF16(float v) : bits(float_to_bf16(v)) {}               // NOLINT: implicit
  operator float() const { return bf16_to_float(bits); }  // NOLINT: implicit
};

template <class T>
constexpr bool is_half = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || is_half<T>;
/// What a kernel computes in: float for half floats, the unsigned type for signed integers, whose
/// sums and products then wrap instead of being undefined.
template <class T>
struct WideOf {
  using type = T;
};
template <class T>
  requires is_half<T>
struct WideOf<T> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

/// a + b and a * b; integers wrap.
template <class W>
W wrapping_add(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class W>
W wrapping_mul(W a, W b) {
  if constexpr (std::is_integral_v<W>)
    return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

/// Whether visit_number knows the type: whole bytes, no 8-bit floats, no complex numbers.
inline bool is_plain_number(DType d) {
  return d == DType::boolean || d == DType::f32 || d == DType::f64 || d == DType::f16 ||
         d == DType::bf16 || (is_integer(d) && bits_of(d) >= 8);
}

/// Calls f(T{}) for the element type; booleans are u8.
template <class F>
decltype(auto) visit_number(DType d, F&& f) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wswitch-enum"
  switch (d) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::f16: return f(F16{});
    case DType::bf16: return f(BF16{});
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    default: break;
  }
#pragma clang diagnostic pop
  TENON_CHECK(d == DType::u8 || d == DType::boolean, "{} is no plain number", name(d));
  return f(std::uint8_t{});
}

/// Integers of 4 or 8 bytes, read as i64; the first one outside of [-size, size) is kept for the
/// error, and read as 0 meanwhile, so that a kernel may run through.
class Indices {
 public:
  Indices(const std::byte* data, DType dtype) : data_(data), is_wide_(size_of(dtype) == 8) {}
  std::int64_t raw(std::int64_t i) const {
    return is_wide_ ? reinterpret_cast<const std::int64_t*>(data_)[i]
                    : reinterpret_cast<const std::int32_t*>(data_)[i];
  }
  /// Number i brought into [0, size).
  std::int64_t at(std::int64_t i, std::int64_t size) const {
    const std::int64_t v = raw(i);
    if (v >= 0 && v < size) [[likely]]
      return v;
    if (v < 0 && v >= -size) return v + size;
    bad_size_ = size;
    bad_ = v;
    is_bad_ = true;
    return 0;
  }
  /// Invalid when a number was outside.
  Status status(std::string_view op) const {
    if (!is_bad_) return {};
    return invalid("{}: index {} is outside of an axis of {}", op, bad_.load(), bad_size_.load());
  }

 private:
  const std::byte* data_;
  bool is_wide_;
  mutable std::atomic<std::int64_t> bad_{0}, bad_size_{0};
  mutable std::atomic<bool> is_bad_{false};
};

}  // namespace tenon::backends::cpu
