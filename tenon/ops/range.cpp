// range(start, limit, delta): evenly spaced numbers.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// ceil((limit - start) / delta), never negative
std::int64_t count_of(double start, double limit, double delta) {
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil((limit - start) / delta)));
}

Result<std::optional<Dim>> integer_count(const Call& c) {
  auto start = c.dims(0), limit = c.dims(1), delta = c.dims(2);
  if (!start || !limit || !delta || !(*delta)[0].is_constant()) return std::optional<Dim>();
  const Dim step = (*delta)[0], span = (*limit)[0] - (*start)[0];
  TENON_EXPECT(!(step == Dim(0)), "delta is not 0");
  return std::optional(max(Dim(0), step.value() > 0 ? ceil_div(span, step)
                                                    : ceil_div(Dim(0) - span, Dim(-step.value()))));
}

Result<Types> infer(const Call& c) {
  for (int i = 0; i < 3; ++i)
    TENON_EXPECT(!c.in(i).ranked() || c.in(i).count().known().value_or(1) == 1,
                 "start, limit and delta are scalars", c.in(i));
  const DType d = c.in(0).dtype();
  if (!is_floating(d)) {
    auto n = TENON_TRY(integer_count(c));
    return Types{Type(d, {n ? *n : c.fresh_dim("count")})};
  }
  auto start = c.constant(0), limit = c.constant(1), delta = c.constant(2);
  if (!start || !limit || !delta) return Types{Type(d, {c.fresh_dim("count")})};
  TENON_EXPECT(element(*delta, 0) != 0, "delta is not 0");
  return Types{
      Type(d, {Dim(count_of(element(*start, 0), element(*limit, 0), element(*delta, 0)))})};
}

// y[i] = start + i * delta
template <class W>
Result<Tensor> spaced(const EvalCall& e) {
  const W start = wide<W>(e.in(0))[0], limit = wide<W>(e.in(1))[0], delta = wide<W>(e.in(2))[0];
  if (delta == 0 || delta != delta) return invalid("range: delta is not a number other than 0");
  const std::int64_t n =
      count_of(static_cast<double>(start), static_cast<double>(limit), static_cast<double>(delta));
  if (n > (std::int64_t{1} << 40)) return invalid("range: {} elements are too many", n);
  std::vector<W> y(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    y[static_cast<std::size_t>(i)] = start + static_cast<W>(i) * delta;
  return narrow(y, e.in(0).dtype(), {n});
}

Result<Datums> eval(const EvalCall& e) {
  return visit_real(e.in(0).dtype(), [&](auto w) -> Result<Datums> {
    return Datums{Datum(TENON_TRY(spaced<decltype(w)>(e)))};
  });
}

std::optional<std::vector<Dim>> contents(const Call& c) {
  auto start = c.dims(0), delta = c.dims(2);
  auto n = c.out(0).count().known();
  if (!start || !delta || !n) return std::nullopt;
  std::vector<Dim> y;
  for (std::int64_t i = 0; i < *n; ++i) y.push_back((*start)[0] + (*delta)[0] * Dim(i));
  return y;
}

// dstart = sum dy, ddelta = sum i * dy; limit only moves the end
Values gradient(B g, const Call& c, const Values& dys) {
  Value* i = g.cast_to(iota_along(g, size_of_axis(g, c.result(0), 0), 0, 1), c.in(0).dtype());
  const auto total = [&](Value* x, int input) {
    return g.reshape_like(g.reduce_sum(x, Attrs{{"keepdims", false}}), c.value(input));
  };
  return {total(dys[0], 0), nullptr, total(g.mul(dys[0], i), 2)};
}

Cost cost(const Call& c) { return {c.out(0).count() * Dim(2), c.bytes_in(), c.bytes_out()}; }
Result<Factors> sharding(const Call& c) { return all_whole(c); }

}  // namespace

OpPage range() {
  const auto ints = [](std::int64_t a, std::int64_t b, std::int64_t d) {
    return sample({{}, {}, {}})
        .known(0, Tensor::scalar(a))
        .known(1, Tensor::scalar(b))
        .known(2, Tensor::scalar(d));
  };
  const auto reals = [](float a, float b, float d) {
    return sample({{}, {}, {}})
        .given(0, Tensor::scalar(a))
        .given(1, Tensor::scalar(b))
        .given(2, Tensor::scalar(d));
  };
  Sample zero = ints(0, 1, 0);
  zero.rejected_because = "delta is not 0";
  return {.name = "range",
          .doc = "start, start + delta, ... before limit",
          .inputs = {{"start", kNumeric}, {"limit", kNumeric}, {"delta", kNumeric}},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .contents = contents,
          .samples = {ints(0, 5, 1), ints(10, 3, -2), ints(3, 3, 1), reals(0.5F, 3.2F, 0.75F),
                      reals(1, -2, -0.4F), zero}};
}

}  // namespace tenon::ops
