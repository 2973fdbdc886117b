// one_hot(indices, depth, values; axis): a new axis that is `on` at one position.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &indices = c.in(0), &values = c.in(2);
  TENON_EXPECT(!values.ranked() || (values.ndim() == 1 && values.dim(0).known().value_or(2) == 2),
               "values are [off, on]", values);
  if (!indices.ranked()) return Types{Type::unranked(values.dtype())};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), indices.ndim() + 1));
  Dim depth = c.fresh_dim("depth");
  if (auto d = c.dims(1))
    depth = (*d)[0];
  else if (auto known = c.constant(1))
    depth = Dim(static_cast<std::int64_t>(element(*known, 0)));
  TENON_EXPECT(at_least(depth, 0) != Truth::no, "depth >= 0", c.in(1));
  Shape out = indices.shape();
  out.insert(out.begin() + axis, depth);
  return Types{Type(values.dtype(), out)};
}

// y[a..., d, b...] = on where indices[a..., b...] == d or d - depth, else off
Result<Datums> eval(const EvalCall& e) {
  const Tensor &indices = e.in(0), &values = e.in(2);
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), indices.ndim() + 1));
  const auto at = integers(indices);
  const std::int64_t depth = integer_element(e.in(1), 0);
  if (depth < 0) return invalid("one_hot: depth {} is negative", depth);
  Dims dims = indices.dims();
  dims.insert(dims.begin() + axis, depth);
  Tensor y = copy_strided(values, dims, Dims(dims.size(), 0), 0);
  const std::int64_t inner =
      num_elements(Dims(indices.dims().begin() + axis, indices.dims().end()));
  for (std::int64_t k = 0; k < indices.count(); ++k) {
    const std::int64_t i = at[static_cast<std::size_t>(k)], d = i < 0 ? i + depth : i;
    if (d >= 0 && d < depth) copy_run(values, 1, y, (k / inner * depth + d) * inner + k % inner, 1);
  }
  return Datums{Datum(y)};
}

// Whether each position is on, as numbers of i64: equal(d, index brought into [0, depth)).
Value* is_on(B g, const Call& c) {
  const int n = c.out(0).ndim(), axis = *c.axis(c.integer("axis"), n);
  Value *depth = g.reshape(g.cast_to(c.value(1), DType::i64), g.ints({1})),
        *i = g.cast_to(c.value(0), DType::i64);
  Value* zero = g.constant(Tensor::scalar<std::int64_t>(0));
  i = g.add(i, g.mul(g.cast_to(g.less(i, zero), DType::i64), g.reshape(depth, g.ints({}))));
  return g.equal(g.unsqueeze(i, g.ints({axis})), iota_along(g, depth, axis, n));
}

Values decompose(B g, const Call& c) {
  const auto value = [&](std::int64_t i) {
    return g.reshape(g.gather(c.value(2), g.ints({i})), g.ints({}));
  };
  return {g.where(is_on(g, c), value(1), value(0))};
}

// values = [off, on] get the sums of dy where they stand
Values gradient(B g, const Call& c, const Values& dys) {
  Value* on = g.reduce_sum(g.mul(dys[0], g.cast_to(is_on(g, c), dys[0]->type().dtype())),
                           Attrs{{"keepdims", false}});
  Value* off = g.sub(g.reduce_sum(dys[0], Attrs{{"keepdims", false}}), on);
  return {nullptr, nullptr,
          g.concat(g.reshape(off, g.ints({1})), g.reshape(on, g.ints({1})), Attrs{{"axis", 0}})};
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.out(0).ndim()));
  f.inputs[0] = f.outputs[0] = axis_names(c.in(0).ndim());
  f.outputs[0].insert(f.outputs[0].begin() + axis, "");
  return f;
}

}  // namespace

OpPage one_hot() {
  const auto depth = [](std::int64_t d) { return Tensor::scalar(d); };
  OpPage p =
      movement("one_hot",
               "a new axis of `depth` positions at `axis`: values[1] where the index is, else "
               "values[0]; negative indices count from the end, others outside are nowhere");
  p.traits = {};
  p.inputs = {{"indices", kNumeric, "I"}, {"depth", kNumeric, "D"}, {"values", kAny}};
  p.attrs = {{"axis", -1}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{4}, {}, {2}}).indices(0, 3).known(1, depth(3)),
      sample({{2, 4}, {}, {2}}).indices(0, 3).given(1, depth(3)).with({{"axis", 1}}),
      sample({{4}, {}, {2}}).given(0, i64s({-1, 3, 1, -4})).known(1, depth(3)).with({{"axis", 0}}),
      sample({{2}, {1}, {2}})
          .dtypes({DType::f32, DType::f32, DType::i32})
          .given(0, Tensor::vector<float>({1, 0}))
          .given(1, Tensor::vector<float>({2})),
      rejects({{2}, {}, {3}}, "values are [off, on]").indices(0, 2).known(1, depth(2))};
  return p;
}

}  // namespace tenon::ops
