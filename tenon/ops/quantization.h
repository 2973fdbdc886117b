// Shared by the quantisation pages: scales and zero points for a tensor, an axis or blocks of an
// axis; integer products; and the way back to a narrow type.
#pragma once

#include "tenon/ops/statistics.h"

namespace tenon::ops {

inline constexpr TypeSet kQuantized =
    TypeSet::one(DType::i8) | TypeSet::one(DType::u8) | TypeSet::one(DType::i16) |
    TypeSet::one(DType::u16) | kSubByte | TypeSet::one(DType::f8e4m3fn) |
    TypeSet::one(DType::f8e4m3fnuz) | TypeSet::one(DType::f8e5m2) |
    TypeSet::one(DType::f8e5m2fnuz) | TypeSet::one(DType::f4e2m1);
inline constexpr TypeSet kByte = TypeSet::one(DType::i8) | TypeSet::one(DType::u8);
inline constexpr TypeSet kScale = kFloat | TypeSet::one(DType::f8e8m0) | TypeSet::one(DType::i32);

/// axis, block_size (0: not blocked).
std::vector<AttrSpec> quantization_attrs();
/// Checks scale (input 1) and zero point (input 2, may be absent) against x (input 0).
Result<bool> check_granularity(const Call& c);
/// A scale or zero point of the call in a shape that broadcasts against x; blocks repeat their
/// element.
Value* spread_parameter(B g, const Call& c, Value* p);
/// x and its scale split together along every axis that the scale does not tie.
Result<Factors> sharding_quantization(const Call& c);

/// round(x) + zero, clamped to the range of `to` and converted; for 8-bit and 4-bit floats only the
/// conversion (zero is added for f4e2m1). `zero` is in x's type or absent.
Value* to_quantized(B g, Value* x, Value* zero, DType to, bool saturate = true);
/// x - zero as i32, or as f32 for 8-bit floats. `zero` must broadcast; nullptr is 0.
Value* centred(B g, Value* x, Value* zero);
/// A scale or zero point of a matrix product's operand, with one element for each row (a) or column
/// (b), or for all: a 1-d one of several elements becomes a column for a.
Value* row_parameter(B g, Value* p);
/// The same for the output channels of a convolution of `ndim` axes: along axis `axis`.
Value* channel_parameter(B g, Value* p, int ndim, int axis);

}  // namespace tenon::ops
