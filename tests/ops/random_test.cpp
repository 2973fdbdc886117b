// Random pages: the same bits from the same key, the right distribution, masks that gradients
// share.
#include "tenon/base/random.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/ops/values.h"

namespace tenon::ops {
namespace {

Tensor first(std::string_view op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  auto out = call(op, inputs, attrs);
  TENON_CHECK(out.ok(), "{}", out.ok() ? "" : out.error().text());
  return (*out)[0].tensor();
}

Attrs shaped(std::vector<std::int64_t> shape, std::int64_t seed, DType dtype = DType::f32) {
  return {{"shape", Attr(std::move(shape))}, {"seed", seed}, {"dtype", dtype}};
}

double mean(const Tensor& t) {
  const auto v = to_doubles(t);
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double mean_square(const Tensor& t) {
  double sum = 0;
  for (double v : to_doubles(t)) sum += v * v;
  return sum / static_cast<double>(t.count());
}

TEST(Random, SameSeedAndKeySameBits) {
  const Tensor a = first("random_uniform", {}, shaped({64}, 7)),
               key = Tensor::scalar<std::int64_t>(1);
  EXPECT_EQ(differs(first("random_uniform", {}, shaped({64}, 7)), a, 0), "");
  EXPECT_EQ(differs(first("random_uniform_like", {a}, {{"seed", 7}}), a, 0), "");
  EXPECT_NE(differs(first("random_uniform", {}, shaped({64}, 8)), a, 0), "");
  EXPECT_NE(differs(first("random_uniform", {key}, shaped({64}, 7)), a, 0), "");
}

TEST(Random, NumbersAreThoseOfTheCounterGenerator) {
  std::vector<float> uniform(64), normal(64);
  fill_uniform(uniform, 7, 3);
  fill_normal(normal, 7, 3);
  const Tensor key = Tensor::scalar<std::int64_t>(3);
  EXPECT_EQ(differs(first("random_uniform", {key}, shaped({64}, 7)), f32(uniform), 0), "");
  EXPECT_EQ(differs(first("random_normal", {key}, shaped({64}, 7)), f32(normal), 0), "");
}

TEST(Random, DistributionsHaveTheirMoments) {
  const std::int64_t n = 20000;
  for (DType d : {DType::f32, DType::f64, DType::bf16}) {
    Attrs uniform = shaped({n}, 1, d), normal = shaped({n}, 2, d);
    uniform.set("low", -1.0);
    uniform.set("high", 3.0);
    normal.set("mean", 2.0);
    normal.set("scale", 3.0);
    EXPECT_NEAR(mean(first("random_uniform", {}, uniform)), 1, 0.03);
    EXPECT_NEAR(mean_square(first("random_uniform", {}, uniform)), 7.0 / 3, 0.06);
    EXPECT_NEAR(mean(first("random_normal", {}, normal)), 2, 0.08);
    EXPECT_NEAR(mean_square(first("random_normal", {}, normal)), 13, 0.5);
  }
}

TEST(Random, BernoulliAndMultinomialFollowTheirProbabilities) {
  const Tensor p = Tensor::full(DType::f32, {20000}, 0.3);
  EXPECT_NEAR(mean(first("bernoulli", {p}, {{"seed", 4}})), 0.3, 0.01);
  EXPECT_EQ(mean(first("bernoulli", {Tensor::full(DType::f32, {100}, 0)}, {})), 0);
  EXPECT_EQ(mean(first("bernoulli", {Tensor::full(DType::f32, {100}, 1)}, {})), 1);
  const Tensor logits = of_type(DType::f64, {std::log(0.2), std::log(0.8), -1e300}, {1, 3});
  const Tensor drawn = first("multinomial", {logits}, {{"sample_size", 20000}, {"seed", 9}});
  EXPECT_EQ(drawn.dtype(), DType::i32);
  EXPECT_NEAR(mean(drawn), 0.8, 0.01);
}

TEST(Random, DropoutKeepsTheMeanAndItsGradientSharesTheMask) {
  const Tensor x = Tensor::full(DType::f32, {20000}, 1), ratio = Tensor::full(DType::f32, {}, 0.25),
               training = Tensor::full(DType::boolean, {}, 1);
  const auto out = call("dropout", {x, ratio, training}, {{"seed", 6}});
  ASSERT_TRUE(out.ok());
  const Tensor y = (*out)[0].tensor(), mask = (*out)[1].tensor();
  EXPECT_NEAR(mean(mask), 0.75, 0.01);
  EXPECT_NEAR(mean(y), 1, 0.015);
  EXPECT_EQ(differs(gradients("dropout", {x, ratio, training}, x, {{"seed", 6}})[0], y, 0),
            "");  // dy = x = 1: the same numbers
  const auto idle = call("dropout", {x, ratio}, {});
  EXPECT_EQ(differs((*idle)[0].tensor(), x, 0), "");
  EXPECT_EQ(mean((*idle)[1].tensor()), 1);
  const Tensor all = Tensor::full(DType::f32, {}, 1);  // ratio 1: all dropped, 0 and no NaN
  EXPECT_EQ(mean(first("dropout", {x, all, training}, {})), 0);
  EXPECT_EQ(mean(gradients("dropout", {x, all, training}, x)[0]), 0);
}

}  // namespace
}  // namespace tenon::ops
