// Attention in tiles: what a node asks for, and the launch that computes it.
#pragma once

#include <memory>
#include <vector>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/codegen/loop_program.h"

namespace tenon::backends::cpu {

/// A matrix for each head: element [lead..., row, column], strides and offset in elements.
struct HeadView {
  Dims lead;
  std::int64_t row = 0, column = 0, offset = 0;
};

/// y[s, e] = sum over t of softmax over t of modify(q[s, .] k[t, .]) v[t, e], for each index of
/// `lead`.
struct AttentionProblem {
  Dims lead;                                // batch, heads
  std::int64_t s = 0, t = 0, d = 0, e = 0;  // queries, keys, size of q and k, size of v
  HeadView q, k, v, y;                      // rows s, t, t, s; columns d, d, e, e
  int q_argument = 0, k_argument = 1, v_argument = 2;
  Expr modify;             // of x0, the product, and x1 ..., the masks
  std::vector<int> masks;  // arguments of the kernel, rows s and columns t
  std::vector<DType> mask_types;
  std::vector<HeadView> mask_views;
  bool is_causal = false;         // query s sees keys up to s
  bool empty_gives_zero = false;  // a query that sees nothing: 0 instead of NaN
  bool nan_gives_zero = false;    // a query whose probabilities are no numbers: 0
  int lens = -1;                  // argument with the keys of each batch (i64 or i32)
  DType lens_type = DType::i64;
};

Result<std::unique_ptr<Launch>> attention_launch(AttentionProblem problem);

}  // namespace tenon::backends::cpu
