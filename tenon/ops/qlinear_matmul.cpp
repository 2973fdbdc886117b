// qlinear_matmul(a, ..., b, ..., y_scale, y_zero_point): a matrix product from and to quantised
// numbers.
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

constexpr TypeSet kCodes = kByte | TypeSet::one(DType::f8e4m3fn) | TypeSet::one(DType::f8e4m3fnuz) |
                           TypeSet::one(DType::f8e5m2) | TypeSet::one(DType::f8e5m2fnuz);
enum Input { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

Result<Types> infer(const Call& c) {
  const Type &a = c.in(kA), &b = c.in(kB);
  const DType to = c.in(kYZero).dtype();
  if (!a.ranked() || !b.ranked()) return Types{Type::unranked(to)};
  TENON_EXPECT(a.ndim() >= 1 && b.ndim() >= 1, "ndim >= 1", a, b);
  TENON_EXPECT_SAME(a.dim(-1), b.dim(b.ndim() == 1 ? 0 : -2), "a.cols == b.rows");
  Shape out =
      TENON_TRY(broadcast(Shape(a.shape().begin(), a.shape().end() - std::min(a.ndim(), 2)),
                          Shape(b.shape().begin(), b.shape().end() - std::min(b.ndim(), 2))));
  if (a.ndim() > 1) out.push_back(a.dim(-2));
  if (b.ndim() > 1) out.push_back(b.dim(-1));
  return Types{Type(to, std::move(out))};
}

// y = saturate(round((a - za) (b - zb) * (sa * sb / sy)) + zy); the product is exact in i32
Values decompose(B g, const Call& c) {
  const bool are_bytes = kByte.has(c.in(kA).dtype()) && kByte.has(c.in(kB).dtype());
  Value* product =
      are_bytes ? g.matmul_integer(c.value(kA), c.value(kB), c.value(kAZero), c.value(kBZero))
                : g.matmul(centred(g, c.value(kA), row_parameter(g, c.value(kAZero))),
                           centred(g, c.value(kB), c.value(kBZero)));
  const auto scale = [&](int i) { return g.cast_to(c.value(i), DType::f32); };
  Value* factor = g.div(g.mul(row_parameter(g, scale(kAScale)), scale(kBScale)),
                        row_parameter(g, scale(kYScale)));
  return {to_quantized(g, g.mul(g.cast_to(product, DType::f32), factor),
                       row_parameter(g, c.value(kYZero)), c.in(kYZero).dtype())};
}

// Rounding follows the sum over k, so k stays whole. With scales for rows or columns, so do those.
Result<Factors> sharding(const Call& c) {
  bool single = true;
  for (int i : {kAScale, kAZero, kBScale, kBZero, kYScale, kYZero})
    single = single && c.in(i).count() == Dim(1);
  Factors f = TENON_TRY(factors(c.in(kA).ndim() > 1 && c.in(kB).ndim() > 1
                                    ? "... m k, ..., ..., ... k n, ..., ..., ..., ... -> ... m n"
                                    : "... -> ...")
                            .resolve(c));
  f.whole_factors = {"k"};
  for (std::size_t i = 0; i < f.inputs.size(); ++i)
    if (i != kA && i != kB) f.inputs[i].assign(f.inputs[i].size(), "");
  if (!single || c.in(kA).ndim() < 2 || c.in(kB).ndim() < 2)
    for (const auto& names : f.inputs)
      f.whole_factors.insert(f.whole_factors.end(), names.begin(), names.end());
  return f;
}

Sample quantised(std::vector<Dims> dims, DType code) {
  const DType f = DType::f32;
  return sample(std::move(dims))
      .dtypes({code, f, code, code, f, code, f, code})
      .range(0.01, 0.02)
      .range_of(kA, 0, 99)
      .range_of(kB, 0, 99)
      .range_of(kAZero, 0, 50)
      .range_of(kBZero, 0, 50)
      .range_of(kYZero, 0, 50)
      .range_of(kYScale, 0.5, 0.9);
}

}  // namespace

OpPage qlinear_matmul() {
  return {
      .name = "qlinear_matmul",
      .doc =
          "y = saturate(round((a - a_zero_point) (b - b_zero_point) * a_scale * b_scale / y_scale) "
          "+ y_zero_point); scales and zero points are scalars, or one for each row of a and "
          "column of b",
      .inputs = {{"a", kCodes, "A"},
                 {"a_scale", kFloat, "S"},
                 {"a_zero_point", kCodes, "A"},
                 {"b", kCodes, "B"},
                 {"b_scale", kFloat, "S"},
                 {"b_zero_point", kCodes, "B"},
                 {"y_scale", kFloat, "S"},
                 {"y_zero_point", kCodes, "Y"}},
      .traits = {Trait::contraction},
      .infer = infer,
      .decompose = decompose,
      .gradient = none("piecewise constant: the derivative is 0 wherever there is one"),
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {quantised({{4, 3}, {}, {}, {3, 2}, {}, {}, {}, {}}, DType::u8),
                  quantised({{2, 4, 3}, {1}, {1}, {2, 3, 4}, {1}, {1}, {1}, {1}}, DType::i8),
                  quantised({{4, 3}, {4}, {4}, {3, 2}, {2}, {2}, {}, {}}, DType::u8),
                  sample({{2, 3}, {}, {}, {3, 2}, {}, {}, {}, {}})
                      .dtypes({DType::f8e4m3fn, DType::f16, DType::f8e4m3fn, DType::f8e4m3fn,
                               DType::f16, DType::f8e4m3fn, DType::f16, DType::f8e4m3fn})
                      .range_of(2, 0, 0)
                      .range_of(5, 0, 0)
                      .range_of(7, 0, 0)
                      .range_of(6, 1, 1),
                  rejects({{2, 3}, {}, {}, {2, 3}, {}, {}, {}, {}}, "a.cols is 3 but b.rows is 2")
                      .dtypes({DType::u8, DType::f32, DType::u8, DType::u8, DType::f32, DType::u8,
                               DType::f32, DType::u8})}};
}

}  // namespace tenon::ops
