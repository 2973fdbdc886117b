// Polynomials and range reductions for f32; libm calls for f64 and rare functions. Polynomials are
// minimax fits (iteratively reweighted least squares in double, error of the fit beside each).
//
// exp: e^x = 2^n * e^r, n = round(x / ln 2), |r| <= ln 2 / 2. log: x = 2^e * m, m in [sqrt(1/2),
// sqrt 2), a polynomial in m - 1. tanh and erf: an odd polynomial near 0, else 1 - 2 / (e^2|x| + 1)
// and 1 - e^-q(|x|), q = -log erfc.
#include "tenon/codegen/llvm/scalar_math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
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
  FloatMath(IRBuilder<>& b, const MathTarget& target, Value* x)
      : b_(b), target_(target), f32_(x->getType()), i32_(b.getInt32Ty()) {
    if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(f32_))
      i32_ = llvm::FixedVectorType::get(i32_, v->getNumElements());
  }

  Value* c(double v) { return llvm::ConstantFP::get(f32_, v); }
  Value* whole(std::uint32_t v) { return llvm::ConstantInt::get(i32_, v); }
  Value* intrinsic(llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); }
  Value* fma(Value* x, Value* y, Value* z) {
    if (target_.has_fma) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {f32_}, {x, y, z});
    return b_.CreateFAdd(b_.CreateFMul(x, y), z);
  }
  Value* at_least(Value* x, double low) {  // NaN passes
    return b_.CreateSelect(b_.CreateFCmpOLT(x, c(low)), c(low), x);
  }
  Value* at_most(Value* x, double high) {
    return b_.CreateSelect(b_.CreateFCmpOGT(x, c(high)), c(high), x);
  }
  // c0 + c1 x + c2 x^2 + ...
  Value* polynomial(Value* x, std::initializer_list<double> coefficients) {
    Value* sum = nullptr;
    for (auto it = std::rbegin(coefficients); it != std::rend(coefficients); ++it)
      sum = sum ? fma(sum, x, c(*it)) : c(*it);
    return sum;
  }
  // p * 2^n for p in [1/2, 2) and n = `bits` - kRounder's bits, n in [-252, 254]: in two factors,
  // so that subnormal results stay right.
  Value* scaled(Value* p, Value* rounded) {
    Value* n = b_.CreateSub(b_.CreateBitCast(rounded, i32_), whole(kRounderBits));
    Value* half = b_.CreateAShr(n, 1);
    Value* first = b_.CreateAdd(b_.CreateBitCast(p, i32_), b_.CreateShl(half, 23));
    Value* second = b_.CreateShl(b_.CreateAdd(b_.CreateSub(n, half), whole(127)), 23);
    return b_.CreateFMul(b_.CreateBitCast(first, f32_), b_.CreateBitCast(second, f32_));
  }
  // x * 2^n by vscalefps, 16 elements at a time
  Value* scalef(Value* x, Value* n) {
    const unsigned width = llvm::cast<llvm::FixedVectorType>(f32_)->getNumElements();
    auto* chunk = llvm::FixedVectorType::get(b_.getFloatTy(), 16);
    Value* joined = llvm::PoisonValue::get(f32_);
    for (unsigned from = 0; from < width; from += 16) {
      Value* a = b_.CreateExtractVector(chunk, x, b_.getInt64(from));
      Value* k = b_.CreateExtractVector(chunk, n, b_.getInt64(from));
      Value* y = b_.CreateIntrinsic(
          llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
          {a, k, llvm::PoisonValue::get(chunk), b_.getInt16(0xffff), b_.getInt32(4)});
      joined = width == 16 ? y : b_.CreateInsertVector(f32_, joined, y, b_.getInt64(from));
    }
    return joined;
  }
  bool can_scalef() const {
    auto* v = llvm::dyn_cast<llvm::FixedVectorType>(f32_);
    return target_.has_avx512 && v && v->getNumElements() % 16 == 0;
  }
  Value* exp(Value* x) {
    // Clamped where the result is 0 or infinity anyway; NaN passes. Adding the rounder leaves the
    // nearest integer in the low bits.
    Value* y = at_most(at_least(x, -104), 89);
    Value* rounded = fma(y, c(1.44269504088896341), c(kRounder));
    Value* n = b_.CreateFSub(rounded, c(kRounder));
    Value* r = fma(n, c(2.12194440e-4), fma(n, c(-0.693359375), y));  // ln 2 in two parts
    Value* tail = polynomial(r, {0.5, 0.166665181517601, 0.04166620597243309, 0.008368955925107002,
                                 0.0013950603315606713});  // 3e-9
    Value* p = fma(b_.CreateFMul(r, r), tail, b_.CreateFAdd(r, c(1)));
    if (can_scalef()) return scalef(p, n);
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, scaled(p, rounded));
  }
  Value* log(Value* x) {
    Value* tiny = b_.CreateFCmpOLT(x, c(std::numeric_limits<float>::min()));
    Value* normal =
        b_.CreateSelect(tiny, b_.CreateFMul(x, c(8388608)), x);  // subnormals: times 2^23
    Value* bits = b_.CreateBitCast(normal, i32_);
    Value* shifted = b_.CreateSub(bits, whole(0x3f3504f3));  // sqrt(1/2)
    Value* e = b_.CreateAShr(shifted, 23);
    Value* m = b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(e, 23)), f32_);
    Value* f = b_.CreateFSub(m, c(1));
    Value* f2 = b_.CreateFMul(f, f);
    Value* tail =
        polynomial(f, {0.33333312599534415, -0.25000009599466155, 0.20002118982253814,
                       -0.16667996134908483, 0.14219545710634832, -0.12405578762683987,
                       0.11888202995831777, -0.11675736784108297, 0.0674665479174837});  // 8e-10
    Value* exponent = b_.CreateFSub(b_.CreateSIToFP(e, f32_), b_.CreateSelect(tiny, c(23), c(0)));
    // f - f^2 / 2 + f^3 * tail, the small parts first
    Value* small = fma(exponent, c(-2.12194440e-4), b_.CreateFMul(f2, fma(f, tail, c(-0.5))));
    Value* y = fma(exponent, c(0.693359375), b_.CreateFAdd(f, small));
    const double inf = std::numeric_limits<double>::infinity();
    y = b_.CreateSelect(b_.CreateFCmpOEQ(x, c(0)), c(-inf), y);
    y = b_.CreateSelect(b_.CreateFCmpOEQ(x, c(inf)), c(inf), y);
    return b_.CreateSelect(b_.CreateFCmpULT(x, c(0)), c(std::nan("")), y);
  }
  Value* tanh(Value* x) {
    Value* a = intrinsic(llvm::Intrinsic::fabs, x);
    Value* grown = b_.CreateFAdd(exp(b_.CreateFAdd(a, a)), c(1));
    Value* large = b_.CreateFSub(c(1), b_.CreateFDiv(c(2), grown));
    Value* z = b_.CreateFMul(x, x);
    Value* tail = polynomial(z, {-0.3333328509491122, 0.13331729562262226, -0.05377185148261089,
                                 0.020763593222426806, -0.005863218263379293});  // 2e-9
    Value* small = fma(b_.CreateFMul(a, z), tail, a);
    Value* y = b_.CreateSelect(b_.CreateFCmpOLT(a, c(0.6)), small, large);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, y, x);
  }
  Value* erf(Value* x) {
    Value* a = intrinsic(llvm::Intrinsic::fabs, x);
    Value* t = at_most(a, 4);  // 1 beyond
    Value* q = polynomial(t, {0.00016920099376980784, -1.1294883862995357, -0.6334008920357572,
                              -0.1082203382257545, 0.02508058656280991, -0.004156243445827089,
                              0.0004313911793675173, -2.0828410564735466e-05});  // of -q, 6e-11
    Value* large = b_.CreateFSub(c(1), exp(q));
    Value* z = b_.CreateFMul(x, x);
    Value* tail = polynomial(
        z, {0.1283791659149993, -0.37612627138932064, 0.11283600195658149, -0.026854445106344143,
            0.005189535942811735, -0.0008020844060385495, 7.889121752247494e-05});  // 1e-9
    Value* small = fma(a, tail, a);
    Value* y = b_.CreateSelect(b_.CreateFCmpOLT(a, c(0.92)), small, large);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, y, x);
  }

 private:
  static constexpr double kRounder = 12582912;  // 1.5 * 2^23
  static constexpr std::uint32_t kRounderBits = 0x4b400000;
  IRBuilder<>& b_;
  MathTarget target_;
  llvm::Type* f32_;
  llvm::Type* i32_;
};

// One call for each element.
Value* call(IRBuilder<>& b, const std::string& name, llvm::ArrayRef<Value*> args) {
  if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(args[0]->getType())) {
    Value* joined = llvm::PoisonValue::get(v);
    for (unsigned i = 0; i < v->getNumElements(); ++i) {
      llvm::SmallVector<Value*, 2> lane;
      for (Value* a : args) lane.push_back(b.CreateExtractElement(a, i));
      joined = b.CreateInsertElement(joined, call(b, name, lane), i);
    }
    return joined;
  }
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

// The number that y is, in every lane; nullptr when it is no constant.
const llvm::ConstantFP* constant_of(Value* y) {
  auto* k = llvm::dyn_cast<llvm::Constant>(y);
  if (k && k->getType()->isVectorTy()) k = k->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(k);
}

// x / c for a number c, without a division but with its rounding: a product with the reciprocal,
// corrected by what it leaves (Markstein, "IA-64 and elementary functions", 2000). The product
// stands where it leaves nothing (the sign of 0 is right) or is infinite or no number. nullptr: c
// is no ordinary constant.
Value* divided_by_constant(IRBuilder<>& b, Value* x, Value* y) {
  const llvm::ConstantFP* k = constant_of(y);
  if (!k) return nullptr;
  const float c = k->getValueAPF().convertToFloat();
  if (!(std::fabs(c) > 1e-18f && std::fabs(c) < 1e18f)) return nullptr;
  llvm::Type* t = x->getType();
  const auto fma = [&](Value* p, Value* q, Value* r) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {t}, {p, q, r});
  };
  Value* reciprocal = llvm::ConstantFP::get(t, static_cast<double>(1.0f / c));
  Value* q = b.CreateFMul(x, reciprocal);
  Value* rest = fma(b.CreateFNeg(q), y, x);
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, q);
  Value* stands = b.CreateOr(b.CreateFCmpUEQ(size, llvm::ConstantFP::getInfinity(t)),
                             b.CreateFCmpOEQ(rest, llvm::ConstantFP::get(t, 0)));
  return b.CreateSelect(stands, q, fma(rest, reciprocal, q));
}

}  // namespace

Value* emit_unary(IRBuilder<>& b, const MathTarget& target, ScalarOp op, Value* x) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
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
      if (single) return FloatMath(b, target, x).exp(x);
      break;
    case ScalarOp::log:
      if (single) return FloatMath(b, target, x).log(x);
      break;
    case ScalarOp::tanh:
      if (single) return FloatMath(b, target, x).tanh(x);
      break;
    case ScalarOp::erf:
      if (single) return FloatMath(b, target, x).erf(x);
      break;
    case ScalarOp::digamma: return nullptr;
    default: break;
  }
  return call(b, library_name(op, single), {x});
}

Value* emit_binary(IRBuilder<>& b, const MathTarget& target, ScalarOp op, Value* x, Value* y) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  switch (op) {
    case ScalarOp::add: return b.CreateFAdd(x, y);
    case ScalarOp::sub: return b.CreateFSub(x, y);
    case ScalarOp::mul: return b.CreateFMul(x, y);
    case ScalarOp::div:
      if (single && target.has_fma)
        if (Value* q = divided_by_constant(b, x, y)) return q;
      return b.CreateFDiv(x, y);
    case ScalarOp::min: return extreme(b, x, y, false);
    case ScalarOp::max: return extreme(b, x, y, true);
    case ScalarOp::rem: return call(b, single ? "fmodf" : "fmod", {x, y});
    case ScalarOp::atan2: return call(b, single ? "atan2f" : "atan2", {x, y});
    case ScalarOp::pow:
      if (const llvm::ConstantFP* k = constant_of(y)) {  // the exponents that models really use
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
