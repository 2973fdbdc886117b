// The border to LLVM: a kernel's description in, a native object file out. The implementation lives
// in a module (libtenon_llvm.so) that is loaded at the first compile, so that opening a bundle
// never pays for LLVM.
#pragma once

#include <string>
#include <variant>

#include "tenon/codegen/loop_program.h"
#include "tenon/codegen/tiles.h"

namespace tenon::codegen {

/// What to compile for.
struct EmitTarget {
  Isa isa = Isa::plain;
};

/// Everything that kernels are made from.
using KernelSource = std::variant<LoopProgram, TileProduct, TileTranspose>;

/// Entry of the module: fills `object` with an ELF relocatable whose symbol "kernel" is a
/// LoopFunction (or the source's own type of function), or `problem` with what went wrong. Returns
/// whether it worked. Safe under threads.
using EmitFunction = bool (*)(const KernelSource& source, const EmitTarget& target,
                              std::string& object, std::string& problem);
inline constexpr const char* kEmitSymbol = "tenon_emit_kernel";

}  // namespace tenon::codegen
