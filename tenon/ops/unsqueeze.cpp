// unsqueeze(x, axes): axes of size 1 put in.
#include <algorithm>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  auto wanted = c.known_integers(1);
  if (!x.ranked() || !wanted) return Types{Type::unranked(x.dtype())};
  const int ndim = x.ndim() + static_cast<int>(wanted->size());
  std::vector<int> axes;
  for (std::int64_t a : *wanted) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  std::sort(axes.begin(), axes.end());
  TENON_EXPECT(std::adjacent_find(axes.begin(), axes.end()) == axes.end(),
               "every axis is named once", x);
  Shape out = x.shape();
  for (int a : axes) out.insert(out.begin() + a, Dim(1));
  return Types{x.with_shape(out)};
}

Result<Datums> eval(const EvalCall& e) {
  auto types = TENON_TRY(e.call.op().infer(e.call));
  return Datums{Datum(e.in(0).reshaped(*constant_dims(types[0].shape())))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.reshape_like(dys[0], c.value(0)), nullptr};
}

Result<Factors> sharding(const Call& c) {
  Factors f;
  std::vector<std::string> in, out;
  for (int i = 0; i < c.in(0).ndim(); ++i) in.push_back(fmt::format("d{}", i));
  std::vector<std::int64_t> axes = c.known_integers(1).value_or(std::vector<std::int64_t>{});
  for (std::int64_t& a : axes) a = TENON_TRY(c.axis(a, c.out(0).ndim()));
  for (int i = 0, k = 0; i < c.out(0).ndim(); ++i)
    out.push_back(std::find(axes.begin(), axes.end(), i) != axes.end()
                      ? ""
                      : in[static_cast<std::size_t>(k++)]);
  f.inputs = {in, {""}};
  f.outputs = {out};
  return f;
}

}  // namespace

OpPage unsqueeze() {
  OpPage p = movement("unsqueeze", "x with axes of size 1 at the positions `axes` of the result");
  p.inputs = {{"x", kAny}, {"axes", kIndex, "I"}};
  p.traits.push_back(Trait::view);
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{2, 3}, {1}}).known(1, Tensor::vector<std::int64_t>({1})),
               sample({{2, 3}, {2}}).known(1, Tensor::vector<std::int64_t>({-1, 0})),
               sample({{}, {1}}).known(1, Tensor::vector<std::int64_t>({0})),
               rejects({{2}, {2}}, "named once").known(1, Tensor::vector<std::int64_t>({0, 0}))};
  return p;
}

}  // namespace tenon::ops
