// What every page includes: the operator record, the named builder calls, and the loops'
// vocabulary.
#pragma once

#include <cmath>
#include <cstring>

#include "tenon/ir/builder.h"
#include "tenon/ir/operator.h"
#include "tenon/ops/loops.h"

namespace tenon::ops {

using OpPage = Operator;

/// A Builder with one named call for each operator of manifest.def: `g.matmul(a, b)`,
/// `g.softmax(x, {{"axis", -1}})`. Inputs come first (nullptr: absent), attributes last. Each call
/// gives output 0; `g.all_of("split", inputs, attrs, n)` gives every output.
class B {
 public:
  B(Builder& builder) : builder_(&builder) {}  // NOLINT: implicit, so that pages take B by value

#define OP(fn)                                    \
  template <class... Args>                        \
  Value* fn(Args&&... args) {                     \
    return one(#fn, std::forward<Args>(args)...); \
  }
#include "tenon/ops/manifest.def"
#undef OP

  Values all_of(std::string_view op, Values inputs, Attrs attrs = {}, int num_outputs = -1) {
    return builder_->call(builder_->op(op), std::move(inputs), std::move(attrs), {}, num_outputs);
  }
  Builder& builder() { return *builder_; }

  Value* constant(Tensor t) { return builder_->constant(std::move(t)); }
  /// A 0-d constant of `like`'s element type.
  Value* number(double value, const Value* like) {
    return constant(Tensor::full(like->type().dtype(), {}, value));
  }
  Value* number(double value, DType dtype) { return constant(Tensor::full(dtype, {}, value)); }
  Value* ints(const std::vector<std::int64_t>& values) { return constant(Tensor::vector(values)); }
  /// Sums `x` over the axes along which `like` was broadcast, so that the result has like's shape:
  /// the adjoint of broadcasting.
  Value* sum_to(Value* x, Value* like);
  /// Reshapes x to `shape` (symbolic sizes become computed shape values).
  Value* reshape_to(Value* x, const Shape& shape);
  /// x with the shape of `like`.
  Value* reshape_like(Value* x, Value* like) {
    return reshape(x, shape(like), Attrs{{"allow_zero", true}});
  }
  /// x where `condition` holds, else 0: unlike a product with 0 and 1 it lets no infinity or NaN
  /// through.
  Value* masked(Value* condition, Value* x) { return where(condition, x, number(0, x)); }
  /// dy * slope, and 0 where dy is 0 and the slope infinite: where no gradient arrives none leaves.
  /// Only the slope is replaced, so that the gradient of dy itself stays right beside the pole.
  Value* chain(Value* dy, Value* slope) {
    Value* silent = logical_and(equal(dy, number(0, dy)), is_inf(slope));
    return mul(dy, where(silent, number(0, slope), slope));
  }
  /// dy / by, and 0 where both are 0.
  Value* quotient(Value* dy, Value* by) {
    Value* silent = logical_and(equal(dy, number(0, dy)), equal(by, number(0, by)));
    return div(dy, where(silent, number(1, by), by));
  }
  Value* zeros_like(Value* x) { return expand(number(0, x), shape(x)); }
  Value* cast_to(Value* x, DType to) {
    return x->type().dtype() == to ? x : cast(x, Attrs{{"to", to}});
  }
  /// 1-d i64 value holding the dims of `shape`; `source` supplies symbolic ones through its own
  /// shape.
  Value* dims_value(const Shape& shape, Value* source);

 private:
  template <class... Args>
  Value* one(std::string_view name, Args&&... args) {
    Values inputs;
    Attrs attrs;
    (take(inputs, attrs, std::forward<Args>(args)), ...);
    return builder_->call(builder_->op(name), std::move(inputs), std::move(attrs))[0];
  }
  static void take(Values& inputs, Attrs&, Value* v) { inputs.push_back(v); }
  static void take(Values& inputs, Attrs&, std::nullptr_t) { inputs.push_back(nullptr); }
  static void take(Values& inputs, Attrs&, const Values& vs) {
    inputs.insert(inputs.end(), vs.begin(), vs.end());
  }
  static void take(Values&, Attrs& attrs, Attrs a) { attrs = std::move(a); }
  Builder* builder_;
};

// ---- shared facets of elementwise pages ------------------------------------------------------

/// Shapes broadcast; the element type is that of the scalar expression.
Result<Types> infer_elementwise(const Call& c);
/// One evaluation of the scalar expression per output element.
Cost cost_elementwise(const Call& c);
/// "..., ... -> ..."
Result<Factors> sharding_elementwise(const Call& c);

/// An elementwise page; refine the returned record for what differs.
struct Elementwise {
  std::string_view name, doc;
  std::vector<InputSpec> inputs;
  std::vector<AttrSpec> attrs = {};
  Facet<Expr(const Call&, const Exprs&)> scalar;
  Facet<Values(Builder&, const Call&, const Values&)> gradient;
  std::vector<Sample> samples;
  std::vector<Trait> traits = {};
};
OpPage elementwise(Elementwise e);

/// flops 0, every byte read and written once: movements.
Cost cost_movement(const Call& c);
/// Work of decomposition added up, bytes of the call itself: composed operators.
Cost cost_of_decomposition(const Call& c);
/// Gradients through the decomposition, rule by rule in reverse: for composed operators whose own
/// rule would say the same. Builds the decomposition once more. Where a value is several inputs,
/// the first one gets the gradient. Nodes without a gradient (casts to integers, comparisons) stop
/// it.
Values gradient_of_decomposition(B g, const Call& c, const Values& dys);
/// Gradients of `xs` from those of `ys` (nullptr: none), through the nodes whose id is at least
/// `first_node`: what was built since graph().num_node_ids() had that value.
Values gradients_through(B g, int first_node, const Values& ys, const Values& dys,
                         const Values& xs);
/// The type that sums and exponentials of `dtype` are computed in: f32 for the 16-bit floats.
inline DType wide_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

}  // namespace tenon::ops
