// Text and register tiles.
#include "tenon/codegen/tiles.h"

#include <fmt/format.h>

namespace tenon::codegen {

std::string TileProduct::text() const {
  return fmt::format("product v2 unit {} rows {} {} vectors {} of {} unroll {}",
                     static_cast<int>(unit), rows, few_rows, vectors, lanes, unroll);
}

std::string TileTranspose::text() const {
  return fmt::format("transpose v2 block {} stack {}", block, stack);
}

// Blocks as wide as a vector; a cache line is 16 elements.
TileTranspose tile_transpose_for(Isa isa) {
  const int block = isa >= Isa::avx512 ? 16 : isa == Isa::avx2 ? 8 : 4;
  return {block, 16 / block};
}

// rows * vectors accumulators, one row of b and one broadcast element fill the register file: 32
// registers of 16 floats, or 16 of 8, or 16 of 4.
TileProduct tile_product_for(Isa isa, UnitStride unit) {
  TileProduct t;
  t.unit = unit;
  t.rows = isa >= Isa::avx512 ? 12 : isa == Isa::avx2 ? 6 : 4;
  t.few_rows = isa >= Isa::avx512 ? 4 : 2;
  t.vectors = 2;
  t.lanes = isa >= Isa::avx512 ? 16 : isa == Isa::avx2 ? 8 : 4;
  t.unroll = unit == UnitStride::depth ? 1 : 4;  // measured: 85 to 100 % of the multiply-add peak
  return t;
}

}  // namespace tenon::codegen
