// squeeze(x, axes): axes of size 1 taken out.
#include <algorithm>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// The axes taken out; nullopt when only the data tells (symbolic sizes without axes, computed
// axes).
Result<std::optional<std::vector<int>>> squeezed_axes(const Call& c) {
  const Type& x = c.in(0);
  std::vector<int> axes;
  if (!c.has(1)) {
    for (int i = 0; i < x.ndim(); ++i) {
      if (!x.dim(i).is_constant()) return std::optional<std::vector<int>>();
      if (x.dim(i) == Dim(1)) axes.push_back(i);
    }
    return std::optional(axes);
  }
  auto known = c.known_integers(1);
  if (!known) return std::optional<std::vector<int>>();
  for (std::int64_t a : *known) axes.push_back(TENON_TRY(c.axis(a, x.ndim())));
  std::sort(axes.begin(), axes.end());
  TENON_EXPECT(std::adjacent_find(axes.begin(), axes.end()) == axes.end(),
               "every axis is named once", x);
  return std::optional(axes);
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  auto axes = TENON_TRY(squeezed_axes(c));
  if (!axes) return Types{Type::unranked(x.dtype())};
  Shape out;
  for (int i = 0; i < x.ndim(); ++i) {
    if (!std::binary_search(axes->begin(), axes->end(), i)) {
      out.push_back(x.dim(i));
      continue;
    }
    TENON_EXPECT_SAME(x.dim(i), Dim(1), "x.dim == a squeezed size");
  }
  return Types{x.with_shape(out)};
}

Values decompose(B g, const Call& c) { return {g.reshape_to(c.value(0), c.out(0).shape())}; }
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.reshape_like(dys[0], c.value(0)), nullptr};
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  auto axes = TENON_TRY(squeezed_axes(c));
  // Without `axes`, a part of size 1 would lose an axis that the whole keeps.
  if (!axes || !c.has(1)) return f;
  f.inputs[0] = axis_names(c.in(0).ndim(), *axes);
  f.outputs[0].clear();
  for (const std::string& n : f.inputs[0])
    if (!n.empty()) f.outputs[0].push_back(n);
  return f;
}

}  // namespace

OpPage squeeze() {
  OpPage p = movement(
      "squeeze",
      "x without the axes `axes`, whose sizes are 1; without `axes`, without every axis of size 1");
  p.inputs = {{"x", kAny}, maybe("axes", kIndex, "I")};
  p.traits.push_back(Trait::view);
  p.infer = infer;
  p.eval = eval_view;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{4, 1, 3}, {1}}).known(1, i64s({1})),
               sample({{1, 2, 1}, {2}}).known(1, i64s({-1, 0})),
               sample({{1, 2, 1}}),
               sample({{1}, {1}}).given(1, i64s({0})),
               rejects({{2, 1}, {1}}, "x.dim is 2 but a squeezed size is 1").known(1, i64s({0})),
               rejects({{1, 1}, {2}}, "named once").known(1, i64s({0, -2}))};
  return p;
}

}  // namespace tenon::ops
