// Scalar functions as LLVM instructions: arithmetic that vectorises, so that an element gets the
// same bits in a vector body and in a remainder loop.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tenon/ir/expr.h"

namespace tenon::codegen {

/// The value of `op(x)` for a float or double x, or nullptr when the function is unknown.
llvm::Value* emit_unary(llvm::IRBuilder<>& b, ScalarOp op, llvm::Value* x);
/// The value of `op(x, y)` for floats.
llvm::Value* emit_binary(llvm::IRBuilder<>& b, ScalarOp op, llvm::Value* x, llvm::Value* y);

}  // namespace tenon::codegen
