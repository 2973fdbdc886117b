// Gradients where differences cannot tell: kinks, ties, poles, infinities. The values are those
// that the pages state.
#include <gtest/gtest.h>

#include "tests/ops/values.h"

namespace tenon::ops {
namespace {

struct Case {
  std::string_view op;
  std::vector<Tensor> inputs;
  Tensor dy;
  std::vector<Tensor> expected;  // undefined: not compared
  Attrs attrs = {};
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto got = gradients(c.op, c.inputs, c.dy, c.attrs);
    for (std::size_t i = 0; i < c.expected.size(); ++i) {
      if (!c.expected[i].defined()) continue;
      ASSERT_TRUE(got[i].defined()) << c.op << " gives no gradient of input " << i;
      EXPECT_EQ(differs(got[i], c.expected[i]), "") << c.op << ", input " << i;
    }
  }
}

TEST(Gradients, AtKinks) {
  const Tensor one = f32({1}), zero = f32({0});
  check({{"abs", {zero}, one, {zero}},
         {"relu", {zero}, one, {zero}},
         {"relu", {f32({-1, 2})}, f32({kInf, 1}), {f32({0, 1})}},
         {"leaky_relu", {zero}, one, {f32({0.01F})}},
         {"prelu", {zero, f32({0.3F})}, one, {f32({0.3F}), zero}},
         {"elu", {f32({0, 100})}, f32({1, 1}), {f32({2, 1})}, {{"alpha", 2.0}}},
         {"celu", {f32({0, 100})}, f32({1, 1}), {f32({1, 1})}},
         {"hard_sigmoid", {f32({-2.5F, 0, 2.5F})}, f32({1, 1, 1}), {f32({0, 0.2F, 0})}},
         {"hard_swish", {f32({-3, 0, 3})}, f32({1, 1, 1}), {f32({0, 0.5F, 1})}},
         {"thresholded_relu", {one}, one, {zero}},
         {"shrink", {f32({-0.5F, 0.5F, 1})}, f32({1, 1, 1}), {f32({0, 0, 1})}},
         {"clip",
          {f32({-1, -0.5F, 0, 0.5F, 1}), of_type(DType::f32, {-0.5}), of_type(DType::f32, {0.5})},
          f32({1, 2, 4, 8, 16}),
          {f32({0, 2, 4, 8, 0}), f32({1}), f32({16})}},
         {"clip", {f32({0}), f32({2}), f32({1})}, one, {zero, zero, one}}});
}

TEST(Gradients, AtTies) {
  check({{"max",
          {f32({1, 2, 3}), f32({3, 2, 1})},
          f32({1, 1, 1}),
          {f32({0, 0.5F, 1}), f32({1, 0.5F, 0})}},
         {"min",
          {f32({1, 2, 3}), f32({3, 2, 1})},
          f32({1, 1, 1}),
          {f32({1, 0.5F, 0}), f32({0, 0.5F, 1})}}});
}

TEST(Gradients, AtPolesAreInfiniteOnlyWhereAskedFor) {
  const Tensor dy = f32({1, 0}), zeros = f32({0, 0}), ones = f32({1, 1}), up = f32({kInf, 0});
  check({{"sqrt", {zeros}, dy, {up}},
         {"log", {zeros}, dy, {up}},
         {"log1p", {f32({-1, -1})}, dy, {up}},
         {"rsqrt", {zeros}, dy, {f32({-kInf, 0})}},
         {"asin", {ones}, dy, {up}},
         {"acosh", {ones}, dy, {up}},
         {"atanh", {ones}, dy, {up}},
         {"acos", {ones}, dy, {f32({-kInf, 0})}},
         {"reciprocal", {zeros}, dy, {f32({-kInf, 0})}},
         {"atan2", {zeros, zeros}, ones, {zeros, zeros}}});
}

TEST(Gradients, OfPowersOfZero) {
  check(
      {{"pow", {f32({0, 0, 0}), f32({0, 1, 2})}, f32({1, 1, 1}), {f32({0, 1, 0}), f32({0, 0, 0})}},
       {"pow", {f32({0}), f32({0.5F})}, f32({1}), {f32({kInf}), f32({0})}},
       {"pow",
        {f32({-2}), f32({2})},
        f32({1}),
        {f32({-4}), f32({kNan})}},  // a^b is not real beside b = 2
       {"pow", {f32({-2}), i64({3})}, f32({1}), {f32({12}), Tensor()}}});
}

TEST(Gradients, PassNothingToTheSideNotTaken) {
  check({{"where",
          {truths({1, 0}), f32({1, 1}), f32({2, 2})},
          f32({kInf, 3}),
          {Tensor(), f32({kInf, 0}), f32({0, 3})}}});
  EXPECT_FALSE(gradients("stop_gradient", {f32({1})}, f32({1}))[0].defined());
  EXPECT_FALSE(gradients("floor", {f32({1})}, f32({1}))[0].defined());
}

}  // namespace
}  // namespace tenon::ops
