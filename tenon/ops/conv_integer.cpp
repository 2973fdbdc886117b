// conv_integer(x, w, x_zero_point, w_zero_point): a convolution of bytes, summed in 32 bits.
#include "tenon/ops/convolutions.h"
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &w = c.in(1);
  if (!x.ranked() || !w.ranked()) return Types{Type::unranked(DType::i32)};
  TENON_EXPECT(x.ndim() >= 3 && w.ndim() == x.ndim(),
               "x is [n, c, spatial...] and w is [m, c / group, kernel...]", x, w);
  TENON_TRY(check_channels(c, x.dim(1), w));
  if (c.has(3) && c.in(3).ndim() == 1 && !(c.in(3).dim(0) == Dim(1)))
    TENON_EXPECT_SAME(c.in(3).dim(0), w.dim(0), "w_zero_point.size == w.rows");
  Shape out = {x.dim(0), w.dim(0)};
  for (const Dim& d : TENON_TRY(window_sizes(c, spatial(x), spatial(w)))) out.push_back(d);
  return Types{Type(DType::i32, out)};
}

Values decompose(B g, const Call& c) {
  const int ndim = c.in(0).ndim();
  Value *x = centred(g, c.value(0), channel_parameter(g, c.value(2), ndim, 1)),
        *w = centred(g, c.value(1), channel_parameter(g, c.value(3), ndim, 0));
  return {g.conv(x, w, copied_attrs(c, {"group"}))};
}

Result<Factors> sharding(const Call& c) {
  const ConvFactors axes = conv_factors(c);
  Factors f;
  f.inputs = {axes.x, axes.w, {}, {}};
  if (c.has(2) && c.in(2).ndim() == 1) f.inputs[2] = {""};
  if (c.has(3) && c.in(3).ndim() == 1) f.inputs[3] = {c.in(3).dim(0) == Dim(1) ? "" : axes.m};
  f.inputs.resize(static_cast<std::size_t>(c.num_inputs()));
  f.outputs = {axes.y};
  return f;
}

}  // namespace

OpPage conv_integer() {
  return {
      .name = "conv_integer",
      .doc =
          "conv of x - x_zero_point and w - w_zero_point in i32; pads are zeros after the "
          "subtraction; w_zero_point is a scalar or one for each output channel",
      .inputs = {{"x", kByte, "X"},
                 {"w", kByte, "W"},
                 maybe("x_zero_point", kByte, "X"),
                 maybe("w_zero_point", kByte, "W")},
      .attrs = conv_attrs(),
      .traits = {Trait::contraction},
      .infer = infer,
      .decompose = decompose,
      .gradient = none("integers"),
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {sample({{2, 2, 4, 3}, {4, 2, 2, 2}, {}, {4}}).all(DType::u8).range(0, 255),
                  sample({{1, 2, 5}, {2, 1, 3}})
                      .dtypes({DType::u8, DType::i8})
                      .range(0, 99)
                      .with({{"group", 2}, {"pads", Attr::Integers{1, 1}}}),
                  rejects({{1, 2, 4}, {2, 2, 2}, {}, {3}}, "w_zero_point.size is 3 but w.rows is 2")
                      .all(DType::u8)}};
}

}  // namespace tenon::ops
