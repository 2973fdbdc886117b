// Scalar expressions: what an elementwise operator computes for one element. The interpreter,
// constant folding and generated kernels all come from the same tree.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"

namespace tenon {

/// Unary scalar functions: name and meaning. Integer operands keep their type.
// clang-format off
#define TENON_SCALAR_UNARY(X)                                                                   \
  X(neg) X(abs) X(sign) X(floor) X(ceil) X(round_even) X(trunc)                                 \
  X(exp) X(expm1) X(log) X(log1p) X(sqrt)                                                       \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
  X(erf) X(lgamma) X(digamma) X(bit_not) X(logical_not) X(is_nan) X(is_inf)
// clang-format on
/// Binary scalar functions on operands of one type. div truncates on integers, rem is C's % and
/// fmod (sign of the dividend), min and max return NaN when either is NaN; comparisons give
/// boolean.
// clang-format off
#define TENON_SCALAR_BINARY(X)                                                                  \
  X(add) X(sub) X(mul) X(div) X(rem) X(pow) X(atan2) X(min) X(max)                              \
  X(bit_and) X(bit_or) X(bit_xor) X(shift_left) X(shift_right)                                  \
  X(logical_and) X(logical_or) X(logical_xor) X(equal) X(less) X(less_equal)
// clang-format on

enum class ScalarOp : std::uint8_t {
  input,
  constant,
  cast,
  select,
#define TENON_X(name) name,
  TENON_SCALAR_UNARY(TENON_X) TENON_SCALAR_BINARY(TENON_X)
#undef TENON_X
};
std::string_view name(ScalarOp op);

class Expr;
struct ExprNode;

/// An immutable scalar expression. Small floats (f16, bf16, f8, f4) compute in f32 and round once,
/// where the expression ends or a cast says so.
class Expr {
 public:
  Expr() = default;
  /// Element of input `index`.
  static Expr input(int index, DType dtype);
  static Expr constant(double value, DType dtype);
  static Expr integer(std::int64_t value, DType dtype);
  static Expr make(ScalarOp op, DType dtype, std::vector<Expr> args);
  static Expr cast(Expr x, DType to, Overflow overflow = Overflow::to_special,
                   Rounding rounding = Rounding::nearest_even);

  bool defined() const { return node_ != nullptr; }
  const ExprNode& node() const { return *node_; }
  ScalarOp op() const;
  DType dtype() const;
  const std::vector<Expr>& args() const;
  /// Number of arithmetic nodes: the flops of one element (shared subtrees count once).
  int num_operations() const;
  /// "max(x0, 0)".
  std::string text() const;
  /// Identity of the shared node, for memoising walks.
  const ExprNode* id() const { return node_.get(); }

 private:
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  ScalarOp op = ScalarOp::constant;
  DType dtype = DType::f32;
  int input = 0;                               // of ScalarOp::input
  double number = 0;                           // of a floating constant
  std::int64_t integer = 0;                    // of an integer or boolean constant
  Overflow overflow = Overflow::to_special;    // of a cast
  Rounding rounding = Rounding::nearest_even;  // of a cast
  std::vector<Expr> args;
};

namespace scalar {
#define TENON_X(name) Expr name(Expr x);
TENON_SCALAR_UNARY(TENON_X)
#undef TENON_X
#define TENON_X(name) Expr name(Expr a, Expr b);
TENON_SCALAR_BINARY(TENON_X)
#undef TENON_X
Expr select(Expr condition, Expr a, Expr b);
Expr cast(Expr x, DType to);
/// A constant of x's type.
Expr like(const Expr& x, double value);
}  // namespace scalar

inline Expr operator+(const Expr& a, const Expr& b) { return scalar::add(a, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return scalar::sub(a, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return scalar::mul(a, b); }
inline Expr operator/(const Expr& a, const Expr& b) { return scalar::div(a, b); }
inline Expr operator-(const Expr& a) { return scalar::neg(a); }
inline Expr operator<(const Expr& a, const Expr& b) { return scalar::less(a, b); }
inline Expr operator<=(const Expr& a, const Expr& b) { return scalar::less_equal(a, b); }
inline Expr operator>(const Expr& a, const Expr& b) { return scalar::less(b, a); }
inline Expr operator>=(const Expr& a, const Expr& b) { return scalar::less_equal(b, a); }
// A plain number takes the other operand's type.
inline Expr operator+(const Expr& a, double b) { return a + scalar::like(a, b); }
inline Expr operator-(const Expr& a, double b) { return a - scalar::like(a, b); }
inline Expr operator*(const Expr& a, double b) { return a * scalar::like(a, b); }
inline Expr operator/(const Expr& a, double b) { return a / scalar::like(a, b); }
inline Expr operator+(double a, const Expr& b) { return scalar::like(b, a) + b; }
inline Expr operator-(double a, const Expr& b) { return scalar::like(b, a) - b; }
inline Expr operator*(double a, const Expr& b) { return scalar::like(b, a) * b; }
inline Expr operator/(double a, const Expr& b) { return scalar::like(b, a) / b; }
inline Expr operator<(const Expr& a, double b) { return a < scalar::like(a, b); }
inline Expr operator<=(const Expr& a, double b) { return a <= scalar::like(a, b); }
inline Expr operator>(const Expr& a, double b) { return a > scalar::like(a, b); }
inline Expr operator>=(const Expr& a, double b) { return a >= scalar::like(a, b); }

using Exprs = std::vector<Expr>;

}  // namespace tenon
