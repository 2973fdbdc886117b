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

/// Strides of `dims` broadcast against `out`, in elements.
std::vector<std::int64_t> broadcast_strides(const Dims& dims, const Dims& out);

}  // namespace tenon::backends::cpu
