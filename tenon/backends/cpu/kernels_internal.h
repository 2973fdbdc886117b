// Makers of cpu kernels: each says whether it takes a node, and compiles it.
#pragma once

#include <memory>

#include "tenon/runtime/backend.h"

namespace tenon::backends::cpu {

using KernelPtr = std::unique_ptr<Kernel>;

/// Elementwise operators and fused groups (expressions over broadcast operands).
Verdict takes_elementwise(const Node& node);
Result<KernelPtr> make_elementwise(const Node& node);

/// reduce_sum, reduce_max, reduce_min, reduce_prod over axes that are known.
Verdict takes_reduction(const Node& node);
Result<KernelPtr> make_reduction(const Node& node);

/// Fused groups that reduce rows: softmax, normalisations, sums of expressions.
Verdict takes_row_group(const Node& node);
Result<KernelPtr> make_row_group(const Node& node);

/// Attention: the operator, and fused groups of its parts.
Verdict takes_attention(const Node& node);
Result<KernelPtr> make_attention(const Node& node);

/// Movements: copies with strides, by the operator's name.
Verdict takes_movement(const Node& node);
Result<KernelPtr> make_movement(const Node& node);

/// matmul through oneDNN.
Verdict takes_matmul(const Node& node);
Result<KernelPtr> make_matmul(const Node& node);

/// conv (and its adjoint by the input, which conv_transpose becomes) through oneDNN.
Verdict takes_convolution(const Node& node);
Result<KernelPtr> make_convolution(const Node& node);

/// conv_weight_adjoint through oneDNN.
Verdict takes_weight_adjoint(const Node& node);
Result<KernelPtr> make_weight_adjoint(const Node& node);

/// gemm of turned operands that are no constants.
Verdict takes_turned_matmul(const Node& node);
Result<KernelPtr> make_turned_matmul(const Node& node);

/// lstm and lstm_adjoint in their plain form.
Verdict takes_lstm(const Node& node);
Result<KernelPtr> make_lstm(const Node& node);

/// max_pool_adjoint, average_pool_adjoint and gather_adjoint.
Verdict takes_scatter_adjoint(const Node& node);
Result<KernelPtr> make_scatter_adjoint(const Node& node);

/// max_pool without positions, and average_pool.
Verdict takes_pooling(const Node& node);
Result<KernelPtr> make_pooling(const Node& node);

/// transpose of f32.
Verdict takes_transpose(const Node& node);
Result<KernelPtr> make_transpose(const Node& node);

/// Pooling inside of a group that transposes to channels last and back.
Verdict takes_channels_last_pooling(const Node& node);
Result<KernelPtr> make_channels_last_pooling(const Node& node);

/// resize axis by axis, and shape.
Verdict takes_resize(const Node& node);
Result<KernelPtr> make_resize(const Node& node);

/// gather_elements, gather_nd, scatter_elements, scatter_nd, gather_adjoint and slice_adjoint.
Verdict takes_picking(const Node& node);
Result<KernelPtr> make_picking(const Node& node);

/// argmax, argmin, top_k, cumsum and cumprod.
Verdict takes_search(const Node& node);
Result<KernelPtr> make_search(const Node& node);

/// range, size and random numbers.
Verdict takes_filling(const Node& node);
Result<KernelPtr> make_filling(const Node& node);

/// matmul_integer and conv_integer through oneDNN.
Verdict takes_integer_matmul(const Node& node);
Result<KernelPtr> make_integer_matmul(const Node& node);
Verdict takes_integer_convolution(const Node& node);
Result<KernelPtr> make_integer_convolution(const Node& node);

/// matmul and conv of wide integers and f64 by plain loops.
Verdict takes_plain_product(const Node& node);
Result<KernelPtr> make_plain_product(const Node& node);

/// Whether a value's element type is one that kernels hold as numbers.
bool is_number(const Value* v);
/// Memory of this thread that grows and stays: scratch of kernels whose need depends on threads.
std::byte* thread_scratch(std::size_t bytes);

}  // namespace tenon::backends::cpu
