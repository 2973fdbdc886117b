// dequantize_linear(x, scale, zero_point): from a grid of few bits back to floats.
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

DType output_type(const Call& c) {
  if (c.has_attr("output_dtype")) return c.dtype("output_dtype");
  return kFloat.has(c.in(1).dtype()) ? c.in(1).dtype() : DType::f32;
}

Result<Types> infer(const Call& c) {
  TENON_TRY(check_granularity(c));
  if (!kFloat.has(output_type(c)))
    return invalid("output_dtype is f32, f64, f16 or bf16 but {} is given", name(output_type(c)));
  return Types{c.in(0).with_dtype(output_type(c))};
}

// y = (x - zero_point) * scale, in at least 32 bits
Values decompose(B g, const Call& c) {
  const DType to = output_type(c), wide = wide_float(to);
  Value* x = g.cast_to(c.value(0), wide);
  if (c.has(2)) x = g.sub(x, g.cast_to(spread_parameter(g, c, c.value(2)), wide));
  return {g.cast_to(g.mul(x, g.cast_to(spread_parameter(g, c, c.value(1)), wide)), to)};
}

// Linear in the scale: dscale = sum dy * (x - zero_point). Codes and zero points have no
// derivative.
Values gradient(B g, const Call& c, const Values& dys) {
  const Values dxs = gradient_of_decomposition(g, c, dys);
  Values out(dxs.size(), nullptr);
  out[1] = dxs[1];
  return out;
}

}  // namespace

OpPage dequantize_linear() {
  auto attrs = quantization_attrs();
  attrs.push_back(AttrSpec::optional("output_dtype", Attr::Kind::dtype));
  return {
      .name = "dequantize_linear",
      .doc =
          "y = (x - zero_point) * scale; granularity as in quantize_linear. The result's type is "
          "output_dtype, or the scale's",
      .inputs = {{"x", kQuantized | TypeSet::one(DType::i32), "Q"},
                 {"scale", kFloat | TypeSet::one(DType::f8e8m0), "S"},
                 maybe("zero_point", kQuantized | TypeSet::one(DType::i32), "Q")},
      .attrs = attrs,
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding_quantization,
      .samples = {
          sample({{2, 4}, {}, {}})
              .dtypes({DType::u8, DType::f32, DType::u8})
              .range(0.5, 2)
              .range_of(0, 0, 255)
              .range_of(2, 100, 140),
          sample({{2, 4, 3}, {4}, {4}})
              .dtypes({DType::i8, DType::f32, DType::i8})
              .range(0.5, 2)
              .range_of(0, -9, 9)
              .range_of(2, -9, 9),
          sample({{2, 5}, {2, 3}})
              .dtypes({DType::i4, DType::f32})
              .range(0.5, 2)
              .range_of(0, -8, 7)
              .with({{"block_size", 2}}),
          sample({{4}, {}})
              .dtypes({DType::f8e5m2, DType::f32})
              .range(0.5, 2)
              .with({{"output_dtype", DType::f16}})
              .without_gradient("16-bit result"),
          sample({{4, 2}, {}}).dtypes({DType::i32, DType::f32}).range(0.5, 2).range_of(0, -99, 99),
          rejects({{2, 4}, {3}}, "scale.size is 3").dtypes({DType::u8, DType::f32}),
          rejects({{2, 4}, {}, {}}, "zero_point is i8 but x is u8")
              .dtypes({DType::u8, DType::f32, DType::i8})}};
}

}  // namespace tenon::ops
