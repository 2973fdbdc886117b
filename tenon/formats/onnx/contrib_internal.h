// What the files of com.microsoft conversions share.
#pragma once

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

void add_contrib_quant_rows(Rows& rows);
void add_contrib_attention_rows(Rows& rows);

/// Inputs of com.microsoft's Attention once they are floats.
struct PackedAttention {
  Value *x, *weight, *bias, *mask, *past, *attention_bias;
};
/// x[b, s, d] through packed weights to [b, s, heads * width], and the new past; reads the node's
/// attributes.
Values packed_attention(Context& c, const PackedAttention& in);

}  // namespace tenon::onnx
