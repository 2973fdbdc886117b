// quantize_linear(x, scale, zero_point): numbers on a grid of few bits.
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

DType output_type(const Call& c) {
  return c.has_attr("output_dtype") ? c.dtype("output_dtype")
         : c.has(2)                 ? c.in(2).dtype()
                                    : DType::u8;
}

Result<Types> infer(const Call& c) {
  TENON_TRY(check_granularity(c));
  const DType to = output_type(c);
  if (!kQuantized.has(to))
    return invalid("output_dtype is a type of at most 16 bits but {} is given", name(to));
  if (c.has(2) && c.in(2).dtype() != to)
    return invalid("zero_point is {} but output_dtype is {}", name(c.in(2).dtype()), name(to));
  return Types{c.in(0).with_dtype(to)};
}

// The division's type: asked for, or the scale's.
DType division_type(const Call& c) {
  const DType d = c.has_attr("precision") ? c.dtype("precision") : c.in(1).dtype();
  return kFloat.has(d) ? d : DType::f32;
}

// y = saturate(round(x / scale) + zero_point)
Values decompose(B g, const Call& c) {
  const DType type = division_type(c);
  Value* scaled =
      g.div(g.cast_to(c.value(0), type), g.cast_to(spread_parameter(g, c, c.value(1)), type));
  return {to_quantized(g, scaled, spread_parameter(g, c, c.value(2)), output_type(c),
                       c.flag("saturate"))};
}

}  // namespace

OpPage quantize_linear() {
  auto attrs = quantization_attrs();
  attrs.emplace_back("saturate", true);
  attrs.push_back(AttrSpec::optional("output_dtype", Attr::Kind::dtype));
  attrs.push_back(AttrSpec::optional("precision", Attr::Kind::dtype));
  return {.name = "quantize_linear",
          .doc =
              "y = saturate(round(x / scale) + zero_point), halves to even; the scale is for the "
              "whole tensor, for each position of `axis`, or for blocks of "
              "`block_size` along it. The result's type is output_dtype, zero_point's, or u8; the "
              "division's is `precision` or the scale's",
          .inputs = {{"x", kFloat | TypeSet::one(DType::i32)},
                     {"scale", kScale, "S"},
                     maybe("zero_point", kQuantized, "Q")},
          .attrs = attrs,
          .infer = infer,
          .decompose = decompose,
          .gradient = none("piecewise constant: the derivative is 0 wherever there is one; passing "
                           "dy on is a choice of training, not of this map"),
          .cost = cost_of_decomposition,
          .sharding = sharding_quantization,
          .samples = {sample({{2, 4}, {}, {}})
                          .dtypes({DType::f32, DType::f32, DType::u8})
                          .range_of(0, -9, 9)
                          .range_of(1, 0.1, 0.1)
                          .range_of(2, 100, 140),
                      sample({{2, 4, 3}, {4}, {4}})
                          .dtypes({DType::f32, DType::f32, DType::i8})
                          .range_of(0, -9, 9)
                          .range_of(1, 0.1, 0.5)
                          .range_of(2, -9, 9),
                      sample({{2, 5}, {2, 3}})
                          .range_of(0, -9, 9)
                          .range_of(1, 0.5, 1)
                          .with({{"block_size", 2}, {"output_dtype", DType::i4}}),
                      sample({{3}, {3}})
                          .range_of(0, -900, 900)
                          .range_of(1, 1, 2)
                          .with({{"axis", 0}, {"output_dtype", DType::f8e4m3fn}}),
                      sample({{4}, {}, {}})
                          .dtypes({DType::f16, DType::f16, DType::u16})
                          .range_of(0, 0, 9)
                          .range_of(1, 0.01, 0.01)
                          .range_of(2, 30000, 32000),
                      rejects({{2, 4}, {3}}, "scale.size is 3 but x.size along axis is 4"),
                      rejects({{2, 4}, {2, 3}}, "scale.size is 3 but x.size in blocks is 2")
                          .with({{"block_size", 2}}),
                      rejects({{2, 4}, {}}, "output_dtype is a type of at most 16 bits")
                          .with({{"output_dtype", DType::i64}})}};
}

}  // namespace tenon::ops
