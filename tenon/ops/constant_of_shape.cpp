// constant_of_shape(shape; value): a tensor full of one value.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Tensor& value = c.tensor("value");
  TENON_EXPECT(value.count() == 1, "value has one element", Type::of(value));
  auto shape = c.dims(0);
  if (!shape) {
    auto n = known_length(c, 0);
    return Types{n ? Type(value.dtype(), unknown_shape(c, static_cast<int>(*n)))
                   : Type::unranked(value.dtype())};
  }
  for (const Dim& d : *shape) TENON_EXPECT(at_least(d, 0) != Truth::no, "shape >= 0", c.in(0));
  return Types{Type(value.dtype(), *shape)};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& value = e.call.tensor("value");
  const Dims shape = integers(e.in(0));
  if (auto n = checked_num_elements(shape); !n.ok()) return std::move(n).error();
  return Datums{Datum(copy_strided(value, shape, Dims(shape.size(), 0)))};
}

std::optional<std::vector<Dim>> contents(const Call& c) {
  auto n = c.out(0).count().known();
  if (!n) return std::nullopt;
  return std::vector<Dim>(static_cast<std::size_t>(*n), Dim(integer_element(c.tensor("value"), 0)));
}

Values decompose(B g, const Call& c) {
  return {g.expand(g.constant(c.tensor("value").reshaped({})), c.value(0))};
}
Result<Factors> sharding(const Call& c) { return all_whole(c); }

}  // namespace

OpPage constant_of_shape() {
  return {
      .name = "constant_of_shape",
      .doc = "a tensor of `shape`, every element `value`",
      .inputs = {{"shape", kIndex, "I"}},
      .attrs = {{"value", Tensor::zeros(DType::f32, {1})}},
      .infer = infer,
      .eval = eval,
      .decompose = decompose,
      .gradient = none("the inputs are integers"),
      .cost = cost_movement,
      .sharding = sharding,
      .contents = contents,
      .samples = {
          sample({{2}}).known(0, i64s({2, 3})),
          sample({{1}}).known(0, i64s({4})).with({{"value", Tensor::vector<std::int64_t>({7})}}),
          sample({{2}}).given(0, i64s({0, 3})),
          sample({{0}}).known(0, i64s({})).with({{"value", Tensor::full(DType::f16, {1}, 0.5)}}),
          rejects({{1}}, "shape >= 0").known(0, i64s({-1}))}};
}

}  // namespace tenon::ops
