// depth_to_space(x; blocksize, mode): channels rearranged into blocks of pixels.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  const std::int64_t b = c.integer("blocksize");
  TENON_EXPECT(b >= 1, "blocksize >= 1");
  TENON_EXPECT(c.text("mode") == "DCR" || c.text("mode") == "CRD", "mode is DCR or CRD");
  if (!x.ranked()) return Types{Type(x.dtype(), unknown_shape(c, 4))};
  TENON_EXPECT(x.ndim() == 4, "x.ndim == 4", x);
  if (auto n = x.dim(1).known())
    TENON_EXPECT(*n % (b * b) == 0, "channels divide by blocksize squared", x);
  return Types{x.with_shape(
      {x.dim(0), floor_div(x.dim(1), Dim(b * b)), x.dim(2) * Dim(b), x.dim(3) * Dim(b)})};
}

// DCR: x[n, (bh, bw, c), h, w] -> y[n, c, (h, bh), (w, bw)]; CRD: x[n, (c, bh, bw), h, w]
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const std::int64_t b = e.call.integer("blocksize"), channels = x.dim(1) / (b * b);
  const bool depth_first = e.call.text("mode") == "DCR";
  const Dims s = row_major_strides(x.dims());
  const std::int64_t step_c = (depth_first ? 1 : b * b) * s[1],
                     step_bh = (depth_first ? b * channels : b) * s[1],
                     step_bw = (depth_first ? channels : 1) * s[1];
  const Dims apart = {x.dim(0), channels, x.dim(2), b, x.dim(3), b};
  return Datums{Datum(copy_strided(x, apart, {s[0], step_c, s[2], step_bh, s[3], step_bw})
                          .reshaped({x.dim(0), channels, x.dim(2) * b, x.dim(3) * b}))};
}

Values decompose(B g, const Call& c) {
  const std::int64_t b = c.integer("blocksize");
  const bool depth_first = c.text("mode") == "DCR";
  Value* x = c.value(0);
  Value *n = size_of_axis(g, x, 0), *channels = g.div(size_of_axis(g, x, 1), g.ints({b * b})),
        *h = size_of_axis(g, x, 2), *w = size_of_axis(g, x, 3);
  const auto shaped = [&](Value* v, const Values& sizes) {
    return g.reshape(v, g.concat(sizes, Attrs{{"axis", 0}}), Attrs{{"allow_zero", true}});
  };
  Value *block = g.ints({b}), *blocks = g.ints({b, b});
  Value* apart =
      depth_first ? shaped(x, {n, blocks, channels, h, w}) : shaped(x, {n, channels, blocks, h, w});
  const std::vector<std::int64_t> perm = depth_first ? std::vector<std::int64_t>{0, 3, 4, 1, 5, 2}
                                                     : std::vector<std::int64_t>{0, 1, 4, 2, 5, 3};
  return {shaped(g.transpose(apart, Attrs{{"perm", perm}}),
                 {n, channels, g.mul(h, block), g.mul(w, block)})};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.space_to_depth(dys[0],
                           Attrs{{"blocksize", c.integer("blocksize")}, {"mode", c.text("mode")}})};
}

// A split height or width keeps whole blocks together.
Result<Factors> sharding(const Call& c) { return axes_through(c, {1}); }

}  // namespace

OpPage depth_to_space() {
  OpPage p = movement("depth_to_space",
                      "blocks of channels become blocks of pixels; mode DCR: x[n, (bh, bw, c), h, "
                      "w] to y[n, c, (h, bh), (w, bw)], CRD: from x[n, (c, bh, bw), h, w]");
  p.inputs = {{"x", kAny}};
  p.attrs = {AttrSpec::required("blocksize", Attr::Kind::integer), {"mode", "DCR"}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{2, 8, 2, 4}}).with({{"blocksize", 2}}),
      sample({{2, 8, 2, 3}}).with({{"blocksize", 2}, {"mode", "CRD"}}),
      sample({{1, 9, 1, 1}}).with({{"blocksize", 3}}),
      rejects({{1, 6, 2, 2}}, "channels divide by blocksize squared").with({{"blocksize", 2}})};
  return p;
}

}  // namespace tenon::ops
