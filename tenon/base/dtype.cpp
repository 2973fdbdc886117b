// Tables of the element types and the codec of the small floating-point formats.
#include "tenon/base/dtype.h"

#include <array>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"

namespace tenon {
namespace {

struct Row {
  std::string_view name;
  int bytes;
  DTypeClass kind;
};

constexpr std::array<Row, kNumDTypes> kRows = {{{"undefined", 0, DTypeClass::none},
#define TENON_X(name, bytes, kind) {#name, bytes, DTypeClass::kind},
                                                TENON_DTYPES(TENON_X)
#undef TENON_X
}};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

// exponent, mantissa, bias, infinity, NaN, negative zero, sign
constexpr MiniFloat kF16{5, 10, 15, true, true, true, true};
constexpr MiniFloat kBf16{8, 7, 127, true, true, true, true};
constexpr MiniFloat kF8e4m3fn{4, 3, 7, false, true, true, true};
constexpr MiniFloat kF8e4m3fnuz{4, 3, 8, false, true, false, true};
constexpr MiniFloat kF8e5m2{5, 2, 15, true, true, true, true};
constexpr MiniFloat kF8e5m2fnuz{5, 2, 16, false, true, false, true};
constexpr MiniFloat kF8e8m0{8, 0, 127, false, true, false, false};
constexpr MiniFloat kF4e2m1{2, 1, 1, false, false, true, true};

int width(const MiniFloat& f) { return f.exponent + f.mantissa + (f.is_signed ? 1 : 0); }
std::uint16_t sign_bit(const MiniFloat& f) {
  return f.is_signed ? static_cast<std::uint16_t>(1u << (f.exponent + f.mantissa)) : 0;
}

// The magnitude bits of NaN; without a negative zero, NaN is the sign bit alone (the fnuz kinds).
std::uint16_t nan_bits(const MiniFloat& f) {
  if (!f.has_nan) return 0;
  if (!f.has_negative_zero && f.is_signed) return sign_bit(f);
  const unsigned all = (1u << (f.exponent + f.mantissa)) - 1;
  if (f.has_infinity) return static_cast<std::uint16_t>(all & ~((1u << (f.mantissa - 1)) - 1));
  return static_cast<std::uint16_t>(all);
}

// Magnitude bits of the largest finite value.
unsigned largest(const MiniFloat& f) {
  const unsigned all = (1u << (f.exponent + f.mantissa)) - 1;
  if (f.has_infinity) return ((((1u << f.exponent) - 1) << f.mantissa) - 1);
  return f.has_nan && (f.has_negative_zero || !f.is_signed) ? all - 1 : all;
}

double magnitude(const MiniFloat& f, unsigned bits) {
  const int e = static_cast<int>(bits >> f.mantissa);
  const double m = bits & ((1u << f.mantissa) - 1);
  if (f.mantissa == 0) return std::ldexp(1.0, e - f.bias);
  if (e == 0) return std::ldexp(m, 1 - f.bias - f.mantissa);
  return std::ldexp(1.0 + std::ldexp(m, -f.mantissa), e - f.bias);
}

double round_to_integer(double scaled, Rounding rounding) {
  switch (rounding) {
    case Rounding::up: return std::floor(scaled + 0.5);
    case Rounding::down: return std::floor(scaled);
    case Rounding::nearest_even: break;
  }
  return std::nearbyint(scaled);
}

// Magnitude bits for a finite value > 0, before the overflow rule.
unsigned encode_magnitude(double value, const MiniFloat& f, Rounding rounding) {
  int e = 0;
  std::frexp(value, &e);
  int biased = e - 1 + f.bias;
  if (f.mantissa == 0) {  // powers of two only: round in the exponent
    if (biased < 0) return 0;
    const double low = std::ldexp(1.0, e - 1), ratio = value / low;
    const bool up = rounding == Rounding::down ? false
                    : rounding == Rounding::up ? ratio > 1.0
                                               : ratio >= 1.5;
    return static_cast<unsigned>(biased + (up ? 1 : 0));
  }
  if (biased < 1) biased = 1;
  const double scaled = std::ldexp(value, f.mantissa + f.bias - biased);
  const double rounded = round_to_integer(scaled, rounding);
  // The implicit one carries into the exponent field, so one addition serves normal and subnormal.
  return static_cast<unsigned>(rounded) + (static_cast<unsigned>(biased - 1) << f.mantissa);
}

std::uint16_t overflowed(const MiniFloat& f, std::uint16_t sign, Overflow overflow) {
  if (overflow == Overflow::saturate || (!f.has_infinity && !f.has_nan))
    return static_cast<std::uint16_t>(largest(f) | sign);
  if (f.has_infinity)
    return static_cast<std::uint16_t>((((1u << f.exponent) - 1) << f.mantissa) | sign);
  const std::uint16_t nan = nan_bits(f);
  return f.has_negative_zero ? static_cast<std::uint16_t>(nan | sign) : nan;
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_named(std::string_view text) {
  for (int i = 1; i < kNumDTypes; ++i)
    if (kRows[static_cast<std::size_t>(i)].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

int size_of(DType dtype) { return row(dtype).bytes; }

int bits_of(DType dtype) {
  if (dtype == DType::i4 || dtype == DType::u4 || dtype == DType::f4e2m1) return 4;
  if (dtype == DType::i2 || dtype == DType::u2) return 2;
  return row(dtype).bytes * 8;
}

DTypeClass class_of(DType dtype) { return row(dtype).kind; }

const MiniFloat& mini_float(DType dtype) {
  if (dtype == DType::f16) return kF16;
  if (dtype == DType::bf16) return kBf16;
  if (dtype == DType::f8e4m3fn) return kF8e4m3fn;
  if (dtype == DType::f8e4m3fnuz) return kF8e4m3fnuz;
  if (dtype == DType::f8e5m2) return kF8e5m2;
  if (dtype == DType::f8e5m2fnuz) return kF8e5m2fnuz;
  if (dtype == DType::f8e8m0) return kF8e8m0;
  TENON_CHECK(dtype == DType::f4e2m1, "{} is no small floating-point format", name(dtype));
  return kF4e2m1;
}

std::uint16_t encode_mini(double value, DType dtype, Overflow overflow, Rounding rounding) {
  const MiniFloat& f = mini_float(dtype);
  const std::uint16_t sign = std::signbit(value) ? sign_bit(f) : 0;
  if (std::isnan(value)) {
    if (!f.has_nan)
      return static_cast<std::uint16_t>(
          sign ^ sign_bit(f));  // f4e2m1 has no NaN: the zero of the other sign, as ml_dtypes gives
    return f.has_negative_zero ? static_cast<std::uint16_t>(nan_bits(f) | sign) : nan_bits(f);
  }
  if (!f.is_signed && value < 0) return nan_bits(f);
  if (std::isinf(value)) return overflowed(f, sign, overflow);
  const double size = std::fabs(value);
  const unsigned bits = size == 0 ? 0 : encode_magnitude(size, f, rounding);
  if (bits > largest(f)) return overflowed(f, sign, overflow);
  if (bits == 0 && !f.has_negative_zero) return 0;
  return static_cast<std::uint16_t>(bits | sign);
}

double decode_mini(std::uint16_t bits, DType dtype) {
  const MiniFloat& f = mini_float(dtype);
  const unsigned mask = (1u << width(f)) - 1, all = bits & mask;
  const bool negative = (all & sign_bit(f)) != 0;
  const unsigned size = all & ~static_cast<unsigned>(sign_bit(f));
  const unsigned inf = ((1u << f.exponent) - 1) << f.mantissa;
  if (f.has_nan && !f.has_negative_zero && f.is_signed && all == sign_bit(f)) return std::nan("");
  if (f.has_infinity && size >= inf) {
    if (size > inf) return std::nan("");
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  if (size > largest(f)) return std::nan("");
  const double value = magnitude(f, size);
  return negative ? -value : value;
}

float f16_to_float(std::uint16_t bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
std::uint16_t float_to_f16(float value) {
  return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value));
}
std::uint16_t float_to_bf16(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace tenon
