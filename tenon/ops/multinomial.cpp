// multinomial(x, key; sample_size, dtype, seed): classes drawn with given log-probabilities.
#include <algorithm>

#include "tenon/ops/random_draws.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  const DType dtype = c.dtype("dtype");
  TENON_EXPECT(dtype == DType::i32 || dtype == DType::i64, "classes are i32 or i64", x);
  if (!x.ranked()) return Types{Type::unranked(dtype)};
  TENON_EXPECT(x.ndim() == 2, "x is [batch, classes]", x);
  TENON_EXPECT(!(x.dim(1) == Dim(0)), "there is a class to draw", x);
  return Types{Type(dtype, {x.dim(0), Dim(c.integer("sample_size"))})};
}

// Running sums of e^(x - max x).
std::vector<double> cumulative(std::vector<double> row) {
  const double top = *std::max_element(row.begin(), row.end());
  double total = 0;
  for (double& v : row) v = total += std::exp(v - top);
  return row;
}

// y[b, s] = the class whose part of the running sum u falls into
Result<Datums> eval(const EvalCall& e) {
  const auto x = to_doubles(e.in(0));
  const std::int64_t batch = e.in(0).dim(0), num_classes = e.in(0).dim(1),
                     size = e.call.integer("sample_size");
  std::vector<std::int64_t> out;
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto row = x.begin() + b * num_classes;
    const std::vector<double> ends = cumulative({row, row + num_classes});
    for (std::int64_t s = 0; s < size; ++s) {
      const double u = uniform_double(e, 1, static_cast<std::uint64_t>(b * size + s)) * ends.back();
      const auto at = std::upper_bound(ends.begin(), ends.end(), u) - ends.begin();
      out.push_back(std::min(at, num_classes - 1));
    }
  }
  return Datums{Datum(from_int64s(out, e.call.dtype("dtype"), {batch, size}))};
}

Cost cost(const Call& c) {
  return {c.in(0).count() * Dim(2) + c.out(0).count() * (Dim(20) + c.in(0).dim(1)), c.bytes_in(),
          c.bytes_out()};
}

}  // namespace

OpPage multinomial() {
  return {
      .name = "multinomial",
      .doc = "y[b, s] = a class, drawn with probability e^x[b, class] / sum of e^x[b]",
      .inputs = {{"x", kFloat}, key_input()},
      .attrs = {{"sample_size", 1}, {"dtype", DType::i32}, {"seed", 0}},
      .traits = {Trait::random},
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = none("integer result"),
      .cost = cost,
      .sharding = factors("b _, -> b _"),
      .samples = {sample({{2, 3}}),
                  sample({{4, 5}}).with({{"sample_size", 6}, {"dtype", DType::i64}, {"seed", 2}}),
                  sample({{2, 3}, {}}).given(1, Tensor::scalar<std::int64_t>(5)),
                  rejects({{3}}, "[batch, classes]"), rejects({{2, 0}}, "a class to draw")}};
}

}  // namespace tenon::ops
