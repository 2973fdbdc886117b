// Text, scratch and schedules of loop programs.
#include "tenon/codegen/loop_program.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tenon/codegen/expr_text.h"

namespace tenon::codegen {
namespace {

// Exponents that become products.
bool is_small_power(const Expr& e) {
  const double v = e.op() == ScalarOp::constant && is_floating(e.dtype()) ? e.node().number : 0;
  return v == 1 || v == 2 || v == 3;
}

// Calls of library functions are made lane by lane: wide vectors would only spill around them.
bool calls_library(const Expr& e) {
  switch (e.op()) {
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::tanh:
    case ScalarOp::erf: return e.dtype() == DType::f64;
    case ScalarOp::expm1:
    case ScalarOp::log1p:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::tan:
    case ScalarOp::asin:
    case ScalarOp::acos:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::cosh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::lgamma:
    case ScalarOp::rem:
    case ScalarOp::atan2: return true;
    case ScalarOp::pow: return !is_small_power(e.args()[1]);
    default: return false;
  }
}

template <class Visit>
void walk(const Expr& e, std::unordered_set<const ExprNode*>& seen, Visit&& visit) {
  if (!seen.insert(e.id()).second) return;
  visit(e);
  for (const Expr& a : e.args()) walk(a, seen, visit);
}

std::string statement_text(const LoopStatement& s) {
  return fmt::format("{}{}.{}<-{}", "sto"[static_cast<int>(s.target)], s.index,
                     static_cast<int>(s.combine), expr_text(s.value));
}

std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::vector<int> operands_of(const Exprs& exprs) {
  std::set<int> found;
  std::unordered_set<const ExprNode*> seen;
  for (const Expr& e : exprs)
    walk(e, seen, [&](const Expr& x) {
      if (x.op() == ScalarOp::input) found.insert(x.node().input);
    });
  return {found.begin(), found.end()};
}

std::size_t scratch_size(DType dtype) {
  return is_floating(dtype) && dtype != DType::f64 ? 4 : static_cast<std::size_t>(size_of(dtype));
}

std::string LoopProgram::text() const {
  std::string out = fmt::format("v5 kept {} row {} lanes {} width {} in", num_kept, num_row,
                                static_cast<int>(lanes), schedule.width);
  for (const LoopOperand& o : inputs) out += " " + operand_text(o);
  out += " out";
  for (const LoopOperand& o : outputs) out += " " + operand_text(o);
  for (DType d : scalars) out += fmt::format(" scalar {}", name(d));
  for (DType d : scratch) out += fmt::format(" scratch {}", name(d));
  for (const LoopStep& step : steps) {
    out += step.over_row ? " | row" : " | once";
    for (const LoopStatement& s : step.statements) out += " " + statement_text(s);
  }
  return out;
}

std::size_t LoopProgram::scratch_bytes(std::int64_t row_elements) const {
  const std::int64_t rows = lanes == Lanes::across_rows ? schedule.width : 1;
  std::size_t bytes = 0;
  for (DType d : scratch)
    bytes += padded(static_cast<std::size_t>(row_elements * rows) * scratch_size(d));
  return bytes;
}

LoopProgram program_of(const LoopNest& nest) {
  LoopProgram p;
  p.num_kept = nest.num_axes - nest.num_reduced;
  p.num_row = nest.num_reduced;
  p.inputs = nest.inputs;
  p.outputs = nest.outputs;
  LoopStep last;
  if (nest.num_reduced) {
    p.lanes = Lanes::along_row;
    const DType d = nest.exprs[0].dtype();
    const int accumulator = static_cast<int>(nest.inputs.size());
    p.scalars = {d};
    p.steps.push_back({true, {{nest.exprs[0], Target::scalar, 0, nest.combine}}});
    Expr result = Expr::input(accumulator, d);
    if (nest.post.defined()) result = with_inputs(nest.post, {result});
    last.statements.push_back({result, Target::output, 0, Combine::none});
  }
  for (std::size_t o = 0; o < nest.exprs.size() && !nest.num_reduced; ++o)
    last.statements.push_back({nest.exprs[o], Target::output, static_cast<int>(o), Combine::none});
  p.steps.push_back(std::move(last));
  return p;
}

LoopSchedule default_schedule(const LoopProgram& program, Isa isa) {
  int width = isa == Isa::plain ? 8 : isa == Isa::avx2 ? 16 : 64;
  bool is_wide = false, has_calls = false, has_steps = false;
  std::unordered_set<const ExprNode*> seen;
  for (const LoopStep& step : program.steps)
    for (const LoopStatement& s : step.statements)
      walk(s.value, seen, [&](const Expr& e) {
        is_wide = is_wide || size_of(e.dtype()) == 8;
        has_calls = has_calls || calls_library(e);
      });
  const auto steps_oddly = [](const LoopOperand& o) { return o.inner == InnerStride::any; };
  has_steps = std::any_of(program.inputs.begin(), program.inputs.end(), steps_oddly) ||
              std::any_of(program.outputs.begin(), program.outputs.end(), steps_oddly);
  if (is_wide) width /= 2;
  if (has_steps) width = std::min(width, 16);
  if (has_calls) width = std::min(width, 4);
  return {width};
}

}  // namespace tenon::codegen
