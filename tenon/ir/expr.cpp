// Construction and printing of scalar expressions.
#include "tenon/ir/expr.h"

#include <array>
#include <set>

namespace tenon {
namespace {

constexpr std::array kNames = {std::string_view("input"), std::string_view("constant"),
                               std::string_view("cast"), std::string_view("select"),
#define TENON_X(name) std::string_view(#name),
                               TENON_SCALAR_UNARY(TENON_X) TENON_SCALAR_BINARY(TENON_X)
#undef TENON_X
};

bool gives_boolean(ScalarOp op) {
  return op == ScalarOp::equal || op == ScalarOp::less || op == ScalarOp::less_equal ||
         op == ScalarOp::logical_and || op == ScalarOp::logical_or || op == ScalarOp::logical_xor ||
         op == ScalarOp::logical_not || op == ScalarOp::is_nan || op == ScalarOp::is_inf;
}

void count(const Expr& e, std::set<const ExprNode*>& seen, int& total) {
  if (!seen.insert(e.id()).second) return;
  if (e.op() != ScalarOp::input && e.op() != ScalarOp::constant && e.op() != ScalarOp::cast)
    ++total;
  for (const Expr& a : e.args()) count(a, seen, total);
}

}  // namespace

std::string_view name(ScalarOp op) { return kNames[static_cast<std::size_t>(op)]; }

Expr Expr::input(int index, DType dtype) {
  ExprNode n;
  n.op = ScalarOp::input;
  n.dtype = dtype;
  n.input = index;
  return Expr(std::make_shared<const ExprNode>(std::move(n)));
}

Expr Expr::constant(double value, DType dtype) {
  ExprNode n;
  n.dtype = dtype;
  n.number = value;
  n.integer = is_floating(dtype) ? 0 : static_cast<std::int64_t>(value);
  return Expr(std::make_shared<const ExprNode>(std::move(n)));
}

Expr Expr::integer(std::int64_t value, DType dtype) {
  ExprNode n;
  n.dtype = dtype;
  n.number = static_cast<double>(value);
  n.integer = value;
  return Expr(std::make_shared<const ExprNode>(std::move(n)));
}

Expr Expr::make(ScalarOp op, DType dtype, std::vector<Expr> args) {
  ExprNode n;
  n.op = op;
  n.dtype = dtype;
  n.args = std::move(args);
  return Expr(std::make_shared<const ExprNode>(std::move(n)));
}

Expr Expr::cast(Expr x, DType to, Overflow overflow, Rounding rounding) {
  ExprNode n;
  n.op = ScalarOp::cast;
  n.dtype = to;
  n.overflow = overflow;
  n.rounding = rounding;
  n.args = {std::move(x)};
  return Expr(std::make_shared<const ExprNode>(std::move(n)));
}

ScalarOp Expr::op() const { return node_->op; }
DType Expr::dtype() const { return node_->dtype; }
const std::vector<Expr>& Expr::args() const { return node_->args; }

int Expr::num_operations() const {
  std::set<const ExprNode*> seen;
  int total = 0;
  count(*this, seen, total);
  return total;
}

std::string Expr::text() const {
  const ExprNode& n = *node_;
  if (n.op == ScalarOp::input) return fmt::format("x{}", n.input);
  if (n.op == ScalarOp::constant)
    return is_floating(n.dtype) ? fmt::format("{}", n.number) : fmt::format("{}", n.integer);
  std::string out(n.op == ScalarOp::cast ? tenon::name(n.dtype) : tenon::name(n.op));
  out += "(";
  for (std::size_t i = 0; i < n.args.size(); ++i) out += (i ? ", " : "") + n.args[i].text();
  return out + ")";
}

namespace scalar {

#define TENON_X(fn)                                                           \
  Expr fn(Expr x) {                                                           \
    const DType d = gives_boolean(ScalarOp::fn) ? DType::boolean : x.dtype(); \
    return Expr::make(ScalarOp::fn, d, {std::move(x)});                       \
  }
TENON_SCALAR_UNARY(TENON_X)
#undef TENON_X
#define TENON_X(fn)                                                                             \
  Expr fn(Expr a, Expr b) {                                                                     \
    TENON_CHECK(a.dtype() == b.dtype(), #fn " of {} and {}", name(a.dtype()), name(b.dtype())); \
    const DType d = gives_boolean(ScalarOp::fn) ? DType::boolean : a.dtype();                   \
    return Expr::make(ScalarOp::fn, d, {std::move(a), std::move(b)});                           \
  }
TENON_SCALAR_BINARY(TENON_X)
#undef TENON_X

Expr select(Expr condition, Expr a, Expr b) {
  TENON_CHECK(a.dtype() == b.dtype(), "select of {} and {}", tenon::name(a.dtype()),
              tenon::name(b.dtype()));
  const DType d = a.dtype();
  return Expr::make(ScalarOp::select, d, {std::move(condition), std::move(a), std::move(b)});
}

Expr cast(Expr x, DType to) { return x.dtype() == to ? x : Expr::cast(std::move(x), to); }
Expr like(const Expr& x, double value) { return Expr::constant(value, x.dtype()); }

}  // namespace scalar
}  // namespace tenon
