// Attention as exporters write it down: softmax(modify(q k^T)) v, with transposes around it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/ir/graph.h"

namespace tenon::passes {

/// An operand of a product, seen through transposes, cuts, dropped axes and multiplications by
/// numbers: axis i of what the product reads is axis `axes[i]` of `source`, times `factor`. Of
/// source axis a it reads `lengths[a]` elements (-1: all) from `starts[a]` on.
struct SeenThrough {
  Value* source = nullptr;
  std::vector<int> axes;
  std::vector<std::int64_t> starts, lengths;
  double factor = 1;
};

/// y[..., s, e] = sum over t of softmax over t of modify(sum over d of q[..., s, d] kt[..., d, t])
/// times v[..., t, e].
struct AttentionPattern {
  std::vector<Node*> nodes;       // in execution order, the last one gives `result`
  SeenThrough q, kt, v;           // axes of the products' operands
  Value* scores = nullptr;        // q k^T
  std::vector<Node*> modifiers;   // elementwise, from the scores to what softmax reads
  Value* modified = nullptr;      // what softmax reads
  bool nan_becomes_zero = false;  // where(is_nan(p), 0, p) of the probabilities: hidden queries
  Value* y = nullptr;             // the second product
  Value* result = nullptr;        // y, transposed where only a transpose reads it
  std::vector<int> result_axes;   // axis i of the result is axis result_axes[i] of y
};

/// The pattern whose second product is `product`, or nothing. What it computes is read inside only;
/// movements of the operands may have other readers.
std::optional<AttentionPattern> match_attention(Node* product);

}  // namespace tenon::passes
