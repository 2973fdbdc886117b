// Pieces of attention that standard and com.microsoft operators share.
#pragma once

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {

/// 1 / sqrt(size of an axis) as a scalar of `dtype`.
Value* inverse_root(Context& c, Value* x, std::int64_t axis, DType dtype);
/// [batch, kv heads, length, width] with each head repeated in a row up to `heads` (an i64[1] value).
Value* repeat_heads(Context& c, Value* kv, Value* heads);

}  // namespace tenon::onnx
