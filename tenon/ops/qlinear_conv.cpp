// qlinear_conv(x, ..., w, ..., y_scale, y_zero_point, b): a convolution from and to quantised
// numbers.
#include "tenon/ops/convolutions.h"
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

enum Input { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

Result<Types> infer(const Call& c) {
  const Type &x = c.in(kX), &w = c.in(kW);
  const DType to = c.in(kYZero).dtype();
  if (!x.ranked() || !w.ranked()) return Types{Type::unranked(to)};
  TENON_EXPECT(x.ndim() >= 3 && w.ndim() == x.ndim(),
               "x is [n, c, spatial...] and w is [m, c / group, kernel...]", x, w);
  TENON_TRY(check_channels(c, x.dim(1), w));
  for (int i : {kWScale, kWZero})
    if (c.in(i).ndim() == 1 && !(c.in(i).dim(0) == Dim(1)))
      TENON_EXPECT_SAME(c.in(i).dim(0), w.dim(0), "w_scale.size == w.rows");
  if (c.has(kBias)) TENON_EXPECT_SAME(c.in(kBias).dim(0), w.dim(0), "b.size == w.rows");
  Shape out = {x.dim(0), w.dim(0)};
  for (const Dim& d : TENON_TRY(window_sizes(c, spatial(x), spatial(w)))) out.push_back(d);
  return Types{Type(to, out)};
}

// y = saturate(round((conv(x - zx, w - zw) + b) * (sx * sw / sy)) + zy); the sum is exact in i32
Values decompose(B g, const Call& c) {
  const int ndim = c.in(kX).ndim();
  const auto scale = [&](int i) {
    return channel_parameter(g, g.cast_to(c.value(i), DType::f32), ndim, 1);
  };
  Value* sum = g.conv_integer(c.value(kX), c.value(kW), c.value(kXZero), c.value(kWZero),
                              copied_attrs(c, {"group"}));
  if (c.has(kBias)) sum = g.add(sum, channel_parameter(g, c.value(kBias), ndim, 1));
  Value* factor = g.div(g.mul(scale(kXScale), scale(kWScale)), scale(kYScale));
  return {to_quantized(g, g.mul(g.cast_to(sum, DType::f32), factor),
                       channel_parameter(g, c.value(kYZero), ndim, 1), c.in(kYZero).dtype())};
}

// Rounding follows the sum over input channels, which stay whole.
Result<Factors> sharding(const Call& c) {
  Factors f;
  const std::string m = c.integer("group") == 1 ? "m" : "";
  const auto pad = [&](std::vector<std::string> names) {
    names.resize(static_cast<std::size_t>(c.in(0).ndim()), "");
    return names;
  };
  for (int i = 0; i < c.num_inputs(); ++i)
    f.inputs.emplace_back(c.has(i) ? static_cast<std::size_t>(c.in(i).ndim()) : 0, "");
  f.inputs[kX] = pad({"n"});
  f.inputs[kW] = pad({m});
  for (int i : {kWScale, kWZero, kBias})
    if (i < c.num_inputs() && c.has(i) && c.in(i).ndim() == 1 && !(c.in(i).dim(0) == Dim(1)))
      f.inputs[static_cast<std::size_t>(i)] = {m};
  f.outputs = {pad({"n", m})};
  return f;
}

Sample quantised(std::vector<Dims> dims, DType code, DType weight) {
  const DType f = DType::f32;
  std::vector<DType> types = {code, f, code, weight, f, weight, f, code, DType::i32};
  types.resize(dims.size());
  Sample s = sample(std::move(dims))
                 .dtypes(types)
                 .range(0.01, 0.02)
                 .range_of(kX, 0, 99)
                 .range_of(kW, 0, 99)
                 .range_of(kXZero, 0, 50)
                 .range_of(kWZero, 0, 50)
                 .range_of(kYZero, 0, 50)
                 .range_of(kYScale, 0.5, 0.9);
  return types.size() > kBias ? std::move(s).range_of(kBias, -99, 99) : s;
}

}  // namespace

OpPage qlinear_conv() {
  return {.name = "qlinear_conv",
          .doc =
              "y = saturate(round((conv(x - x_zero_point, w - w_zero_point) + b) * x_scale * "
              "w_scale / y_scale) + y_zero_point); w's scale and zero point are scalars or one for "
              "each output channel",
          .inputs = {{"x", kByte, "X"},
                     {"x_scale", kFloat, "S"},
                     {"x_zero_point", kByte, "X"},
                     {"w", kByte, "W"},
                     {"w_scale", kFloat, "S"},
                     {"w_zero_point", kByte, "W"},
                     {"y_scale", kFloat, "S"},
                     {"y_zero_point", kByte, "Y"},
                     maybe("b", TypeSet::one(DType::i32), "B")},
          .attrs = conv_attrs(),
          .traits = {Trait::contraction},
          .infer = infer,
          .decompose = decompose,
          .gradient = none("piecewise constant: the derivative is 0 wherever there is one"),
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {
              quantised({{2, 2, 4, 3}, {}, {}, {4, 2, 2, 2}, {4}, {4}, {}, {}, {4}}, DType::u8,
                        DType::i8),
              quantised({{1, 2, 5}, {1}, {1}, {2, 1, 3}, {1}, {1}, {1}, {1}}, DType::u8, DType::u8)
                  .with({{"group", 2}, {"pads", Attr::Integers{1, 1}}}),
              rejects({{1, 2, 4}, {}, {}, {2, 2, 2}, {3}, {3}, {}, {}},
                      "w_scale.size is 3 but w.rows is 2")
                  .dtypes({DType::u8, DType::f32, DType::u8, DType::u8, DType::f32, DType::u8,
                           DType::f32, DType::u8})}};
}

}  // namespace tenon::ops
