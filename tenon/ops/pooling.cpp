// Types, windows and facets of the pooling pages.
#include "tenon/ops/pooling.h"

namespace tenon::ops {

std::vector<AttrSpec> pool_attrs() {
  auto attrs = window_attrs();
  attrs.push_back(AttrSpec::required("kernel", Attr::Kind::integers));
  attrs.emplace_back("ceil_mode", false);
  return attrs;
}

Attrs copied_pool_attrs(const Call& c, std::initializer_list<std::string_view> extra) {
  Attrs attrs = copied_attrs(c, extra);
  attrs.set("kernel", c.integers("kernel"));
  attrs.set("ceil_mode", c.flag("ceil_mode"));
  return attrs;
}

Result<Shape> pooled_sizes(const Call& c, const Shape& sizes) {
  for (std::int64_t k : c.integers("kernel"))
    if (k < 1) return invalid("kernel sizes are at least 1 but {} is given", k);
  return window_sizes(c, sizes, to_shape(c.integers("kernel")), c.flag("ceil_mode"));
}

Result<Type> infer_pool(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Type::unranked(x.dtype());
  if (x.ndim() < 3) return invalid("x is [n, c, spatial...] but {} is given", x.text());
  Shape out = {x.dim(0), x.dim(1)};
  for (const Dim& d : TENON_TRY(pooled_sizes(c, spatial(x)))) out.push_back(d);
  return x.with_shape(out);
}

Result<Window> pool_window(const Call& c, const Dims& x_spatial) {
  return window_of(c, x_spatial, c.integers("kernel"), c.flag("ceil_mode"));
}

Result<Factors> sharding_planes(const Call& c) {
  const auto names = [](const Type& t) {
    std::vector<std::string> axes(static_cast<std::size_t>(t.ndim()), "");
    if (t.ndim() >= 3) axes[0] = "n", axes[1] = "c";
    return axes;
  };
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i)
    f.inputs.push_back(c.has(i) && c.in(i).ranked() ? names(c.in(i)) : std::vector<std::string>{});
  for (int i = 0; i < c.num_outputs(); ++i)
    f.outputs.push_back(c.out(i).ranked() ? names(c.out(i)) : std::vector<std::string>{});
  return f;
}

Cost cost_pool(const Call& c, const Dim& num_outputs) {
  Dim taps(1);
  for (std::int64_t k : c.integers("kernel")) taps *= Dim(k);
  return {num_outputs * taps, c.bytes_in(), c.bytes_out()};
}

}  // namespace tenon::ops
