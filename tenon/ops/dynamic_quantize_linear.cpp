// dynamic_quantize_linear(x): quantisation to u8 over the range that x has.
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  return Types{c.in(0).with_dtype(DType::u8), Type(DType::f32, {}), Type(DType::u8, {})};
}

// scale = (max(0, x) - min(0, x)) / 255 (1 / 255 when both are 0), zero_point = round(-min / scale)
Values decompose(B g, const Call& c) {
  Value *x = c.value(0), *zero = g.number(0, x), *steps = g.number(255, x);
  const Attrs all = {{"keepdims", false}};
  Value *high = g.max(g.reduce_max(x, all), zero),
        *low = g.min(g.neg(g.reduce_max(g.neg(x), all)), zero);
  Value* range = g.sub(high, low);
  Value* scale = g.div(g.where(g.equal(range, zero), g.number(1, x), range), steps);
  Value* zero_point = g.round(g.clip(g.neg(g.div(low, scale)), zero, steps));
  return {to_quantized(g, g.div(x, scale), zero_point, DType::u8), scale,
          g.cast_to(zero_point, DType::u8)};
}

}  // namespace

OpPage dynamic_quantize_linear() {
  return {.name = "dynamic_quantize_linear",
          .doc = "x in u8 over [min(0, x), max(0, x)], with the scale and zero point of that range",
          .inputs = {{"x", TypeSet::one(DType::f32)}},
          .outputs = {"y", "scale", "zero_point"},
          .infer = infer,
          .decompose = decompose,
          .gradient = none("piecewise constant: the derivative is 0 wherever there is one"),
          .cost = cost_of_decomposition,
          .sharding = none("the range is that of the whole tensor"),
          .samples = {sample({{2, 3}}).range(-3, 5), sample({{4}}).range(1, 5),
                      sample({{3}}).range(-5, -1), sample({{2}}).range(0, 0),
                      rejects({{2, 3}}, "x is f64 but must be one of f32").all(DType::f64)}};
}

}  // namespace tenon::ops
