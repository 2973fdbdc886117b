// reverse_sequence(x, lengths; batch_axis, time_axis): the first steps of each sequence, backwards.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

struct Axes {
  int batch, time;
};

Result<Axes> axes_of(const Call& c, int ndim) {
  const Axes a{TENON_TRY(c.axis(c.integer("batch_axis"), ndim)),
               TENON_TRY(c.axis(c.integer("time_axis"), ndim))};
  TENON_EXPECT(a.batch != a.time, "batch_axis and time_axis differ", c.in(0));
  return a;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{x};
  const Axes axes = TENON_TRY(axes_of(c, x.ndim()));
  if (c.in(1).ranked()) {
    TENON_EXPECT(c.in(1).ndim() == 1, "lengths.ndim == 1", c.in(1));
    TENON_EXPECT_SAME(x.dim(axes.batch), c.in(1).dim(0), "x.batch == lengths.size");
  }
  return Types{x};
}

// y[t, b] = x[length(b) - 1 - t, b] for t < length(b), x[t, b] beyond
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Axes axes = TENON_TRY(axes_of(e.call, x.ndim()));
  const auto batch = static_cast<std::size_t>(axes.batch),
             time = static_cast<std::size_t>(axes.time);
  const auto lengths = integers(e.in(1));
  for (std::int64_t n : lengths)
    if (n < 0 || n > x.dims()[time])
      return invalid("reverse_sequence: length {} is outside of {} steps", n, x.dims()[time]);
  const Dims strides = row_major_strides(x.dims());
  return Datums{Datum(copy_elements(x, x.dims(), [&](const Dims& at, std::int64_t k) {
    const std::int64_t n = lengths[static_cast<std::size_t>(at[batch])], t = at[time];
    return t < n ? k + (n - 1 - 2 * t) * strides[time] : k;
  }))};
}

// A gather at t + (t < n) * (n - 1 - 2 t)
Values decompose(B g, const Call& c) {
  const int ndim = c.in(0).ndim();
  const Axes axes = *axes_of(c, ndim);
  const auto whole = [&](std::int64_t v) { return g.constant(Tensor::scalar(v)); };
  std::vector<std::int64_t> shape(static_cast<std::size_t>(ndim), 1);
  shape[static_cast<std::size_t>(axes.batch)] = -1;
  Value *n = g.reshape(g.cast_to(c.value(1), DType::i64), g.ints(shape)),
        *t = iota_along(g, size_of_axis(g, c.value(0), axes.time), axes.time, ndim);
  Value* shift = g.sub(g.sub(n, whole(1)), g.mul(t, whole(2)));
  Value* from = g.add(t, g.mul(g.cast_to(g.less(t, n), DType::i64), shift));
  return {g.gather_elements(c.value(0), g.expand(from, g.shape(c.value(0))),
                            Attrs{{"axis", axes.time}})};
}

// Its own inverse and its own adjoint.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.reverse_sequence(dys[0], c.value(1), c.node().attrs()), nullptr};
}

Result<Factors> sharding(const Call& c) {
  const Axes axes = TENON_TRY(axes_of(c, c.in(0).ndim()));
  Factors f = axes_through(c, {axes.time});
  f.inputs[1] = {f.inputs[0][static_cast<std::size_t>(axes.batch)]};
  return f;
}

}  // namespace

OpPage reverse_sequence() {
  OpPage p = movement(
      "reverse_sequence",
      "the first lengths[b] steps of each sequence b in reverse order, later steps unchanged");
  p.inputs = {{"x", kAny}, {"lengths", kIndex, "I"}};
  p.attrs = {{"batch_axis", 1}, {"time_axis", 0}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{4, 2}, {2}}).given(1, i64s({3, 1})),
      sample({{4, 5, 3}, {4}})
          .given(1, i64s({5, 0, 2, 4}))
          .with({{"batch_axis", 0}, {"time_axis", 1}}),
      sample({{2, 3, 2}, {2}}).given(1, i64s({3, 2})).with({{"batch_axis", -1}, {"time_axis", 1}}),
      rejects({{3, 2}, {3}}, "x.batch is 2 but lengths.size is 3").indices(1, 3)};
  return p;
}

}  // namespace tenon::ops
