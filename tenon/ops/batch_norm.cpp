// batch_norm(x, scale, bias, mean, var): channels brought to mean 0 and variance 1, by given
// statistics or, in training, by those of the batch.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

// Training also gives the new running statistics, and what the gradient reads.
Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  Dim channels(1);
  if (x.ranked()) {
    TENON_EXPECT(x.ndim() >= 1, "x is [n, c, ...]", x);
    if (x.ndim() > 1) channels = x.dim(1);
    for (int i = 1; i < 5; ++i)
      if (c.in(i).ranked())
        TENON_EXPECT_SAME(c.in(i).dim(0), channels, "parameter.size == x.channels");
  }
  if (!c.flag("training")) return Types{x};
  const Type running = c.in(3).with_shape({channels}),
             saved = running.with_dtype(wide_float(x.dtype()));
  return Types{x, running, running.with_dtype(c.in(4).dtype()), saved, saved};
}

std::vector<std::int64_t> batch_axes(const Call& c) {
  std::vector<std::int64_t> axes = {0};
  for (int i = 2; i < c.in(0).ndim(); ++i) axes.push_back(i);
  return axes;
}

// Parameter i, brought against x.
Value* parameter(B g, const Call& c, int i) {
  return g.cast_to(per_channel(g, c.value(i), c.in(0).ndim()), wide_float(c.in(0).dtype()));
}

// old * momentum + batch * (1 - momentum), as a vector like the old one
Value* running(B g, const Call& c, int i, Value* batch) {
  Value* old = c.value(i);
  Value* now = g.cast_to(g.reshape_like(batch, old), old->type().dtype());
  return g.add(g.mul(old, g.number(c.real("momentum"), old)),
               g.mul(now, g.number(1 - c.real("momentum"), old)));
}

Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  Value* x = g.cast_to(c.value(0), wide_float(dtype));
  const auto affine = [&](Value* n) {
    return g.cast_to(g.add(g.mul(n, parameter(g, c, 1)), parameter(g, c, 2)), dtype);
  };
  Value* epsilon = g.number(c.real("epsilon"), x);
  if (!c.flag("training"))
    return {
        affine(g.mul(g.sub(x, parameter(g, c, 3)), g.rsqrt(g.add(parameter(g, c, 4), epsilon))))};
  Value *axes = g.ints(batch_axes(c)), *mean = g.reduce_mean(x, axes), *d = g.sub(x, mean);
  Value* var = g.reduce_mean(g.mul(d, d), axes);
  Value* inv_std = g.rsqrt(g.add(var, epsilon));
  return {affine(g.mul(d, inv_std)), running(g, c, 3, mean), running(g, c, 4, var),
          g.reshape_like(mean, c.value(3)), g.reshape_like(inv_std, c.value(3))};
}

// As for layer_norm, with the statistics that were saved. Gradients that arrive at the statistics
// go through the composition.
Values gradient(B g, const Call& c, const Values& dys) {
  bool only_y = dys[0] != nullptr;
  for (std::size_t i = 1; i < dys.size(); ++i) only_y = only_y && !dys[i];
  if (!c.flag("training") || !only_y) return gradient_of_decomposition(g, c, dys);
  const DType wide = wide_float(c.in(0).dtype());
  const int ndim = c.in(0).ndim();
  const auto axes = batch_axes(c);
  Value *inv_std = per_channel(g, c.result(4), ndim), *dy = g.cast_to(dys[0], wide),
        *over = g.ints(axes);
  Value* n = g.mul(g.sub(g.cast_to(c.value(0), wide), per_channel(g, c.result(3), ndim)), inv_std);
  Value* dx = standardise_adjoint(g, g.mul(dy, parameter(g, c, 1)), n, inv_std, axes);
  const auto total = [&](Value* v, int i) {
    return g.cast_to(g.reshape_like(g.reduce_sum(v, over), c.value(i)), c.in(i).dtype());
  };
  return {g.cast_to(dx, c.in(0).dtype()), total(g.mul(dy, n), 1), total(dy, 2), nullptr, nullptr};
}

// In training the statistics are those of the whole batch.
Result<Factors> sharding(const Call& c) {
  Factors f;
  const int ndim = c.in(0).ndim();
  std::vector<std::string> x(static_cast<std::size_t>(ndim), "");
  if (!c.flag("training"))
    for (int i = 0; i < ndim; ++i) x[static_cast<std::size_t>(i)] = fmt::format("d{}", i);
  if (ndim > 1) x[1] = "c";
  const std::vector<std::string> channels = {ndim > 1 ? "c" : ""};
  f.inputs = {x, channels, channels, channels, channels};
  f.outputs = {x};
  for (int i = 1; i < c.num_outputs(); ++i) f.outputs.push_back(channels);
  return f;
}

Sample training(std::vector<Dims> dims, double momentum) {
  return sample(std::move(dims))
      .range_of(4, 0.5, 2)
      .with({{"training", true}, {"momentum", momentum}});
}

}  // namespace

OpPage batch_norm() {
  return {.name = "batch_norm",
          .doc =
              "y = (x - mean) / sqrt(var + epsilon) * scale + bias for each channel (axis 1); "
              "`training` takes mean and variance of the batch and gives "
              "running statistics old * momentum + batch * (1 - momentum), the batch's mean and "
              "its 1 / standard deviation",
          .inputs = {{"x", kFloat},
                     {"scale", kFloat, "S"},
                     {"bias", kFloat, "S"},
                     {"mean", kFloat, "M"},
                     {"var", kFloat, "M"}},
          .outputs = {"y", "running_mean", "running_var", "batch_mean", "batch_inv_std"},
          .attrs = {{"epsilon", 1e-5}, {"momentum", 0.9}, {"training", false}},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {
              sample({{2, 4, 3, 2}, {4}, {4}, {4}, {4}}).range_of(4, 0.5, 2),
              sample({{4}, {1}, {1}, {1}, {1}}).range_of(4, 0.5, 2).with({{"epsilon", 0.01}}),
              training({{2, 4, 3}, {4}, {4}, {4}, {4}}, 0.9),
              training({{4, 2}, {2}, {2}, {2}, {2}}, 0.25),
              sample({{2, 2, 2}, {2}, {2}, {2}, {2}})
                  .dtypes({DType::f16, DType::f32, DType::f32, DType::f32, DType::f32})
                  .range_of(4, 0.5, 2),
              rejects({{2, 4, 3}, {4}, {4}, {3}, {4}}, "parameter.size is 3 but x.channels is 4")}};
}

}  // namespace tenon::ops
