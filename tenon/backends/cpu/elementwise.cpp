// Elementwise operators and fused groups as generated loops.
#include <algorithm>
#include <map>
#include <set>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"

namespace tenon::backends::cpu {
namespace {

// Types whose casts and rounding the generated code knows.
bool has_code(DType d) {
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16 ||
         is_integer(d) || d == DType::boolean;
}

bool has_code(const Expr& e, std::set<const ExprNode*>& seen) {
  if (!e.defined()) return false;
  if (!seen.insert(e.id()).second) return true;
  if (e.op() == ScalarOp::digamma || !has_code(e.dtype())) return false;
  if (e.op() == ScalarOp::cast && size_of(e.dtype()) == 2 && is_floating(e.dtype()) &&
      e.node().rounding != Rounding::nearest_even)
    return false;
  return std::all_of(e.args().begin(), e.args().end(),
                     [&](const Expr& a) { return has_code(a, seen); });
}

}  // namespace

bool has_code(const Expr& e) {
  std::set<const ExprNode*> seen;
  return has_code(e, seen);
}

Expr constant_of(const Tensor& t) {
  return is_floating(t.dtype()) ? Expr::constant(element(t, 0), t.dtype())
                                : Expr::integer(integer_element(t, 0), t.dtype());
}

namespace {

// The whole region as one expression over the fused node's inputs; undefined when something in it
// is not elementwise.
Expr expression_of_region(const Graph& region) {
  std::map<const Value*, Expr> known;
  for (std::size_t i = 0; i < region.inputs().size(); ++i)
    known[region.inputs()[i]] =
        Expr::input(static_cast<int>(i), region.inputs()[i]->type().dtype());
  for (const Value* v : region.constants()) {
    if (v->tensor().count() != 1) return {};
    known[v] = constant_of(v->tensor());
  }
  for (const Node* n : region.nodes()) {
    if (!n->op().scalar) return {};
    Exprs args;
    for (const Value* v : n->inputs()) args.push_back(v ? known.at(v) : Expr());
    known[n->output(0)] = n->op().scalar(Call(*n), args);
  }
  return region.outputs().size() == 1 ? known.at(region.outputs()[0]) : Expr();
}

Expr expression_of(const Node& node) {
  if (node.op().name == "fused" && node.regions().size() == 1)
    return expression_of_region(*node.regions()[0]);
  if (!node.op().scalar) return {};
  Exprs args;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    args.push_back(node.inputs()[i]
                       ? Expr::input(static_cast<int>(i), node.inputs()[i]->type().dtype())
                       : Expr());
  return node.op().scalar(Call(node), args);
}

class ElementwiseLaunch : public Launch {
 public:
  explicit ElementwiseLaunch(BoundLoop loop) : loop_(std::move(loop)) {}
  Status run(const Frame& frame) const override {
    loop_.run(frame.inputs.data(), frame.outputs.data(), frame.pool);
    return {};
  }

 private:
  BoundLoop loop_;
};

class ElementwiseKernel : public Kernel {
 public:
  ElementwiseKernel(Expr e, std::string what) : expr_(std::move(e)), what_(std::move(what)) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> inputs,
                                       std::span<const Extent> outputs) const override {
    codegen::LoopNest nest;
    codegen::LoopAxes axes;
    axes.sizes = outputs[0].dims;
    for (const Extent& e : inputs) {
      nest.inputs.push_back({e.present() ? e.dtype : DType::f32, {}});
      axes.strides.push_back(e.present() ? broadcast_strides(e.dims, axes.sizes)
                                         : std::vector<std::int64_t>(axes.sizes.size(), 0));
    }
    nest.outputs.push_back({outputs[0].dtype, {}});
    axes.strides.push_back(broadcast_strides(outputs[0].dims, axes.sizes));
    for (std::size_t i = 0; i < axes.sizes.size();
         ++i)  // a result axis of size 1 has no stride to speak of
      if (axes.sizes[i] == 1) axes.strides.back()[i] = 0;
    nest.exprs = {expr_};
    return std::unique_ptr<Launch>(
        std::make_unique<ElementwiseLaunch>(TENON_TRY(BoundLoop::make(std::move(nest), axes))));
  }
  std::string describe() const override { return what_; }
  bool may_overwrite(int) const override { return true; }

 private:
  Expr expr_;
  std::string what_;
};

}  // namespace

Verdict takes_elementwise(const Node& node) {
  const bool is_group = node.op().name == "fused";
  if (!node.op().scalar && !is_group) return Verdict::no("");
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), is_number) ||
      !is_number(node.output(0)))
    return Verdict::no("text, complex numbers and tensors without rank have no generated code");
  const Expr e = expression_of(node);
  if (!e.defined()) return Verdict::no(is_group ? "the group is not elementwise" : "no expression");
  if (!has_code(e)) return Verdict::no("8-bit and 4-bit floats have no generated code");
  return {};
}

Result<KernelPtr> make_elementwise(const Node& node) {
  const Expr e = expression_of(node);
  std::string what = fmt::format("generated loop, {} operations", e.num_operations());
  return KernelPtr(std::make_unique<ElementwiseKernel>(e, std::move(what)));
}

}  // namespace tenon::backends::cpu
