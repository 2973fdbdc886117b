// Types, grouping and sharding of optimizer updates.
#include "tenon/ops/updates.h"

namespace tenon::ops {
namespace {

// How many tensors are updated; kinds are value, gradient and the states.
std::int64_t num_tensors(const Call& c, int num_states) {
  return (c.num_inputs() - 2) / (2 + num_states);
}
int input_of(const Call& c, int num_states, int kind, std::int64_t tensor) {
  return static_cast<int>(2 + kind * num_tensors(c, num_states) + tensor);
}

}  // namespace

std::vector<InputSpec> update_inputs() {
  constexpr TypeSet kRate = TypeSet::one(DType::f32) | TypeSet::one(DType::f64);
  return {{"rate", kRate, "R"}, {"count", kIndex, "I"}, many("tensors", kFloat)};
}

Result<Types> infer_update(const Call& c, int num_states) {
  const int kinds = 2 + num_states;
  if (c.num_inputs() < 2 + kinds || (c.num_inputs() - 2) % kinds)
    return invalid("tensors come in groups of {} but {} are given", kinds, c.num_inputs() - 2);
  Types out;
  for (int kind = 0; kind < kinds; ++kind) {
    if (kind == 1) continue;  // gradients
    for (std::int64_t i = 0; i < num_tensors(c, num_states); ++i)
      out.push_back(c.in(input_of(c, num_states, 0, i)));
  }
  for (int kind = 1; kind < kinds; ++kind)
    for (std::int64_t i = 0; i < num_tensors(c, num_states); ++i) {
      const Type &value = c.in(input_of(c, num_states, 0, i)),
                 &other = c.in(input_of(c, num_states, kind, i));
      TENON_EXPECT(value.ndim() == other.ndim(), "gradients and states have their value's shape",
                   value, other);
      for (int a = 0; a < value.ndim(); ++a)
        TENON_EXPECT_SAME(other.dim(a), value.dim(a), "state.size == value.size");
    }
  return out;
}

Values update_all(B g, const Call& c, int num_states, UpdateRule rule) {
  const std::int64_t n = num_tensors(c, num_states);
  const DType dtype = c.in(2).dtype(), wide = wide_float(dtype);
  Value *rate = g.reshape(g.cast_to(c.value(0), wide), g.ints({})),
        *count = g.reshape(g.cast_to(c.value(1), wide), g.ints({}));
  Values out(static_cast<std::size_t>(n * (1 + num_states)), nullptr);
  for (std::int64_t i = 0; i < n; ++i) {
    Values tensors;
    for (int kind = 0; kind < 2 + num_states; ++kind)
      tensors.push_back(g.cast_to(c.value(input_of(c, num_states, kind, i)), wide));
    const Values now = rule(g, c, tensors, rate, count);
    for (std::size_t k = 0; k < now.size(); ++k)
      out[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)] = g.cast_to(now[k], dtype);
  }
  return out;
}

Result<Factors> sharding_update(const Call& c, int num_states) {
  const std::int64_t n = num_tensors(c, num_states);
  const auto names = [&](std::int64_t tensor, const Type& t) {
    std::vector<std::string> axes;
    for (int a = 0; a < t.ndim(); ++a) axes.push_back(fmt::format("t{}d{}", tensor, a));
    return axes;
  };
  Factors f;
  for (int i = 0; i < 2; ++i) f.inputs.emplace_back(static_cast<std::size_t>(c.in(i).ndim()), "");
  for (int i = 2; i < c.num_inputs(); ++i) f.inputs.push_back(names((i - 2) % n, c.in(i)));
  for (int i = 0; i < c.num_outputs(); ++i) f.outputs.push_back(names(i % n, c.out(i)));
  // A factor of one tensor would count as a sum for the results of the others.
  if (n > 1)
    for (const auto& axes : f.inputs)
      f.whole_factors.insert(f.whole_factors.end(), axes.begin(), axes.end());
  return f;
}

}  // namespace tenon::ops
