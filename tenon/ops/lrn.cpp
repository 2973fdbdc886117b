// lrn(x; alpha, beta, bias, size): each element divided by a power of its neighbours' energy across
// channels.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  TENON_EXPECT(!x.ranked() || x.ndim() >= 2, "x is [n, c, ...]", x);
  if (c.integer("size") < 1)
    return invalid("size is at least 1 but {} is given", c.integer("size"));
  return Types{x};
}

// y = x * (bias + alpha * mean of x^2 over `size` channels)^-beta. Channels become a spatial axis,
// so that the sum over neighbours is a pooling.
Values decompose(B g, const Call& c) {
  const DType dtype = c.in(0).dtype();
  const std::int64_t size = c.integer("size"), before = (size - 1) / 2, after = size - 1 - before;
  Value* x = g.cast_to(c.value(0), wide_float(dtype));
  Value* planes = g.reshape(g.unsqueeze(g.mul(x, x), g.ints({1})), g.ints({0, 0, 0, -1}));
  Value* mean = g.average_pool(planes, Attrs{{"kernel", Attr::Integers{size, 1}},
                                             {"pads", Attr::Integers{before, 0, after, 0}},
                                             {"divisor", size}});
  Value* energy = g.add(g.mul(g.reshape_like(mean, x), g.number(c.real("alpha"), x)),
                        g.number(c.real("bias"), x));
  return {g.cast_to(g.mul(x, g.pow(energy, g.number(-c.real("beta"), x))), dtype)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) { return sharding_except(c, {1}); }

}  // namespace

OpPage lrn() {
  return {.name = "lrn",
          .doc =
              "y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta; "
              "the window of channel c is [c - (size - 1) / 2, c + size / 2]",
          .inputs = {{"x", kFloat}},
          .attrs = {{"alpha", 0.0001},
                    {"beta", 0.75},
                    {"bias", 1.0},
                    AttrSpec::required("size", Attr::Kind::integer)},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {
              sample({{2, 5, 2, 4}}).with({{"size", 3}, {"alpha", 0.5}}),
              sample({{1, 4, 3}}).with({{"size", 4}, {"alpha", 0.5}, {"beta", 2.0}, {"bias", 0.5}}),
              sample({{4, 3}}).with({{"size", 1}}),
              rejects({{2, 3}}, "size is at least 1").with({{"size", 0}})}};
}

}  // namespace tenon::ops
