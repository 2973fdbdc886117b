// Scalar functions as LLVM instructions, of single values and of vectors alike, so that an element
// gets the same bits wherever it stands in a vector.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tenon/ir/expr.h"

namespace tenon::codegen {

/// What the functions may use.
struct MathTarget {
  bool has_fma = false;     // fused multiply-add in polynomials
  bool has_avx512 = false;  // vscalefps
};

/// The value of `op(x)` for floats or doubles x, or nullptr when the function is unknown. In f32,
/// exp, log, tanh and erf are within 2 units in the last place (loop_program_test.cpp).
llvm::Value* emit_unary(llvm::IRBuilder<>& b, const MathTarget& target, ScalarOp op,
                        llvm::Value* x);
/// The value of `op(x, y)` for floats.
llvm::Value* emit_binary(llvm::IRBuilder<>& b, const MathTarget& target, ScalarOp op,
                         llvm::Value* x, llvm::Value* y);

}  // namespace tenon::codegen
