// Element types, and the small floating-point formats that C++ lacks.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// One line for each element type: name in text and JSON, bytes of one element in memory, class.
/// Types under eight bits are held one element a byte (i4 and i2 sign-extended, f4e2m1 raw bits).
#define TENON_DTYPES(X)       \
  X(f32, 4, floating)         \
  X(f64, 8, floating)         \
  X(f16, 2, floating)         \
  X(bf16, 2, floating)        \
  X(f8e4m3fn, 1, floating)    \
  X(f8e4m3fnuz, 1, floating)  \
  X(f8e5m2, 1, floating)      \
  X(f8e5m2fnuz, 1, floating)  \
  X(f8e8m0, 1, floating)      \
  X(f4e2m1, 1, floating)      \
  X(i8, 1, signed_integer)    \
  X(i16, 2, signed_integer)   \
  X(i32, 4, signed_integer)   \
  X(i64, 8, signed_integer)   \
  X(u8, 1, unsigned_integer)  \
  X(u16, 2, unsigned_integer) \
  X(u32, 4, unsigned_integer) \
  X(u64, 8, unsigned_integer) \
  X(i4, 1, signed_integer)    \
  X(u4, 1, unsigned_integer)  \
  X(i2, 1, signed_integer)    \
  X(u2, 1, unsigned_integer)  \
  X(boolean, 1, boolean)      \
  X(c64, 8, complex)          \
  X(c128, 16, complex)        \
  X(string, 32, string)

enum class DType : std::uint8_t {
  undefined,
#define TENON_X(name, bytes, kind) name,
  TENON_DTYPES(TENON_X)
#undef TENON_X
};
inline constexpr int kNumDTypes = static_cast<int>(DType::string) + 1;

enum class DTypeClass : std::uint8_t {
  none,
  floating,
  signed_integer,
  unsigned_integer,
  boolean,
  complex,
  string
};

std::string_view name(DType dtype);
std::optional<DType> dtype_named(std::string_view text);
/// Bytes of one element in memory.
int size_of(DType dtype);
/// Bits of one element in a packed file: 4 for i4, u4 and f4e2m1, 2 for i2 and u2.
int bits_of(DType dtype);
DTypeClass class_of(DType dtype);
inline bool is_floating(DType d) { return class_of(d) == DTypeClass::floating; }
inline bool is_integer(DType d) {
  return class_of(d) == DTypeClass::signed_integer || class_of(d) == DTypeClass::unsigned_integer;
}
inline bool is_complex(DType d) { return class_of(d) == DTypeClass::complex; }

/// A floating-point format of at most 16 bits: `exponent` and `mantissa` bits, and which special
/// values it has. Source: ONNX "Float stored in 8 bits", OCP MX specification 1.0.
struct MiniFloat {
  int exponent, mantissa, bias;
  bool has_infinity, has_nan, has_negative_zero, is_signed;
};
const MiniFloat& mini_float(DType dtype);

/// What happens to values beyond the largest finite one (ONNX Cast attribute `saturate`).
enum class Overflow : std::uint8_t { saturate, to_special };
/// Rounding of a value between two representable ones (ONNX Cast attribute `round_mode`).
enum class Rounding : std::uint8_t { nearest_even, up, down };

/// Encodes `value` in a format of at most 16 bits (f16, bf16, f8*, f4e2m1).
std::uint16_t encode_mini(double value, DType dtype, Overflow overflow = Overflow::to_special,
                          Rounding rounding = Rounding::nearest_even);
double decode_mini(std::uint16_t bits, DType dtype);

float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);
inline float bf16_to_float(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t float_to_bf16(float value);

}  // namespace tenon
