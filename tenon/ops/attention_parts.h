// Attention step by step: heads brought into one layout, scores, masks, probabilities, and the way
// back.
#pragma once

#include "tenon/ops/statistics.h"

namespace tenon::ops::attention_parts {

enum Input { kQ, kK, kV, kMask, kPastK, kPastV, kLens };

/// [b, s, heads * d] as [b, heads, s, d]; 4 axes stay.
Value* split_heads(B g, Value* x, std::int64_t heads);
/// [b, q heads, s, d] as [b, kv heads, group * s, d] for the heads of k, and back to the heads of
/// q: with steps of a group side by side, one product serves all query heads that share a key head.
Value* fold_groups(B g, Value* x, Value* k);
Value* unfold_groups(B g, Value* x, Value* q);
/// [b, heads, s, d] as [b, s, heads * d].
Value* join_heads(B g, Value* x);
/// softmax over the last axis; rows of -infinity only give 0 when `may_be_empty`.
Value* probabilities(B g, Value* scores, bool may_be_empty);

/// Everything a forward pass computes, in at least 32 bits. q, k, v and y are [b, heads, s, d];
/// scores are [b, q heads, s, t].
struct Parts {
  Value *q, *k, *v;
  Value *raw, *capped;  // scores before and after the cap
  Value *p, *y;
  Value* shown;  // the scores that qk_matmul_output_mode asks for
  double scale;
};
Parts forward(B g, const Call& c);
/// y as the call's result: q's layout and type.
Value* packed(B g, const Call& c, Value* y);
/// Gradients of the inputs from those of y, present_k and present_v.
Values backward(B g, const Call& c, const Values& dys);

}  // namespace tenon::ops::attention_parts
