// concat(xs...; axis): tensors one after the other along an axis.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  TENON_EXPECT(c.num_inputs() > 0, "there is an input");
  const Type& first = c.in(0);
  if (!first.ranked()) return Types{Type::unranked(first.dtype())};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), first.ndim()));
  Type out = first;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Type& x = c.in(i);
    if (!x.ranked()) return Types{Type::unranked(first.dtype())};
    TENON_EXPECT(x.ndim() == first.ndim(), "x.ndim == first.ndim", x, first);
    for (int k = 0; k < x.ndim(); ++k)
      if (k != axis) TENON_EXPECT_SAME(x.dim(k), first.dim(k), "x.dim == first.dim");
    out = out.with_dim(axis, out.dim(axis) + x.dim(axis));
  }
  return Types{out};
}

// Every input in turn: for each outer position one contiguous block.
Result<Datums> eval(const EvalCall& e) {
  const Tensor& first = e.in(0);
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), first.ndim()));
  Dims dims = first.dims();
  for (std::size_t i = 1; i < e.inputs.size(); ++i)
    dims[static_cast<std::size_t>(axis)] += e.in(static_cast<int>(i)).dim(axis);
  const std::int64_t inner = num_elements(Dims(dims.begin() + axis + 1, dims.end())),
                     width = dims[static_cast<std::size_t>(axis)];
  Tensor out(first.dtype(), dims);
  const std::int64_t outer = out.count() == 0 ? 0 : out.count() / (width * inner);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    const Tensor& x = e.in(static_cast<int>(i));
    const std::int64_t run = x.dim(axis) * inner;
    for (std::int64_t o = 0; o < outer; ++o)
      copy_run(x, o * run, out, o * width * inner + start, run);
    start += run;
  }
  return Datums{Datum(out)};
}

// The adjoint cuts dy where the inputs met.
Values gradient(B g, const Call& c, const Values& dys) {
  Values dxs;
  const std::int64_t axis = c.integer("axis");
  Value* start = g.ints({0});
  for (int i = 0; i < c.num_inputs(); ++i) {
    Value* width = g.gather(g.shape(c.value(i)), g.ints({axis < 0 ? axis + c.in(i).ndim() : axis}));
    Value* end = g.add(start, width);
    dxs.push_back(g.slice(dys[0], start, end, g.ints({axis})));
    start = end;
  }
  return dxs;
}

// Other axes are shared by all; the joined axis stays whole.
Result<Factors> sharding(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  std::vector<std::string> names;
  for (int i = 0; i < c.in(0).ndim(); ++i) names.push_back(i == axis ? "" : fmt::format("d{}", i));
  Factors f;
  f.inputs.assign(static_cast<std::size_t>(c.num_inputs()), names);
  f.outputs = {names};
  return f;
}

}  // namespace

OpPage concat() {
  OpPage p =
      movement("concat", "the inputs one after the other along `axis`; all other sizes agree");
  p.inputs = {many("xs", kAny)};
  p.attrs = {AttrSpec::required("axis", Attr::Kind::integer)};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{2, 3}, {2, 4}}).with({{"axis", 1}}),
               sample({{2, 3}, {1, 3}, {0, 3}}).with({{"axis", -2}}),
               sample({{4}}).with({{"axis", 0}}),
               rejects({{2, 3}, {3, 4}}, "x.dim is 3 but first.dim is 2").with({{"axis", 1}}),
               rejects({{2}, {2}}, "axis 1 is outside").with({{"axis", 1}})};
  return p;
}

}  // namespace tenon::ops
