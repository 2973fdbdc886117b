// Canonical text of loop nests, and merging of axes.
#include "tenon/codegen/loop_nest.h"

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

std::string operand_text(const LoopOperand& o) {
  return fmt::format("{}{}", name(o.dtype), "01n"[static_cast<int>(o.inner)]);
}

bool walks_as_one(const LoopAxes& axes, std::size_t outer, std::size_t inner) {
  for (const auto& s : axes.strides)
    if (s[outer] != s[inner] * axes.sizes[inner]) return false;
  return true;
}

void erase_axis(LoopAxes& axes, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  axes.sizes.erase(axes.sizes.begin() + at);
  for (auto& s : axes.strides) s.erase(s.begin() + at);
}

}  // namespace

std::string LoopNest::text() const {
  std::string out = fmt::format("v1 axes {} reduced {} combine {} in", num_axes, num_reduced,
                                static_cast<int>(combine));
  for (const LoopOperand& o : inputs) out += " " + operand_text(o);
  out += " out";
  for (const LoopOperand& o : outputs) out += " " + operand_text(o);
  for (const Expr& e : exprs) out += " | " + ExprText()(e);
  if (post.defined()) out += " post " + ExprText()(post);
  return out;
}

LoopAxes merged(const LoopAxes& given) {
  LoopAxes axes = given;
  const auto kept = [&] { return axes.sizes.size() - static_cast<std::size_t>(axes.num_reduced); };
  for (std::size_t i = axes.sizes.size(); i-- > 0;) {
    if (axes.sizes[i] != 1) continue;
    if (i >= kept()) --axes.num_reduced;
    erase_axis(axes, i);
  }
  for (std::size_t i = axes.sizes.size(); i-- > 1;) {
    if (i == kept() || !walks_as_one(axes, i - 1, i))
      continue;  // a kept and a reduced axis never merge
    if (i >= kept()) --axes.num_reduced;
    axes.sizes[i] *= axes.sizes[i - 1];
    erase_axis(axes, i - 1);
  }
  if (kept() == 0) {
    axes.sizes.insert(axes.sizes.begin(), 1);
    for (auto& s : axes.strides) s.insert(s.begin(), 0);
  }
  return axes;
}

}  // namespace tenon::codegen
