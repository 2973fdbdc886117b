// From a region of elementwise operators and reductions to a loop program.
//
// A reduction needs a whole pass over the row, so values fall into levels: level k needs the
// results of k passes. What a row value costs decides whether a later pass computes it again or
// reads it from a scratch row that the first pass left.
#include <algorithm>
#include <map>
#include <set>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"
#include "tenon/backends/cpu/row_group_internal.h"
#include "tenon/ops/reductions.h"

namespace tenon::backends::cpu {
namespace {

using codegen::Combine;
using codegen::LoopStatement;
using codegen::LoopStep;
using codegen::Target;

constexpr int kScratchCost = 5;  // operations and loads from which on a value is kept

struct Known {
  bool is_row = false;
  bool is_short = false;
  int level = 0;         // passes that must have run
  int cost = 0;          // operations and loads since the level began
  int scratch = -1;      // row that keeps it
  Expr scalar;           // of values that are no rows
  std::set<int> needed;  // passes that read it
};

class Lowering {
 public:
  explicit Lowering(const Graph& region) : region_(region) {}

  Result<RowGroup> run() {
    TENON_TRY(find_axes());
    TENON_TRY(classify());
    decide_scratch();
    number_operands();
    TENON_TRY(write_steps());
    group_.reads.assign(region_.inputs().size(), false);
    Exprs all;
    for (const LoopStep& step : group_.program.steps)
      for (const LoopStatement& s : step.statements) all.push_back(s.value);
    for (int i : codegen::operands_of(all))
      if (i < static_cast<int>(region_.inputs().size()))
        group_.reads[static_cast<std::size_t>(i)] = true;
    return std::move(group_);
  }

 private:
  static bool is_expand(const Node& n) { return n.op().name == "expand"; }
  static Combine combine(const Node& n) { return combine_of(n.op().name); }
  static bool is_reduction(const Node& n) { return combine(n) != Combine::none; }

  Status find_axes() {
    bool found = false;
    for (const Node* n : region_.nodes()) {
      if (!is_reduction(*n)) continue;
      auto axes = TENON_TRY(ops::reduced_axes(Call(*n)));
      if (!axes) return invalid("the axes are computed at run time");
      std::sort(axes->begin(), axes->end());
      const int ndim = n->input(0)->type().ndim();
      if (found && (*axes != group_.row_axes || ndim != group_.ndim))
        return invalid("reductions over different axes");
      group_.row_axes = std::move(*axes);
      group_.ndim = ndim;
      found = true;
    }
    if (!found || group_.row_axes.empty()) return invalid("nothing is reduced");
    return {};
  }

  bool is_row_axis(int axis) const {
    return std::find(group_.row_axes.begin(), group_.row_axes.end(), axis) != group_.row_axes.end();
  }
  // Whether an operand differs along a row, its shape aligned at the right.
  bool steps_along_row(const Type& t) const {
    for (int i = 0; i < t.ndim(); ++i)
      if (is_row_axis(i + group_.ndim - t.ndim()) && !(t.dim(i) == Dim(1))) return true;
    return false;
  }

  Status classify() {
    for (const Value* v : region_.inputs()) {
      if (v->type().ndim() > group_.ndim) return invalid("an operand has more axes than the rows");
      Known k;
      k.is_row = steps_along_row(v->type());
      k.cost = k.is_row;
      known_[v] = k;
    }
    for (const Value* v : region_.constants())
      known_[v].scalar = v->tensor().count() == 1 ? constant_of(v->tensor()) : Expr();
    for (const Node* n : region_.nodes()) TENON_TRY(classify(*n));
    for (const Value* v : region_.outputs()) {
      if (!v->producer()) return invalid("an operand is a result");
      group_.outputs.push_back(known_.at(v).is_short ? RowRole::short_ : RowRole::aligned);
    }
    return {};
  }

  Status classify(const Node& n) {
    Known k;
    if (is_reduction(n)) {
      const Known& x = known_.at(n.input(0));
      if (!x.is_row) return invalid("a value without rows is reduced");
      k.level = x.level + 1;
      k.is_short = n.output(0)->type().ndim() < group_.ndim && n.output(0)->type().ndim() > 0;
    } else if (is_expand(n)) {
      k = known_.at(n.input(0));
      k.is_row = true;  // a copy along the row
      k.scratch = -1;
      k.needed.clear();
      k.cost = 1;
    } else if (n.op().scalar && n.outputs().size() == 1) {
      TENON_TRY(classify_elementwise(n, k));
    } else {
      return invalid("{} is neither elementwise nor a reduction of numbers", n.op().name);
    }
    known_[n.output(0)] = k;
    return {};
  }

  Status classify_elementwise(const Node& n, Known& k) {
    for (const Value* v : n.inputs()) {
      if (!v) continue;
      const Known& a = known_.at(v);
      k.is_row = k.is_row || a.is_row;
      k.is_short = k.is_short || a.is_short;
      k.level = std::max(k.level, a.level);
    }
    k.cost = weight(n);
    if (k.cost < 0) return invalid("{} has no expression here", n.op().name);
    for (const Value* v : n.inputs()) {
      if (!v) continue;
      const Known& a = known_.at(v);
      if (a.is_row) k.cost += a.level == k.level ? a.cost : 1;
      const bool is_number =
          v->type().ndim() == 0 || (v->is_constant() && v->tensor().count() == 1);
      if (k.is_short && !a.is_short && !is_number)
        return invalid("an operand without the row axes meets one with them");
      if (v->is_constant() && v->tensor().count() != 1)
        return invalid("a constant of several elements stands inside");
    }
    if (k.is_short && k.is_row) return invalid("a reduced value without its axes meets a row");
    return {};
  }

  // Operations of one element; -1 when this call has no expression.
  static int weight(const Node& n) {
    Exprs args;
    for (std::size_t i = 0; i < n.inputs().size(); ++i)
      args.push_back(n.inputs()[i] ? Expr::input(static_cast<int>(i), n.inputs()[i]->type().dtype())
                                   : Expr());
    const Expr e = n.op().scalar(Call(n), args);
    if (!e.defined()) return -1;
    return e.num_operations() + (is_costly(e) ? kScratchCost : 0);
  }
  static bool is_costly(const Expr& e) {
    if (!e.defined()) return false;
    switch (e.op()) {
      case ScalarOp::input:
      case ScalarOp::constant: return false;
      case ScalarOp::exp:
      case ScalarOp::expm1:
      case ScalarOp::log:
      case ScalarOp::log1p:
      case ScalarOp::sqrt:
      case ScalarOp::tanh:
      case ScalarOp::erf:
      case ScalarOp::sin:
      case ScalarOp::cos: return true;
      case ScalarOp::pow:  // small powers become products
        return e.args()[1].op() != ScalarOp::constant || e.args()[1].node().number > 3;
      default: return std::any_of(e.args().begin(), e.args().end(), is_costly);
    }
  }

  // Backward: which passes read a value, and whether it is worth keeping.
  void decide_scratch() {
    for (const Value* v : region_.outputs())
      if (known_.at(v).is_row) known_.at(v).needed.insert(known_.at(v).level);
    std::vector<const Node*> nodes;
    for (const Node* n : region_.nodes()) nodes.push_back(n);
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const Node& n = **it;
      Known& k = known_.at(n.output(0));
      if (is_reduction(n)) {
        known_.at(n.input(0)).needed.insert(known_.at(n.input(0)).level);
        continue;
      }
      if (!k.is_row) continue;
      std::set<int> passes = k.needed;
      const bool again = !passes.empty() && *passes.rbegin() > k.level;
      if (again && k.cost >= kScratchCost && !is_expand(n)) {
        k.scratch = static_cast<int>(group_.program.scratch.size());
        group_.program.scratch.push_back(n.output(0)->type().dtype());
        passes = {k.level};
      }
      for (const Value* v : n.inputs())
        if (v && known_.at(v).is_row) known_.at(v).needed.insert(passes.begin(), passes.end());
    }
  }

  void number_operands() {
    codegen::LoopProgram& p = group_.program;
    for (const Value* v : region_.inputs()) p.inputs.push_back({v->type().dtype(), {}});
    for (const Value* v : region_.outputs()) p.outputs.push_back({v->type().dtype(), {}});
    for (std::size_t i = 0; i < region_.inputs().size(); ++i) {
      const Value* v = region_.inputs()[i];
      known_.at(v).scalar = Expr::input(static_cast<int>(i), v->type().dtype());
      group_.inputs.push_back(RowRole::aligned);
    }
    for (const Node* n : region_.nodes())
      last_level_ = std::max(last_level_, known_.at(n->output(0)).level);
    once_.resize(static_cast<std::size_t>(last_level_) + 1);
    pass_.resize(once_.size());
    memo_.resize(once_.size());
  }

  Expr new_scalar(DType dtype) {
    codegen::LoopProgram& p = group_.program;
    p.scalars.push_back(dtype);
    return Expr::input(static_cast<int>(p.inputs.size() + p.scratch.size() + p.scalars.size()) - 1,
                       dtype);
  }
  // A value of each row, computed ahead of the pass of its level.
  Expr hoisted(const Expr& e, int level) {
    const Expr s = new_scalar(e.dtype());
    once_[static_cast<std::size_t>(level)].push_back(
        {e, Target::scalar, static_cast<int>(group_.program.scalars.size()) - 1, Combine::none});
    return s;
  }

  // a / s with one division for each row: (a * (1 / (s c))) * c. The power of two c keeps the
  // reciprocal a normal number when s is tiny or huge; the result is within one unit in the last
  // place.
  Expr divided(const Expr& a, const Expr& s, int level) {
    auto it = reciprocals_.find(s.id());
    if (it == reciprocals_.end()) {
      const Expr size = scalar::abs(s);
      const Expr c = hoisted(
          scalar::select(
              size < 0x1p-100, scalar::like(s, 0x1p+64),
              scalar::select(size > 0x1p+100, scalar::like(s, 0x1p-64), scalar::like(s, 1))),
          level);
      it = reciprocals_.emplace(s.id(), std::pair(hoisted(1.0 / (s * c), level), c)).first;
    }
    return a * it->second.first * it->second.second;
  }

  // Whether the group rounds to whole numbers: one unit in the last place then decides a step.
  bool gives_codes() const {
    for (const Node* n : region_.nodes())
      for (const Value* v : n->outputs())
        if (is_integer(v->type().dtype())) return true;
    return false;
  }

  Expr elementwise(const Node& n, int pass) {
    Exprs args;
    for (const Value* v : n.inputs()) args.push_back(v ? value_in(v, pass) : Expr());
    const Expr e = n.op().scalar(Call(n), args);
    const bool by_scalar = !gives_codes() && e.op() == ScalarOp::div && e.dtype() == DType::f32 &&
                           n.input(1) && e.args()[1].id() == args[1].id() &&
                           !known_.at(n.input(1)).is_row && !n.input(1)->is_constant();
    return by_scalar ? divided(e.args()[0], e.args()[1], known_.at(n.output(0)).level) : e;
  }

  // The value as a pass over the row sees it.
  Expr value_in(const Value* v, int pass) {
    Known& k = known_.at(v);
    if (!k.is_row || !v->producer()) return k.scalar;
    if (k.scratch >= 0 && pass > k.level)
      return Expr::input(static_cast<int>(group_.program.inputs.size()) + k.scratch,
                         v->type().dtype());
    auto& memo = memo_[static_cast<std::size_t>(pass)];
    if (auto it = memo.find(v); it != memo.end()) return it->second;
    const Node& n = *v->producer();
    const Expr e = is_expand(n) ? value_in(n.input(0), pass) : elementwise(n, pass);
    return memo[v] = e;
  }

  Status write_steps() {
    for (const Node* n : region_.nodes()) {
      const Value* y = n->output(0);
      Known& k = known_.at(y);
      group_.num_operations += 1;
      if (is_reduction(*n)) {
        const int pass = known_.at(n->input(0)).level;
        k.scalar = new_scalar(y->type().dtype());
        pass_[static_cast<std::size_t>(pass)].push_back(
            {value_in(n->input(0), pass), Target::scalar,
             static_cast<int>(group_.program.scalars.size()) - 1, combine(*n)});
      } else if (!k.is_row) {
        k.scalar = hoisted(elementwise(*n, k.level), k.level);
      } else if (k.scratch >= 0) {
        pass_[static_cast<std::size_t>(k.level)].push_back(
            {value_in(y, k.level), Target::scratch, k.scratch, Combine::none});
      }
    }
    for (std::size_t o = 0; o < region_.outputs().size(); ++o) write_output(o);
    const Known& first = known_.at(region_.outputs()[0]);
    const auto is_later = [&](std::size_t p) {
      return static_cast<int>(p) > first.level && !pass_[p].empty();
    };
    group_.writes_output_last = first.is_row;
    for (std::size_t p = 0; p < pass_.size(); ++p)
      if (is_later(p)) group_.writes_output_last = false;
    for (std::size_t level = 0; level < once_.size(); ++level) {
      add_step(false, once_[level]);
      add_step(true, pass_[level]);
    }
    for (const LoopStep& step : group_.program.steps)
      for (const LoopStatement& s : step.statements)
        if (!has_code(s.value)) return invalid("an element type has no generated code");
    return {};
  }
  void write_output(std::size_t o) {
    const Value* v = region_.outputs()[o];
    const Known& k = known_.at(v);
    auto& list = (k.is_row ? pass_ : once_)[static_cast<std::size_t>(k.level)];
    list.push_back({value_in(v, k.level), Target::output, static_cast<int>(o), Combine::none});
  }
  void add_step(bool over_row, std::vector<LoopStatement>& statements) {
    if (!statements.empty()) group_.program.steps.push_back({over_row, std::move(statements)});
  }

  const Graph& region_;
  RowGroup group_;
  std::map<const Value*, Known> known_;
  int last_level_ = 0;
  std::vector<std::vector<LoopStatement>> once_, pass_;  // by level
  std::vector<std::map<const Value*, Expr>> memo_;       // by pass
  std::map<const ExprNode*, std::pair<Expr, Expr>> reciprocals_;
};

}  // namespace

Result<RowGroup> row_group_of(const Graph& region) { return Lowering(region).run(); }

}  // namespace tenon::backends::cpu
