// expand(x, shape): x broadcast against a shape.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  auto wanted = c.dims(1);
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  if (!wanted) {
    const auto n = c.in(1).ranked() && c.in(1).ndim() == 1 ? c.in(1).dim(0).known() : std::nullopt;
    if (!n) return Types{Type::unranked(x.dtype())};
    Shape unknown;
    for (std::int64_t i = 0; i < std::max<std::int64_t>(*n, x.ndim()); ++i)
      unknown.push_back(c.fresh_dim(fmt::format("d{}", i)));
    return Types{x.with_shape(unknown)};
  }
  for (const Dim& d : *wanted) TENON_EXPECT(at_least(d, 0) != Truth::no, "shape >= 0", c.in(1));
  return Types{x.with_shape(TENON_TRY(broadcast(x.shape(), *wanted)))};
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Dims out = broadcast_dims(x.dims(), integers(e.in(1))),
             steps = broadcast_strides(x.dims(), out);
  return Datums{Datum(copy_strided(x, out, steps))};
}

// The adjoint of copying is summing.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.sum_to(dys[0], c.value(0)), nullptr};
}

// Axes that x shares with y split together; stretched ones stay whole.
Result<Factors> sharding(const Call& c) {
  std::vector<std::string> in, out(static_cast<std::size_t>(c.out(0).ndim()), "");
  const int shift = c.out(0).ndim() - c.in(0).ndim();
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    const bool kept = c.in(0).dim(i) == c.out(0).dim(i + shift) && !(c.in(0).dim(i) == Dim(1));
    in.push_back(kept ? fmt::format("d{}", i) : "");
    out[static_cast<std::size_t>(i + shift)] = in.back();
  }
  Factors f;
  f.inputs = {in, {""}};
  f.outputs = {out};
  f.whole_factors = {};
  for (const std::string& n : in)
    if (!n.empty()) f.whole_factors.push_back(n);  // the shape input names the whole size
  return f;
}

}  // namespace

OpPage expand() {
  OpPage p = movement(
      "expand",
      "x broadcast against the shape in input 1 (NumPy rules: sizes of 1 on either side stretch)");
  p.inputs = {{"x", kAny}, {"shape", kIndex, "I"}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{3, 1}, {3}}).known(1, Tensor::vector<std::int64_t>({2, 3, 4})),
      sample({{}, {2}}).known(1, Tensor::vector<std::int64_t>({2, 3})),
      sample({{2, 3}, {1}}).known(1, Tensor::vector<std::int64_t>({1})),
      rejects({{2, 3}, {1}}, "do not broadcast").known(1, Tensor::vector<std::int64_t>({2}))};
  return p;
}

}  // namespace tenon::ops
