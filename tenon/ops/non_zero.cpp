// non_zero(x): the positions of the elements that are not 0.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Dim ndim = c.in(0).ranked() ? Dim(c.in(0).ndim()) : c.fresh_dim("ndim");
  return Types{Type(DType::i64, {ndim, c.fresh_dim("count")})};
}

// y[:, k] is the index vector of the k-th such element in row-major order.
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  std::vector<Dims> found;
  visit_real(x.dtype(), [&](auto w) {
    const auto values = wide<decltype(w)>(x);
    for_each_index(x.dims(), [&](const Dims& at, std::int64_t k) {
      if (values[static_cast<std::size_t>(k)] != 0) found.push_back(at);
    });
  });
  const auto n = static_cast<std::int64_t>(found.size());
  Tensor y(DType::i64, {x.ndim(), n});
  auto out = y.data<std::int64_t>();
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t a = 0; a < x.ndim(); ++a)
      out[static_cast<std::size_t>(a * n + k)] =
          found[static_cast<std::size_t>(k)][static_cast<std::size_t>(a)];
  return Datums{Datum(y)};
}

Cost cost(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage non_zero() {
  return {
      .name = "non_zero",
      .doc =
          "index vectors of the elements of x that are not 0, in row-major order, one a column: "
          "y[ndim, count]",
      .inputs = {{"x", kNumeric | kBool}},
      .traits = {Trait::data_dependent},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: the number of results depends on the data"),
      .gradient = none("integer result"),
      .cost = cost,
      .sharding = none("positions speak of the whole tensor, and their number depends on the data"),
      .samples = {sample({{3, 4}}).all(DType::i32).range(0, 1),
                  sample({{5}}).all(DType::boolean).range(0, 1), sample({{2, 2, 2}}),
                  sample({{0, 3}}), sample({{}})}};
}

}  // namespace tenon::ops
