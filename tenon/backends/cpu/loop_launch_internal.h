// Running generated loops over concrete axes.
#pragma once

#include <array>

#include "tenon/codegen/kernel_cache.h"
#include "tenon/runtime/backend.h"

namespace tenon::backends::cpu {

/// A loop nest bound to sizes: pattern, code and arguments.
struct BoundLoop {
  codegen::LoadedLoop loop;
  std::vector<std::int64_t> sizes, strides;  // strides[operand][axis]
  std::int64_t grain = 1;                    // of axis 0

  /// `nest` brings operands' types, expressions and combination; axes bring the rest.
  static Result<BoundLoop> make(codegen::LoopNest nest, const codegen::LoopAxes& axes);
  void run(const std::byte* const* inputs, std::byte* const* outputs, ThreadPool& pool) const;
};

/// A program bound to sizes. Scratch rows come from the memory of the thread that runs.
struct BoundProgram {
  codegen::LoadedLoop loop;
  std::vector<std::int64_t> sizes, strides;  // strides[operand][axis]
  std::int64_t grain = 1;                    // of axis 0
  std::size_t scratch_bytes = 0;

  /// `axes`: kept axes, then row axes, of inputs and outputs. Merges them and chooses the lanes.
  static Result<BoundProgram> make(codegen::LoopProgram program, const codegen::LoopAxes& axes);
  void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
           ThreadPool& pool) const;
};

/// Whether generated code knows everything in `e`.
bool has_code(const Expr& e);
/// The only element of `t`.
Expr constant_of(const Tensor& t);
/// How the reduction of this name combines elements; none for other operators.
codegen::Combine combine_of(std::string_view op);

/// Strides of `dims` broadcast against `out`, in elements.
std::vector<std::int64_t> broadcast_strides(const Dims& dims, const Dims& out);

}  // namespace tenon::backends::cpu
