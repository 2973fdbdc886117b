// One perfect loop nest that evaluates scalar expressions over strided operands: the common case of
// a loop program (loop_program.h), which it becomes before it is compiled.
//
//   for i0 in [begin, end): for i1 < sizes[1]: ...            kept axes
//     acc = start;  for r0 < sizes[k]: ... acc = combine(acc, expr(inputs))     reduced axes, if
//     any out[i0, i1, ...] = post(acc)
//
// Sizes and strides are arguments of the kernel, so one kernel serves every shape of the same
// pattern.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/expr.h"

namespace tenon::codegen {

inline constexpr int kMaxAxes = 8;

/// Stride of an operand along the innermost axis, in elements: what vectorisation depends on.
enum class InnerStride : std::uint8_t { zero, one, any };

struct LoopOperand {
  DType dtype = DType::f32;
  InnerStride inner = InnerStride::one;
};

enum class Combine : std::uint8_t { none, sum, max, min, prod };

/// A loop nest without its sizes.
struct LoopNest {
  int num_axes = 1;     // kept axes, then reduced ones
  int num_reduced = 0;  // trailing axes
  std::vector<LoopOperand> inputs;
  std::vector<LoopOperand> outputs;  // one without reduction; exactly one with
  Combine combine = Combine::none;
  Exprs exprs;  // one per output, over the inputs; with a reduction: the element that is combined
  Expr post;    // with a reduction: over one operand (x0), the accumulator; undefined: as it is
};

/// Arguments: operand pointers (inputs, outputs), sizes[num_axes], strides[operand][num_axes] in
/// elements (outputs have stride 0 along reduced axes), and the range of axis 0 to run. A program
/// with scratch rows finds their memory in outputs[number of outputs]. Results may be written over
/// an input of the same layout when it is read in the step that writes them, not later.
using LoopFunction = void (*)(const std::byte* const* inputs, std::byte* const* outputs,
                              const std::int64_t* sizes, const std::int64_t* strides,
                              std::int64_t begin, std::int64_t end);

/// Concrete axes of a nest: sizes and the strides of each operand, kept axes first.
struct LoopAxes {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> strides;  // [operand][axis]
  int num_reduced = 0;
};

/// Merges neighbouring axes that every operand walks as one, drops axes of size 1, and keeps at
/// least one kept axis. The result is what LoopNest and LoopFunction want.
LoopAxes merged(const LoopAxes& axes);

}  // namespace tenon::codegen
