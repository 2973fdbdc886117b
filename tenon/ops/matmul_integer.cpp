// matmul_integer(a, b, a_zero_point, b_zero_point): products of bytes, summed in 32 bits.
#include "tenon/ops/quantization.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type &a = c.in(0), &b = c.in(1);
  if (!a.ranked() || !b.ranked()) return Types{Type::unranked(DType::i32)};
  TENON_EXPECT(a.ndim() >= 1 && b.ndim() >= 1, "ndim >= 1", a, b);
  TENON_EXPECT_SAME(a.dim(-1), b.dim(b.ndim() == 1 ? 0 : -2), "a.cols == b.rows");
  Shape out =
      TENON_TRY(broadcast(Shape(a.shape().begin(), a.shape().end() - std::min(a.ndim(), 2)),
                          Shape(b.shape().begin(), b.shape().end() - std::min(b.ndim(), 2))));
  if (a.ndim() > 1) out.push_back(a.dim(-2));
  if (b.ndim() > 1) out.push_back(b.dim(-1));
  return Types{Type(DType::i32, std::move(out))};
}

// A vector a is one row: its zero point is a scalar.
Values decompose(B g, const Call& c) {
  return {g.matmul(centred(g, c.value(0), row_parameter(g, c.value(2))),
                   centred(g, c.value(1), c.value(3)))};
}

Result<Factors> sharding(const Call& c) {
  const char* a = c.in(0).ndim() == 1 ? "k" : "... m k";
  const char* b = c.in(1).ndim() == 1 ? "k" : "... k n";
  const std::string y =
      std::string("...") + (c.in(0).ndim() == 1 ? "" : " m") + (c.in(1).ndim() == 1 ? "" : " n");
  const auto zero = [&](int i, const char* along) {
    return !c.has(i) || c.in(i).ndim() == 0 ? ""
           : c.in(i).ndim() == 1            ? (c.in(i).dim(0) == Dim(1) ? "_" : along)
                                            : "...";
  };
  Factors f = TENON_TRY(
      factors(fmt::format("{}, {}, {}, {} -> {}", a, b, zero(2, "m"), zero(3, "n"), y)).resolve(c));
  for (int i = 2; i < 4;
       ++i)  // zero points of a higher rank stay whole, and so does what they belong to
    if (c.has(i) && c.in(i).ndim() > 1) {
      f.inputs[static_cast<std::size_t>(i)].assign(static_cast<std::size_t>(c.in(i).ndim()), "");
      for (auto* names : {&f.inputs[static_cast<std::size_t>(i - 2)], &f.outputs[0]})
        f.whole_factors.insert(f.whole_factors.end(), names->begin(), names->end());
    }
  return f;
}

}  // namespace

OpPage matmul_integer() {
  return {.name = "matmul_integer",
          .doc =
              "y = (a - a_zero_point) (b - b_zero_point) in i32; zero points are scalars, or one "
              "for each row of a and column of b",
          .inputs = {{"a", kByte, "A"},
                     {"b", kByte, "B"},
                     maybe("a_zero_point", kByte, "A"),
                     maybe("b_zero_point", kByte, "B")},
          .traits = {Trait::contraction},
          .infer = infer,
          .decompose = decompose,
          .gradient = none("integers"),
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{4, 3}, {3, 2}, {}, {}})
                          .dtypes({DType::u8, DType::u8, DType::u8, DType::u8})
                          .range(0, 255),
                      sample({{4, 4}, {4, 2}, {4}, {2}}).all(DType::i8).range(-9, 9),
                      sample({{2, 4, 3}, {3, 2}}).dtypes({DType::u8, DType::i8}).range(0, 99),
                      sample({{2, 2, 3}, {3, 2}, {2, 2, 1}}).all(DType::i8).range(-9, 9),
                      rejects({{2, 3}, {2, 3}}, "a.cols is 3 but b.rows is 2").all(DType::u8)}};
}

}  // namespace tenon::ops
