// space_to_depth(x; blocksize, mode): blocks of pixels rearranged into channels.
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
  for (int i : {2, 3})
    if (auto n = x.dim(i).known())
      TENON_EXPECT(*n % b == 0, "height and width divide by blocksize", x);
  return Types{x.with_shape(
      {x.dim(0), x.dim(1) * Dim(b * b), floor_div(x.dim(2), Dim(b)), floor_div(x.dim(3), Dim(b))})};
}

// x[n, c, (h, bh), (w, bw)] -> y[n, (bh, bw, c), h, w] for DCR, y[n, (c, bh, bw), h, w] for CRD
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const std::int64_t b = e.call.integer("blocksize"), n = x.dim(0), channels = x.dim(1),
                     h = x.dim(2) / b, w = x.dim(3) / b;
  const Dims s = row_major_strides(x.dims());
  const bool depth_first = e.call.text("mode") == "DCR";
  const Dims apart = depth_first ? Dims{n, b, b, channels, h, w} : Dims{n, channels, b, b, h, w};
  const Dims steps = depth_first ? Dims{s[0], s[2], s[3], s[1], s[2] * b, s[3] * b}
                                 : Dims{s[0], s[1], s[2], s[3], s[2] * b, s[3] * b};
  return Datums{Datum(copy_strided(x, apart, steps).reshaped({n, channels * b * b, h, w}))};
}

Values decompose(B g, const Call& c) {
  const std::int64_t b = c.integer("blocksize");
  Value *x = c.value(0), *block = g.ints({b});
  Value *n = size_of_axis(g, x, 0), *channels = size_of_axis(g, x, 1),
        *h = g.div(size_of_axis(g, x, 2), block), *w = g.div(size_of_axis(g, x, 3), block);
  const auto shaped = [&](Value* v, const Values& sizes) {
    return g.reshape(v, g.concat(sizes, Attrs{{"axis", 0}}), Attrs{{"allow_zero", true}});
  };
  const std::vector<std::int64_t> perm = c.text("mode") == "DCR"
                                             ? std::vector<std::int64_t>{0, 3, 5, 1, 2, 4}
                                             : std::vector<std::int64_t>{0, 1, 3, 5, 2, 4};
  Value* apart = g.transpose(shaped(x, {n, channels, h, block, w, block}), Attrs{{"perm", perm}});
  return {shaped(apart, {n, g.mul(channels, g.ints({b * b})), h, w})};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.depth_to_space(dys[0],
                           Attrs{{"blocksize", c.integer("blocksize")}, {"mode", c.text("mode")}})};
}

// A part of the height must hold whole blocks, which a plain split does not promise.
Result<Factors> sharding(const Call& c) { return axes_through(c, {1, 2, 3}); }

}  // namespace

OpPage space_to_depth() {
  OpPage p = movement("space_to_depth",
                      "blocks of pixels become blocks of channels; mode DCR: x[n, c, (h, bh), (w, "
                      "bw)] to y[n, (bh, bw, c), h, w], CRD: to y[n, (c, bh, bw), h, w]");
  p.inputs = {{"x", kAny}};
  p.attrs = {AttrSpec::required("blocksize", Attr::Kind::integer), {"mode", "DCR"}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{4, 2, 4, 6}}).with({{"blocksize", 2}}),
      sample({{2, 2, 4, 2}}).with({{"blocksize", 2}, {"mode", "CRD"}}),
      rejects({{1, 1, 3, 2}}, "height and width divide by blocksize").with({{"blocksize", 2}})};
  return p;
}

}  // namespace tenon::ops
