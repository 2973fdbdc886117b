// The border to LLVM: a loop nest in, a native object file out. The implementation lives in a
// module (libtenon_llvm.so) that is loaded at the first compile, so that opening a bundle never
// pays for LLVM.
#pragma once

#include <string>

#include "tenon/codegen/loop_nest.h"
#include "tenon/machine/host_cpu.h"

namespace tenon::codegen {

/// What to compile for.
struct EmitTarget {
  Isa isa = Isa::plain;
};

/// Entry of the module: fills `object` with an ELF relocatable whose symbol "kernel" is a
/// LoopFunction, or `problem` with what went wrong. Returns whether it worked.
using EmitFunction = bool (*)(const LoopNest& nest, const EmitTarget& target, std::string& object,
                              std::string& problem);
inline constexpr const char* kEmitSymbol = "tenon_emit_loop_nest";

}  // namespace tenon::codegen
