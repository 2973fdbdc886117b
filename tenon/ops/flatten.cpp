// flatten(x; axis): x as a matrix, the axes before `axis` against the others.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// `axis` may be ndim: then all axes are rows.
Result<int> cut_at(const Call& c, int ndim) {
  const std::int64_t axis = c.integer("axis");
  if (axis < -ndim || axis > ndim)
    return invalid("flatten: axis {} is outside of {} dims", axis, ndim);
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type(x.dtype(), unknown_shape(c, 2))};
  const int axis = TENON_TRY(cut_at(c, x.ndim()));
  const Shape rows(x.shape().begin(), x.shape().begin() + axis),
      columns(x.shape().begin() + axis, x.shape().end());
  return Types{x.with_shape({num_elements(rows), num_elements(columns)})};
}

// A product of sizes of x as a 1-d value of one element.
Value* product(B g, Value* x, int begin, int end) {
  Value* n = g.ints({1});
  for (int i = begin; i < end; ++i) n = g.mul(n, size_of_axis(g, x, i));
  return n;
}

Values decompose(B g, const Call& c) {
  if (auto known = constant_dims(c.out(0).shape()))
    return {g.reshape(c.value(0), g.ints(*known), Attrs{{"allow_zero", true}})};
  auto axis = cut_at(c, c.in(0).ndim());
  Value *rows = product(g, c.value(0), 0, *axis),
        *columns = product(g, c.value(0), *axis, c.in(0).ndim());
  return {g.reshape(c.value(0), g.concat(rows, columns, Attrs{{"axis", 0}}),
                    Attrs{{"allow_zero", true}})};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.reshape_like(dys[0], c.value(0))};
}

// The first axis of each side is the slow one: a part of it is a contiguous part of the rows, or of
// the columns of every row.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  const int axis = TENON_TRY(cut_at(c, c.in(0).ndim()));
  if (axis > 0) f.inputs[0][0] = f.outputs[0][0] = "rows";
  if (axis < c.in(0).ndim())
    f.inputs[0][static_cast<std::size_t>(axis)] = f.outputs[0][1] = "columns";
  return f;
}

}  // namespace

OpPage flatten() {
  OpPage p = movement("flatten",
                      "x as a matrix: axes before `axis` make the rows, the others the columns");
  p.inputs = {{"x", kAny}};
  p.attrs = {{"axis", 1}};
  p.traits.push_back(Trait::view);
  p.infer = infer;
  p.eval = eval_view;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{4, 2, 3}}),
               sample({{2, 4, 3}}).with({{"axis", 2}}),
               sample({{2, 3}}).with({{"axis", 0}}),
               sample({{4, 4, 4}}).with({{"axis", -2}}),
               sample({{}}).with({{"axis", 0}}),
               rejects({{2, 3}}, "axis 3 is outside").with({{"axis", 3}})};
  return p;
}

}  // namespace tenon::ops
