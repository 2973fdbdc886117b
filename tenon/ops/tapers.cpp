// The page of a window that is a sum of cosines.
#include "tenon/ops/tapers.h"

#include <numbers>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  TENON_EXPECT(!c.in(0).ranked() || c.in(0).count().known().value_or(1) == 1, "size is one number",
               c.in(0));
  TENON_EXPECT(kFloat.has(c.dtype("dtype")), "the result is floating");
  auto size = c.dims(0);
  if (size) TENON_EXPECT(at_least((*size)[0], 0) != Truth::no, "size >= 0", c.in(0));
  return Types{Type(c.dtype("dtype"), {size ? (*size)[0] : c.fresh_dim("size")})};
}

Values decompose(B g, const Call& c, const std::vector<double>& weights) {
  Value *size = g.reshape(g.cast_to(c.value(0), DType::i64), g.ints({1})), *period = size;
  if (!c.flag("periodic")) period = g.max(g.sub(size, g.ints({1})), g.ints({1}));
  Value* turns =
      g.div(g.cast_to(iota_along(g, size, 0, 1), DType::f64), g.cast_to(period, DType::f64));
  Value* w = nullptr;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    Value* wave =
        g.cos(g.mul(turns, g.number(2 * std::numbers::pi * static_cast<double>(k), DType::f64)));
    Value* part = g.mul(wave, g.number(weights[k], DType::f64));
    w = w ? g.add(w, part) : part;
  }
  return {g.cast_to(w, c.dtype("dtype"))};
}

Result<Factors> sharding(const Call& c) { return all_whole(c); }

}  // namespace

OpPage taper(std::string_view name, std::string_view doc, std::vector<double> weights) {
  const auto size = [](std::int64_t n) { return Tensor::scalar(n); };
  return {.name = name,
          .doc = doc,
          .inputs = {{"size", kIndex, "I"}},
          .attrs = {{"periodic", true}, {"dtype", DType::f32}},
          .infer = infer,
          .decompose = [weights = std::move(weights)](
                           Builder& b, const Call& c) { return decompose(b, c, weights); },
          .gradient = none("depends on an integer only"),
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{}}).known(0, size(10)),
                      sample({{}}).known(0, size(7)).with({{"periodic", false}}),
                      sample({{}}).given(0, size(4)).with({{"dtype", DType::f64}}),
                      sample({{}}).known(0, size(1)).with({{"periodic", false}}),
                      rejects({{}}, "size >= 0").known(0, size(-1))}};
}

}  // namespace tenon::ops
