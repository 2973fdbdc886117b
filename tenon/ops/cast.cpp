// cast(x; to): the same numbers in another element type.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Rounding rounding_of(const Call& c) {
  const std::string& mode = c.text("round_mode");
  return mode == "up" ? Rounding::up : mode == "down" ? Rounding::down : Rounding::nearest_even;
}

Expr scalar(const Call& c, const Exprs& x) {
  const DType to = c.dtype("to");
  const bool saturates =
      c.flag("saturate") && size_of(to) == 1;  // f16 and bf16 overflow to infinity
  return Expr::cast(x[0], to, saturates ? Overflow::saturate : Overflow::to_special,
                    rounding_of(c));
}

// dx = dy in x's type
Values gradient(B g, const Call& c, const Values& dys) {
  if (!is_floating(c.in(0).dtype()) || !dys[0]) return {nullptr};
  return {g.cast_to(dys[0], c.in(0).dtype())};
}

}  // namespace

OpPage cast() {
  return elementwise({
      .name = "cast",
      .doc = "y = x converted to `to`: floats round to nearest even, integers wrap, float to "
             "integer truncates toward zero; "
             "`saturate` clamps to the largest value of a type under 16 bits; otherwise overflow "
             "gives infinity or NaN",
      .inputs = {{"x", kNumeric | kFloat8 | kSubByte | kBool}},
      .attrs = {AttrSpec::required("to", Attr::Kind::dtype),
                {"saturate", true},
                {"round_mode", "nearest"}},
      .scalar = scalar,
      .gradient = gradient,
      .samples = {sample({{2, 3}}).with({{"to", DType::f64}}),
                  sample({{2, 3}})
                      .with({{"to", DType::i32}})
                      .range(-9, 9)
                      .without_gradient("integer result"),
                  sample({{4}}).all(DType::i64).range(-300, 300).with({{"to", DType::u8}}),
                  sample({{8}})
                      .range(-600, 600)
                      .with({{"to", DType::f8e4m3fn}})
                      .without_gradient("8-bit result is a staircase"),
                  sample({{4}})
                      .given(0, Tensor::vector<float>({7e4f, -7e4f, 65519, 1}))
                      .with({{"to", DType::f16}})
                      .without_gradient("beyond the type's range"),
                  sample({{3}}).all(DType::boolean).range(0, 1).with({{"to", DType::f32}})},
  });
}

}  // namespace tenon::ops
