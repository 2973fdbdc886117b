// reduce_max(x, axes): largest element over axes.
#include <limits>

#include "tenon/ops/reductions.h"

namespace tenon::ops {
namespace {

template <class W>
W lowest(DType d) {
  if constexpr (std::is_same_v<W, double>) return -std::numeric_limits<double>::infinity();
  if (d == DType::boolean || class_of(d) == DTypeClass::unsigned_integer) return 0;
  return static_cast<W>(-(std::int64_t{1} << (bits_of(d) - 1)));
}

// u64 compares by its unsigned value; a NaN wins.
template <class W>
W larger(W a, W b, DType d) {
  if constexpr (std::is_same_v<W, double>) return std::isnan(a) || a >= b ? a : b;
  if (d == DType::u64) return static_cast<std::uint64_t>(a) >= static_cast<std::uint64_t>(b) ? a : b;
  return a >= b ? a : b;
}

Result<Datums> eval(const EvalCall& e) {
  const auto axes = *TENON_TRY(reduced_axes(e.call));
  const DType d = e.in(0).dtype();
  return visit_real(d, [&](auto w) {
    using W = decltype(w);
    return Datums{Datum(reduce<W>(e.in(0), axes, e.call.flag("keepdims"), {lowest<W>(d), [d](W a, W b) { return larger<W>(a, b, d); }}))};
  });
}

// dx = dy where x is the largest; ties share dy equally
Values gradient(B g, const Call& c, const Values& dys) {
  Value* y = with_reduced_axes(g, c, c.result(0));
  Value* dy = with_reduced_axes(g, c, dys[0]);
  Value* hit = g.cast_to(g.equal(c.value(0), y), c.in(0).dtype());
  auto axes = reduced_axes(c);
  if (!axes.ok() || !*axes) return {nullptr, nullptr};  // with_reduced_axes has failed the builder
  const std::vector<std::int64_t> list((*axes)->begin(), (*axes)->end());
  Value* ties = g.reduce_sum(hit, g.ints(list), Attrs{{"noop_with_empty_axes", true}});
  return {g.mul(hit, g.div(dy, ties)), nullptr};
}

}  // namespace

OpPage reduce_max() {
  return {.name = "reduce_max",
          .doc = "largest element over `axes` (all without them); over nothing it is the least value of the type",
          .inputs = reduction_inputs(kNumeric | kBool),
          .attrs = reduction_attrs(),
          .traits = {Trait::reduction},
          .infer = infer_reduction,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost_reduction,
          .sharding = [](const Call& c) { return sharding_reduction(c, "max"); },
          .samples = {sample({{2, 3, 4}}).distinct(), sample({{2, 3, 4}, {1}}).known(1, Tensor::vector<std::int64_t>({1})).distinct(),
                      sample({{2, 3, 4}, {2}}).known(1, Tensor::vector<std::int64_t>({-1, 0})).with({{"keepdims", false}}).distinct(),
                      sample({{3, 0}, {1}}).known(1, Tensor::vector<std::int64_t>({1})), sample({{4}}).all(DType::u8).range(0, 255)}};
}

}  // namespace tenon::ops
