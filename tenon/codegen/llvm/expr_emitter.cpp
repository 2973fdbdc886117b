// Types, casts and integer arithmetic of scalar expressions. Meaning: ops/scalar_evaluator.cpp.
#include "tenon/codegen/llvm/expr_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "tenon/codegen/llvm/scalar_math.h"

namespace tenon::codegen {
namespace {

using llvm::IRBuilder;
using llvm::Value;

bool is_unsigned(DType d) {
  return class_of(d) == DTypeClass::unsigned_integer || d == DType::boolean;
}

// The scalar type `element`, or a vector of it where `like` is a vector.
llvm::Type* shaped(llvm::Type* element, const Value* like) {
  auto* v = llvm::dyn_cast<llvm::VectorType>(like->getType());
  return v ? llvm::VectorType::get(element, v->getElementCount()) : element;
}

// bf16 from float, round to nearest even; NaN keeps a quiet payload
Value* float_to_bf16_bits(IRBuilder<>& b, Value* x) {
  Value* bits = b.CreateBitCast(x, shaped(b.getInt32Ty(), x));
  Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  Value* rounded = b.CreateLShr(
      b.CreateAdd(bits, b.CreateAdd(odd, llvm::ConstantInt::get(bits->getType(), 0x7fff))), 16);
  Value* quiet = b.CreateOr(b.CreateLShr(bits, 16), 0x40);
  return b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded),
                       shaped(b.getInt16Ty(), x));
}

// Wraps an i8 that holds an integer of 4 or 2 bits.
Value* wrap_small(IRBuilder<>& b, Value* x, DType d) {
  const int bits = bits_of(d);
  if (d == DType::boolean || bits >= 8) return x;
  const std::uint64_t spare = static_cast<std::uint64_t>(8 - bits);
  Value* up = b.CreateShl(x, spare);
  return is_unsigned(d) ? b.CreateLShr(up, spare) : b.CreateAShr(up, spare);
}

}  // namespace

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::f32) return llvm::Type::getFloatTy(context);
  if (dtype == DType::f64) return llvm::Type::getDoubleTy(context);
  if (dtype == DType::f16) return llvm::Type::getHalfTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(size_of(dtype)) * 8);
}

llvm::Type* compute_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::f64) return llvm::Type::getDoubleTy(context);
  if (is_floating(dtype)) return llvm::Type::getFloatTy(context);
  if (dtype == DType::boolean) return llvm::Type::getInt1Ty(context);
  return memory_type(context, dtype);
}

Value* widen(IRBuilder<>& b, Value* loaded, DType dtype) {
  if (dtype == DType::f16) return b.CreateFPExt(loaded, shaped(b.getFloatTy(), loaded));
  if (dtype == DType::bf16)
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(loaded, shaped(b.getInt32Ty(), loaded)), 16),
                           shaped(b.getFloatTy(), loaded));
  if (dtype == DType::boolean)
    return b.CreateICmpNE(loaded, llvm::ConstantInt::get(loaded->getType(), 0));
  return loaded;
}

Value* narrow(IRBuilder<>& b, Value* computed, DType dtype) {
  if (dtype == DType::f16) return b.CreateFPTrunc(computed, shaped(b.getHalfTy(), computed));
  if (dtype == DType::bf16) return float_to_bf16_bits(b, computed);
  if (dtype == DType::boolean) return b.CreateZExt(computed, shaped(b.getInt8Ty(), computed));
  return computed;
}

llvm::Type* ExprEmitter::type_of(DType dtype) {
  llvm::Type* t = compute_type(b_.getContext(), dtype);
  return width_ == 1 ? t : llvm::FixedVectorType::get(t, width_);
}

Value* ExprEmitter::emit(const Expr& e) {
  auto it = memo_.find(e.id());
  if (it != memo_.end()) return it->second;
  Value* v = compute(e.node());
  if (!v && problem_.empty())
    problem_ = fmt::format("{} of {} has no code", name(e.op()), name(e.dtype()));
  return memo_[e.id()] = v;
}

Value* ExprEmitter::compute(const ExprNode& n) {
  if (n.op == ScalarOp::input) return inputs_[static_cast<std::size_t>(n.input)];
  if (n.op == ScalarOp::constant) return constant(n);
  std::vector<Value*> args;
  for (const Expr& a : n.args) {
    args.push_back(emit(a));
    if (!args.back()) return nullptr;
  }
  if (n.op == ScalarOp::cast) return cast(n, args[0]);
  if (n.op == ScalarOp::select) return b_.CreateSelect(args[0], args[1], args[2]);
  return args.size() == 1 ? unary(n, args[0]) : binary(n, args[0], args[1]);
}

Value* ExprEmitter::constant(const ExprNode& n) {
  llvm::Type* t = type_of(n.dtype);
  if (is_floating(n.dtype))
    return llvm::ConstantFP::get(
        t, n.dtype == DType::f64 ? n.number : static_cast<double>(static_cast<float>(n.number)));
  return llvm::ConstantInt::get(
      t, static_cast<std::uint64_t>(n.dtype == DType::boolean ? n.integer != 0 : n.integer), true);
}

Value* ExprEmitter::float_to_integer(Value* x, DType to) {
  if (to == DType::boolean) return b_.CreateFCmpUNE(x, llvm::ConstantFP::get(x->getType(), 0));
  // Saturates to 64 bits, then wraps: the rule of the interpreter, without undefined cases.
  const auto id = to == DType::u64 ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
  llvm::Type* wide = shaped(
      to == DType::i32 || size_of(to) == 8 || to == DType::u32 ? b_.getInt64Ty() : b_.getInt32Ty(),
      x);
  Value* v = b_.CreateIntrinsic(id, {wide, x->getType()}, {x});
  return wrap_small(b_, b_.CreateTrunc(v, type_of(to)), to);
}

Value* ExprEmitter::cast(const ExprNode& n, Value* x) {
  const DType from = n.args[0].dtype(), to = n.dtype;
  llvm::Type* t = type_of(to);
  if (is_floating(to)) {
    Value* v = x;
    if (is_floating(from))
      v = from == DType::f64 && to != DType::f64 ? b_.CreateFPTrunc(x, t) : b_.CreateFPCast(x, t);
    else
      v = is_unsigned(from) ? b_.CreateUIToFP(x, t) : b_.CreateSIToFP(x, t);
    // A cast to a small float rounds here, though computing goes on in float.
    return to == DType::f32 || to == DType::f64 ? v : widen(b_, narrow(b_, v, to), to);
  }
  if (is_floating(from)) return float_to_integer(x, to);
  if (to == DType::boolean)
    return from == DType::boolean ? x : b_.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), 0));
  Value* v = is_unsigned(from) ? b_.CreateZExtOrTrunc(x, t) : b_.CreateSExtOrTrunc(x, t);
  return wrap_small(b_, v, to);
}

Value* ExprEmitter::unary(const ExprNode& n, Value* x) {
  const DType from = n.args[0].dtype();
  Value* nothing = llvm::ConstantInt::getFalse(shaped(b_.getInt1Ty(), x));
  if (n.op == ScalarOp::is_nan) return is_floating(from) ? b_.CreateFCmpUNO(x, x) : nothing;
  if (n.op == ScalarOp::is_inf) {
    if (!is_floating(from)) return nothing;
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    return b_.CreateFCmpOEQ(size, llvm::ConstantFP::getInfinity(x->getType()));
  }
  if (is_floating(from)) return emit_unary(b_, math_, n.op, x);
  Value* zero = llvm::ConstantInt::get(x->getType(), 0);
  switch (n.op) {
    case ScalarOp::neg: return wrap_small(b_, b_.CreateNeg(x), from);
    case ScalarOp::abs:
      return is_unsigned(from)
                 ? x
                 : wrap_small(b_, b_.CreateSelect(b_.CreateICmpSLT(x, zero), b_.CreateNeg(x), x),
                              from);
    case ScalarOp::sign: {
      Value* one = llvm::ConstantInt::get(x->getType(), 1);
      if (is_unsigned(from)) return b_.CreateSelect(b_.CreateICmpNE(x, zero), one, zero);
      return b_.CreateSelect(
          b_.CreateICmpSGT(x, zero), one,
          b_.CreateSelect(b_.CreateICmpSLT(x, zero),
                          llvm::ConstantInt::getAllOnesValue(x->getType()), zero));
    }
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::trunc:
    case ScalarOp::round_even: return x;
    case ScalarOp::bit_not: return wrap_small(b_, b_.CreateNot(x), from);
    case ScalarOp::logical_not:
      return from == DType::boolean ? b_.CreateNot(x) : b_.CreateICmpEQ(x, zero);
    default: return nullptr;
  }
}

Value* ExprEmitter::binary(const ExprNode& n, Value* x, Value* y) {
  const DType from = n.args[0].dtype();
  if (n.op == ScalarOp::equal || n.op == ScalarOp::less || n.op == ScalarOp::less_equal)
    return compare(n.op, x, y, from);
  if (is_floating(from)) return emit_binary(b_, math_, n.op, x, y);
  return integer_binary(n.op, x, y, from);
}

Value* ExprEmitter::compare(ScalarOp op, Value* x, Value* y, DType d) {
  if (is_floating(d))
    return op == ScalarOp::equal  ? b_.CreateFCmpOEQ(x, y)
           : op == ScalarOp::less ? b_.CreateFCmpOLT(x, y)
                                  : b_.CreateFCmpOLE(x, y);
  if (op == ScalarOp::equal) return b_.CreateICmpEQ(x, y);
  if (is_unsigned(d)) return op == ScalarOp::less ? b_.CreateICmpULT(x, y) : b_.CreateICmpULE(x, y);
  return op == ScalarOp::less ? b_.CreateICmpSLT(x, y) : b_.CreateICmpSLE(x, y);
}

// By zero gives 0; the most negative value by -1 wraps.
Value* ExprEmitter::divide(Value* x, Value* y, DType d, bool remainder) {
  Value *zero = llvm::ConstantInt::get(x->getType(), 0),
        *one = llvm::ConstantInt::get(x->getType(), 1);
  Value* by_zero = b_.CreateICmpEQ(y, zero);
  if (is_unsigned(d)) {
    Value* safe = b_.CreateSelect(by_zero, one, y);
    return b_.CreateSelect(by_zero, zero,
                           remainder ? b_.CreateURem(x, safe) : b_.CreateUDiv(x, safe));
  }
  Value* by_minus = b_.CreateICmpEQ(y, llvm::ConstantInt::getAllOnesValue(y->getType()));
  Value* safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus), one, y);
  Value* q = remainder ? b_.CreateSRem(x, safe) : b_.CreateSDiv(x, safe);
  q = b_.CreateSelect(by_minus, remainder ? zero : b_.CreateNeg(x), q);
  return wrap_small(b_, b_.CreateSelect(by_zero, zero, q), d);
}

Value* ExprEmitter::shift(ScalarOp op, Value* x, Value* y, DType d) {
  Value *zero = llvm::ConstantInt::get(x->getType(), 0),
        *width = llvm::ConstantInt::get(x->getType(), static_cast<std::uint64_t>(bits_of(d)));
  Value* out = b_.CreateICmpUGE(y, width);
  Value* safe = b_.CreateSelect(out, zero, y);
  Value* v = op == ScalarOp::shift_left ? b_.CreateShl(x, safe)
             : is_unsigned(d)           ? b_.CreateLShr(x, safe)
                                        : b_.CreateAShr(x, safe);
  return wrap_small(b_, b_.CreateSelect(out, zero, v), d);
}

Value* ExprEmitter::integer_binary(ScalarOp op, Value* x, Value* y, DType d) {
  const auto truth = [&](Value* v) {
    return v->getType()->getScalarType()->isIntegerTy(1)
               ? v
               : b_.CreateICmpNE(v, llvm::ConstantInt::get(v->getType(), 0));
  };
  switch (op) {
    case ScalarOp::add:
      return d == DType::boolean ? b_.CreateOr(x, y) : wrap_small(b_, b_.CreateAdd(x, y), d);
    case ScalarOp::sub: return wrap_small(b_, b_.CreateSub(x, y), d);
    case ScalarOp::mul: return wrap_small(b_, b_.CreateMul(x, y), d);
    case ScalarOp::div: return divide(x, y, d, false);
    case ScalarOp::rem: return divide(x, y, d, true);
    case ScalarOp::min: return b_.CreateSelect(compare(ScalarOp::less, y, x, d), y, x);
    case ScalarOp::max: return b_.CreateSelect(compare(ScalarOp::less, x, y, d), y, x);
    case ScalarOp::bit_and: return b_.CreateAnd(x, y);
    case ScalarOp::bit_or: return b_.CreateOr(x, y);
    case ScalarOp::bit_xor: return b_.CreateXor(x, y);
    case ScalarOp::shift_left:
    case ScalarOp::shift_right: return shift(op, x, y, d);
    case ScalarOp::logical_and: return b_.CreateAnd(truth(x), truth(y));
    case ScalarOp::logical_or: return b_.CreateOr(truth(x), truth(y));
    case ScalarOp::logical_xor: return b_.CreateXor(truth(x), truth(y));
    default: return nullptr;
  }
}

}  // namespace tenon::codegen
