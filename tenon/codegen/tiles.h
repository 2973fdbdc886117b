// Kernels on tiles of f32 matrices: products with one side in registers, and transposes.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/machine/host_cpu.h"

namespace tenon::codegen {

/// Which index of the left operand has stride 1.
enum class UnitStride : std::uint8_t { rows, depth };

/// c[m, n] = sum over k of a[m, k] * b[k, n], or c[m, n] * scale[n] + the sum. Columns come in
/// panels of vectors * lanes; a block of `rows` x panel stays in registers while k runs, remaining
/// rows in blocks of `few_rows` and 1.
struct TileProduct {
  UnitStride unit = UnitStride::depth;
  int rows = 1, few_rows = 1;
  int vectors = 1, lanes = 4;
  int unroll = 4;  // of k

  int columns() const { return vectors * lanes; }
  /// Canonical: equal text, equal code.
  std::string text() const;
};

/// Sizes and strides in elements: a[m * a_row + k * a_depth], b[k * b_depth + panel * b_panel +
/// lane], c[m * c_row + panel * c_panel + lane], scale[panel * columns + lane].
struct TileProductArguments {
  std::int64_t rows, depth, panels;
  std::int64_t a_row, a_depth, b_depth, b_panel, c_row, c_panel;
};
/// `scale` nullptr: c is written, not read.
using TileProductFunction = void (*)(const float* a, const float* b, float* c, const float* scale,
                                     const TileProductArguments* arguments);

/// The register tile that suits an instruction set.
TileProduct tile_product_for(Isa isa, UnitStride unit);

/// to[j * to_row + i] = from[i * from_row + j] for i < rows, j < columns, elements of 4 bytes, in
/// blocks of `block` x `block` that are turned in registers, `stack` of them one after the other
/// along i, so that whole cache lines are written.
struct TileTranspose {
  int block = 8, stack = 2;
  std::string text() const;
};
TileTranspose tile_transpose_for(Isa isa);
using TileTransposeFunction = void (*)(const void* from, void* to, std::int64_t rows,
                                       std::int64_t columns, std::int64_t from_row,
                                       std::int64_t to_row);

}  // namespace tenon::codegen
