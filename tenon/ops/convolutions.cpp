// Checks and sizes that the convolution pages share.
#include "tenon/ops/convolutions.h"

namespace tenon::ops {

std::vector<AttrSpec> conv_attrs() {
  auto attrs = window_attrs();
  attrs.emplace_back("group", 1);
  return attrs;
}

Result<bool> check_channels(const Call& c, const Dim& x_channels, const Type& w) {
  const std::int64_t group = c.integer("group");
  if (group < 1) return invalid("group is at least 1 but {} is given", group);
  TENON_EXPECT_SAME(x_channels, w.dim(1) * Dim(group), "x.channels == w.channels * group");
  if (w.dim(0).is_constant() && w.dim(0).value() % group)
    return invalid("w.rows is {} but must divide by group {}", w.dim(0).value(), group);
  return true;
}

ConvFactors conv_factors(const Call& c, bool splits_input_channels) {
  const bool split = c.integer("group") == 1;
  ConvFactors f;
  f.c = split && splits_input_channels ? "c" : "";
  f.m = split ? "m" : "";
  f.x = {"n", f.c};
  f.w = {f.m, f.c};
  f.y = {"n", f.m};
  for (auto* names : {&f.x, &f.w, &f.y}) names->resize(static_cast<std::size_t>(c.in(0).ndim()));
  return f;
}

Value* spatial_value(B g, Value* v) { return g.dims_value(spatial(v->type()), v); }

void merge_rows(Window& w) {
  for (const WindowAxis& a : w)
    if (a.kernel != 1 || a.stride != 1 || a.begin != 0 || a.x != a.y) return;
  w[2].x = w[2].y = x_plane(w);
  w[0] = w[1] = {};
}

}  // namespace tenon::ops
