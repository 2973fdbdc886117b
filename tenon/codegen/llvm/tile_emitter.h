// Kernels on tiles as LLVM functions named "kernel".
#pragma once

#include <llvm/IR/Module.h>

#include "tenon/codegen/tiles.h"

namespace tenon::codegen {

/// Adds a TileProductFunction to the module.
void emit_tile_product(const TileProduct& tile, llvm::Module& module, bool has_fma);
/// Adds a TileTransposeFunction to the module.
void emit_tile_transpose(const TileTranspose& tile, llvm::Module& module);

}  // namespace tenon::codegen
