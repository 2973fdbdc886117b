// Polynomials and range reductions for f32; libm calls for f64 and rare functions.
//
// exp: e^x = 2^n * e^r, n = round(x / ln 2), |r| <= ln 2 / 2, Taylor to r^7 (relative error <
// 2^-24). log: x = 2^e * m, m in [sqrt(1/2), sqrt 2), log m = 2 atanh(s), s = (m - 1) / (m + 1),
// series to s^9. tanh, sigmoid: from expm1-like forms of exp. erf: Numerical Recipes erfc,
// Chebyshev fit (1.2e-7).
#include "tenon/codegen/llvm/scalar_math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace tenon::codegen {
namespace {

using llvm::IRBuilder;
using llvm::Value;

class FloatMath {
 public:
  explicit FloatMath(IRBuilder<>& b) : b_(b), f32_(b.getFloatTy()), i32_(b.getInt32Ty()) {}

  Value* c(double v) { return llvm::ConstantFP::get(f32_, v); }
  Value* intrinsic(llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); }
  Value* fma(Value* x, Value* y, Value* z) { return b_.CreateFAdd(b_.CreateFMul(x, y), z); }
  // c0 + c1 x + c2 x^2 + ...
  Value* polynomial(Value* x, std::initializer_list<double> coefficients) {
    Value* sum = nullptr;
    for (auto it = std::rbegin(coefficients); it != std::rend(coefficients); ++it)
      sum = sum ? fma(sum, x, c(*it)) : c(*it);
    return sum;
  }
  // 2^n for an integer-valued float n in [-126, 127]
  Value* power_of_two(Value* n) {
    Value* i = b_.CreateFPToSI(n, i32_);
    return b_.CreateBitCast(b_.CreateShl(b_.CreateAdd(i, llvm::ConstantInt::get(i32_, 127)), 23),
                            f32_);
  }
  Value* exp(Value* x) {
    // Clamped so that 2^n stays finite in two factors; NaN passes through the final select.
    Value* low = b_.CreateSelect(b_.CreateFCmpOLT(x, c(-104)), c(-104), x);
    Value* y = b_.CreateSelect(b_.CreateFCmpOGT(low, c(89)), c(89), low);
    Value* n = intrinsic(llvm::Intrinsic::rint, b_.CreateFMul(y, c(1.44269504088896341)));
    Value* r = b_.CreateFSub(b_.CreateFSub(y, b_.CreateFMul(n, c(0.693359375))),
                             b_.CreateFMul(n, c(-2.12194440e-4)));
    Value* p = polynomial(r, {1, 1, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040});
    Value* half = intrinsic(llvm::Intrinsic::trunc,
                            b_.CreateFMul(n, c(0.5)));  // two factors: subnormal results stay right
    Value* scaled =
        b_.CreateFMul(b_.CreateFMul(p, power_of_two(half)), power_of_two(b_.CreateFSub(n, half)));
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, scaled);
  }
  Value* log(Value* x) {
    Value* tiny = b_.CreateFCmpOLT(x, c(std::numeric_limits<float>::min()));
    Value* normal =
        b_.CreateSelect(tiny, b_.CreateFMul(x, c(8388608)), x);  // subnormals: times 2^23
    Value* bits = b_.CreateBitCast(normal, i32_);
    Value* shifted = b_.CreateSub(bits, llvm::ConstantInt::get(i32_, 0x3f3504f3));  // sqrt(1/2)
    Value* e = b_.CreateAShr(shifted, 23);
    Value* m = b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(e, 23)), f32_);
    Value* s = b_.CreateFDiv(b_.CreateFSub(m, c(1)), b_.CreateFAdd(m, c(1)));
    Value* z = b_.CreateFMul(s, s);
    Value* series = b_.CreateFMul(b_.CreateFMul(c(2), s),
                                  polynomial(z, {1, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9}));
    Value* exponent = b_.CreateFSub(b_.CreateSIToFP(e, f32_), b_.CreateSelect(tiny, c(23), c(0)));
    Value* y = b_.CreateFAdd(b_.CreateFMul(exponent, c(0.693359375)),
                             b_.CreateFAdd(b_.CreateFMul(exponent, c(-2.12194440e-4)), series));
    const double inf = std::numeric_limits<double>::infinity();
    y = b_.CreateSelect(b_.CreateFCmpOEQ(x, c(0)), c(-inf), y);
    y = b_.CreateSelect(b_.CreateFCmpOEQ(x, c(inf)), c(inf), y);
    return b_.CreateSelect(b_.CreateFCmpULT(x, c(0)), c(std::nan("")), y);
  }
  // tanh x = sign(x) (1 - 2 / (e^(2|x|) + 1)); near 0 an odd series
  Value* tanh(Value* x) {
    Value* a = intrinsic(llvm::Intrinsic::fabs, x);
    Value* large =
        b_.CreateFSub(c(1), b_.CreateFDiv(c(2), b_.CreateFAdd(exp(b_.CreateFMul(a, c(2))), c(1))));
    Value* z = b_.CreateFMul(x, x);
    Value* small = b_.CreateFMul(
        a, polynomial(z, {1, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835, -1382.0 / 155925}));
    Value* y = b_.CreateSelect(b_.CreateFCmpOLT(a, c(0.55)), small, large);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, y, x);
  }
  // erfc fit of Numerical Recipes (Press et al., 6.2), series of erf below 0.5 for relative
  // accuracy
  Value* erf(Value* x) {
    Value* a = intrinsic(llvm::Intrinsic::fabs, x);
    Value* t = b_.CreateFDiv(c(1), fma(a, c(0.5), c(1)));
    Value* p = polynomial(t, {-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806,
                              0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277});
    Value* erfc = b_.CreateFMul(t, exp(b_.CreateFSub(p, b_.CreateFMul(a, a))));
    Value* z = b_.CreateFMul(x, x);
    Value* small =
        b_.CreateFMul(a, polynomial(z, {1.1283791671, -0.3761263890, 0.1128379167, -0.0268661706,
                                        0.0052239776, -0.0008548327, 0.00012055}));
    Value* y = b_.CreateSelect(b_.CreateFCmpOLT(a, c(0.75)), small, b_.CreateFSub(c(1), erfc));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, y, x);
  }

 private:
  IRBuilder<>& b_;
  llvm::Type* f32_;
  llvm::Type* i32_;
};

Value* call(IRBuilder<>& b, const std::string& name, llvm::ArrayRef<Value*> args) {
  llvm::Module* m = b.GetInsertBlock()->getModule();
  std::vector<llvm::Type*> types;
  for (Value* a : args) types.push_back(a->getType());
  auto f = m->getOrInsertFunction(name, llvm::FunctionType::get(args[0]->getType(), types, false));
  llvm::CallInst* c = b.CreateCall(f, args);
  c->setDoesNotAccessMemory();
  c->setDoesNotThrow();
  return c;
}

std::string library_name(ScalarOp op, bool single) {
  return std::string(name(op)) + (single ? "f" : "");
}

Value* sign(IRBuilder<>& b, Value* x) {
  llvm::Type* t = x->getType();
  Value *zero = llvm::ConstantFP::get(t, 0), *one = llvm::ConstantFP::get(t, 1),
        *minus = llvm::ConstantFP::get(t, -1);
  Value* s = b.CreateSelect(b.CreateFCmpOGT(x, zero), one,
                            b.CreateSelect(b.CreateFCmpOLT(x, zero), minus, zero));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, s);
}

// min and max that give NaN when either operand is NaN
Value* extreme(IRBuilder<>& b, Value* x, Value* y, bool wants_max) {
  Value* pick = wants_max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  Value* m = b.CreateSelect(pick, x, y);  // y when either is NaN
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, m);
}

}  // namespace

Value* emit_unary(IRBuilder<>& b, ScalarOp op, Value* x) {
  const bool single = x->getType()->isFloatTy();
  switch (op) {
    case ScalarOp::neg: return b.CreateFNeg(x);
    case ScalarOp::abs: return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    case ScalarOp::sign: return sign(b, x);
    case ScalarOp::floor: return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case ScalarOp::ceil: return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
    case ScalarOp::trunc: return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
    case ScalarOp::round_even: return b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x);
    case ScalarOp::sqrt: return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case ScalarOp::exp:
      if (single) return FloatMath(b).exp(x);
      break;
    case ScalarOp::log:
      if (single) return FloatMath(b).log(x);
      break;
    case ScalarOp::tanh:
      if (single) return FloatMath(b).tanh(x);
      break;
    case ScalarOp::erf:
      if (single) return FloatMath(b).erf(x);
      break;
    case ScalarOp::digamma: return nullptr;
    default: break;
  }
  return call(b, library_name(op, single), {x});
}

Value* emit_binary(IRBuilder<>& b, ScalarOp op, Value* x, Value* y) {
  const bool single = x->getType()->isFloatTy();
  switch (op) {
    case ScalarOp::add: return b.CreateFAdd(x, y);
    case ScalarOp::sub: return b.CreateFSub(x, y);
    case ScalarOp::mul: return b.CreateFMul(x, y);
    case ScalarOp::div: return b.CreateFDiv(x, y);
    case ScalarOp::min: return extreme(b, x, y, false);
    case ScalarOp::max: return extreme(b, x, y, true);
    case ScalarOp::rem: return call(b, single ? "fmodf" : "fmod", {x, y});
    case ScalarOp::atan2: return call(b, single ? "atan2f" : "atan2", {x, y});
    case ScalarOp::pow:
      if (auto* k = llvm::dyn_cast<llvm::ConstantFP>(y)) {  // the exponents that models really use
        const double v = single ? static_cast<double>(k->getValueAPF().convertToFloat())
                                : k->getValueAPF().convertToDouble();
        if (v == 2) return b.CreateFMul(x, x);
        if (v == 3) return b.CreateFMul(b.CreateFMul(x, x), x);
        if (v == 1) return x;
      }
      return call(b, single ? "powf" : "pow", {x, y});
    default: return nullptr;
  }
}

}  // namespace tenon::codegen
