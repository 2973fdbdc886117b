// Walks over shared expression trees.
#include "tenon/codegen/expr_text.h"

#include <unordered_map>

namespace tenon::codegen {
namespace {

// Shared subtrees are printed once: a chain of n squarings must not print 2^n terms.
class ExprText {
 public:
  std::string operator()(const Expr& e) {
    const std::string root = visit(e);
    return body_ + root;
  }

 private:
  std::string visit(const Expr& e) {
    const ExprNode& n = e.node();
    if (n.op == ScalarOp::input) return fmt::format("x{}:{}", n.input, name(n.dtype));
    if (auto it = seen_.find(e.id()); it != seen_.end()) return it->second;
    std::string args;
    for (const Expr& a : n.args) args += visit(a) + ",";
    if (n.op == ScalarOp::constant)
      args = is_floating(n.dtype) ? fmt::format("{:a}", n.number) : fmt::format("{}", n.integer);
    if (n.op == ScalarOp::cast)
      args += fmt::format("{}{}", static_cast<int>(n.overflow), static_cast<int>(n.rounding));
    const std::string id = fmt::format("t{}", seen_.size());
    body_ += fmt::format("{}={}:{}({});", id, name(n.op), name(n.dtype), args);
    seen_.emplace(e.id(), id);
    return id;
  }
  std::unordered_map<const ExprNode*, std::string> seen_;
  std::string body_;
};

using Replaced = std::unordered_map<const ExprNode*, Expr>;

Expr replace(const Expr& e, const Exprs& inputs, Replaced& done) {
  if (e.op() == ScalarOp::input) return inputs[static_cast<std::size_t>(e.node().input)];
  if (e.args().empty()) return e;
  if (auto it = done.find(e.id()); it != done.end()) return it->second;
  Exprs args;
  for (const Expr& a : e.args()) args.push_back(replace(a, inputs, done));
  Expr made = e.op() == ScalarOp::cast
                  ? Expr::cast(args[0], e.dtype(), e.node().overflow, e.node().rounding)
                  : Expr::make(e.op(), e.dtype(), std::move(args));
  return done.emplace(e.id(), std::move(made)).first->second;
}

}  // namespace

std::string expr_text(const Expr& e) { return ExprText()(e); }

std::string operand_text(const LoopOperand& o) {
  return fmt::format("{}{}", name(o.dtype), "01n"[static_cast<int>(o.inner)]);
}

Expr with_inputs(const Expr& e, const Exprs& inputs) {
  Replaced done;
  return replace(e, inputs, done);
}

}  // namespace tenon::codegen
