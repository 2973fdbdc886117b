// conv_transpose(x, w, b): the adjoint of a convolution as a layer, "deconvolution".
#include "tenon/ops/convolutions.h"

namespace tenon::ops {
namespace {

std::int64_t entry(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t fallback) {
  return list.empty() ? fallback : list[i];
}

// One spatial axis: the result's size and the pads of the convolution whose adjoint this is.
struct Axis {
  Dim size;
  std::int64_t begin = 0, end = 0;
};

// Without given pads the surplus of the full result, stride * (x - 1) + output_padding + extent, is
// cut off on both sides; a negative surplus adds zeros at the end.
Result<Axis> cut_surplus(const Call& c, const Dim& full, const Dim& size) {
  const Dim surplus = full - size;
  if (!surplus.is_constant())
    return unsupported("output_shape needs a known size of x but the surplus is {}",
                       surplus.text());
  const std::int64_t total = std::max<std::int64_t>(0, surplus.value());
  const std::int64_t begin = c.text("auto_pad") == "SAME_UPPER" ? total / 2 : total - total / 2;
  return Axis{size, begin, surplus.value() - begin};
}

Result<Axis> axis_of(const Call& c, std::size_t i) {
  const std::int64_t stride = entry(c.integers("strides"), i, 1),
                     extra = entry(c.integers("output_padding"), i, 0);
  const Dim &x = c.in(0).dim(static_cast<int>(i) + 2),
            &kernel = c.in(1).dim(static_cast<int>(i) + 2);
  const Dim full = Dim(stride) * (x - Dim(1)) + Dim(extra) +
                   (kernel - Dim(1)) * Dim(entry(c.integers("dilations"), i, 1)) + Dim(1);
  const bool same = c.text("auto_pad").starts_with("SAME"),
             wanted = !c.integers("output_shape").empty();
  if (wanted || same)
    return cut_surplus(c, full, wanted ? Dim(c.integers("output_shape")[i]) : Dim(stride) * x);
  const bool valid = c.text("auto_pad") == "VALID";
  const std::size_t n = static_cast<std::size_t>(c.in(0).ndim()) - 2;
  const std::int64_t begin = valid ? 0 : entry(c.integers("pads"), i, 0),
                     end = valid ? 0 : entry(c.integers("pads"), i + n, 0);
  return Axis{full - Dim(begin + end), begin, end};
}

Result<std::vector<Axis>> axes_of(const Call& c) {
  const std::size_t n = static_cast<std::size_t>(c.in(0).ndim()) - 2;
  TENON_TRY(check_window(c, n));
  for (const char* key : {"output_padding", "output_shape"})
    if (!c.integers(key).empty() && c.integers(key).size() != n)
      return invalid("{} has {} entries but x has {} spatial axes", key, c.integers(key).size(), n);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < n; ++i) axes.push_back(TENON_TRY(axis_of(c, i)));
  return axes;
}

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &w = c.in(1);
  if (!x.ranked() || !w.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() >= 3 && w.ndim() == x.ndim(),
               "x is [n, c, spatial...] and w is [c, m / group, kernel...]", x, w);
  TENON_EXPECT_SAME(x.dim(1), w.dim(0), "x.channels == w.rows");
  const Dim channels = w.dim(1) * Dim(c.integer("group"));
  TENON_TRY(check_channels(c, channels, w));
  if (c.has(2)) TENON_EXPECT_SAME(c.in(2).dim(0), channels, "b.size == y.channels");
  Shape out = {x.dim(0), channels};
  if (c.integers("output_shape").empty() || constant_dims(spatial(x))) {
    for (const Axis& a : TENON_TRY(axes_of(c))) {
      TENON_EXPECT(at_least(a.size, 0) != Truth::no, "pads leave a size", x, w);
      out.push_back(a.size);
    }
  } else {
    for (std::int64_t size : c.integers("output_shape")) out.emplace_back(size);
  }
  return Types{x.with_shape(out)};
}

// The sizes as a 1-d value; a symbolic one is stride * x plus a constant.
Value* sizes_value(B g, const Call& c, const std::vector<Axis>& axes) {
  Values parts;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim &size = axes[i].size, &from = c.in(0).dim(static_cast<int>(i) + 2);
    if (size.is_constant()) {
      parts.push_back(g.ints({size.value()}));
      continue;
    }
    const std::int64_t stride = entry(c.integers("strides"), i, 1),
                       axis = static_cast<std::int64_t>(i) + 2;
    Value* x = g.shape(c.value(0), Attrs{{"start", axis}, {"end", axis + 1}});
    parts.push_back(
        g.add(g.mul(x, g.ints({stride})), g.ints({(size - Dim(stride) * from).value()})));
  }
  return g.concat(parts, Attrs{{"axis", 0}});
}

// y = conv_input_adjoint(x, w) + b. The end pad gives way to output_padding, so that the
// convolution of y has exactly x's size.
Values decompose(B g, const Call& c) {
  auto axes = axes_of(c);
  if (!axes.ok()) {
    g.builder().fail(axes.error());
    return {c.value(0)};
  }
  std::vector<std::int64_t> pads;
  for (const Axis& a : *axes) pads.push_back(a.begin);
  for (std::size_t i = 0; i < axes->size(); ++i)
    pads.push_back((*axes)[i].end - entry(c.integers("output_padding"), i, 0));
  Attrs attrs = copied_attrs(c, {"group"});
  attrs.set("pads", pads);
  attrs.set("auto_pad", "NOTSET");
  Value* y = g.conv_input_adjoint(c.value(0), c.value(1), sizes_value(g, c, *axes), attrs);
  if (!c.has(2)) return {y};
  std::vector<std::int64_t> column(static_cast<std::size_t>(c.in(0).ndim()) - 1, 1);
  column[0] = -1;
  return {g.add(y, g.reshape(c.value(2), g.ints(column)))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  const ConvFactors axes = conv_factors(c, !c.has(2));
  std::vector<std::string> w = axes.w;
  std::swap(w[0], w[1]);
  Factors f;
  f.inputs = {axes.x, w};
  if (c.num_inputs() > 2)
    f.inputs.push_back(c.has(2) ? std::vector<std::string>{axes.m} : std::vector<std::string>{});
  f.outputs = {axes.y};
  return f;
}

}  // namespace

OpPage conv_transpose() {
  auto attrs = conv_attrs();
  attrs.emplace_back("output_padding", Attr::Integers{});
  attrs.emplace_back("output_shape", Attr::Integers{});
  return {.name = "conv_transpose",
          .doc =
              "y[n, m, o * stride - begin + k * dilation] += x[n, c, o] * w[c, m, k], plus b[m]; "
              "size stride * (x - 1) + output_padding + extent - pads, "
              "or `output_shape`, or stride * x with SAME",
          .inputs = {{"x", kFloat}, {"w", kFloat}, maybe("b", kFloat)},
          .attrs = attrs,
          .traits = {Trait::contraction},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 3, 3}, {4, 2, 3, 3}, {2}}),
                      sample({{2, 4, 3}, {4, 2, 3}})
                          .with({{"strides", Attr::Integers{2}}, {"pads", Attr::Integers{1, 0}}}),
                      sample({{1, 2, 3, 3}, {2, 1, 3, 3}, {2}})
                          .with({{"group", 2},
                                 {"strides", Attr::Integers{3, 2}},
                                 {"output_padding", Attr::Integers{1, 1}},
                                 {"dilations", Attr::Integers{2, 1}}}),
                      sample({{1, 1, 3, 3}, {1, 2, 3, 3}})
                          .with({{"strides", Attr::Integers{3, 2}},
                                 {"output_shape", Attr::Integers{10, 8}}}),
                      sample({{1, 1, 3, 3}, {1, 2, 3, 3}})
                          .with({{"auto_pad", "SAME_UPPER"}, {"strides", Attr::Integers{2, 2}}}),
                      sample({{1, 1, 3}, {1, 2, 2}})
                          .with({{"auto_pad", "SAME_LOWER"}, {"strides", Attr::Integers{3}}}),
                      sample({{1, 1, 3}, {1, 2, 2}}).with({{"output_padding", Attr::Integers{2}}}),
                      sample({{1, 2, 2, 2, 2}, {2, 1, 2, 1, 2}}),
                      rejects({{1, 3, 3}, {2, 2, 2}}, "x.channels is 3 but w.rows is 2"),
                      rejects({{1, 2, 3}, {2, 2, 2}}, "output_shape has 2 entries")
                          .with({{"output_shape", Attr::Integers{4, 4}}})}};
}

}  // namespace tenon::ops
