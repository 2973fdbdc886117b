// Scalar expressions as LLVM values.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/codegen/llvm/scalar_math.h"
#include "tenon/ir/expr.h"

namespace tenon::codegen {

/// The LLVM type that a dtype has in memory (bf16 and small floats as integers, boolean as i8).
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);
/// The type it computes in: float for small floats, i1 for boolean, else the memory type.
llvm::Type* compute_type(llvm::LLVMContext& context, DType dtype);
/// Between the two, also for vectors.
llvm::Value* widen(llvm::IRBuilder<>& b, llvm::Value* loaded, DType dtype);
llvm::Value* narrow(llvm::IRBuilder<>& b, llvm::Value* computed, DType dtype);

/// Emits expressions over given operands; shared subtrees once. With a width above 1 operands and
/// results are vectors of as many elements.
class ExprEmitter {
 public:
  ExprEmitter(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& inputs, const MathTarget& math,
              unsigned width)
      : b_(b), inputs_(inputs), math_(math), width_(width) {}
  /// nullptr when something has no code; `problem()` says what.
  llvm::Value* emit(const Expr& e);
  const std::string& problem() const { return problem_; }

 private:
  llvm::Value* compute(const ExprNode& n);
  llvm::Value* constant(const ExprNode& n);
  llvm::Value* cast(const ExprNode& n, llvm::Value* x);
  llvm::Value* float_to_integer(llvm::Value* x, DType to);
  llvm::Value* unary(const ExprNode& n, llvm::Value* x);
  llvm::Value* binary(const ExprNode& n, llvm::Value* x, llvm::Value* y);
  llvm::Value* compare(ScalarOp op, llvm::Value* x, llvm::Value* y, DType dtype);
  llvm::Value* integer_binary(ScalarOp op, llvm::Value* x, llvm::Value* y, DType dtype);
  llvm::Value* divide(llvm::Value* x, llvm::Value* y, DType dtype, bool remainder);
  llvm::Value* shift(ScalarOp op, llvm::Value* x, llvm::Value* y, DType dtype);

  llvm::Type* type_of(DType dtype);

  llvm::IRBuilder<>& b_;
  const std::vector<llvm::Value*>& inputs_;
  MathTarget math_;
  unsigned width_;
  std::unordered_map<const ExprNode*, llvm::Value*> memo_;
  std::string problem_;
};

}  // namespace tenon::codegen
