// Generated loops against values computed here, on every instruction set that this host runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/codegen/kernel_cache.h"

namespace tenon::codegen {
namespace {

std::vector<Isa> runnable() {
  std::vector<Isa> out;
  for (Isa isa : {Isa::plain, Isa::avx2, Isa::avx512})
    if (isa <= host_isa()) out.push_back(isa);
  return out;
}

LoopNest unary_nest(const Expr& e, DType in = DType::f32) {
  LoopNest n;
  n.inputs = {{in, InnerStride::one}};
  n.outputs = {{e.dtype(), InnerStride::one}};
  n.exprs = {e};
  return n;
}

template <class In, class Out>
std::vector<Out> run(const LoopNest& nest, const std::vector<In>& x, Isa isa) {
  auto loop = KernelCache::instance().get(nest, isa);
  EXPECT_TRUE(loop.ok()) << loop.error().text();
  if (!loop.ok()) return {};
  std::vector<Out> y(x.size());
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(y.data())};
  const std::int64_t sizes[] = {static_cast<std::int64_t>(x.size())}, strides[] = {1, 1};
  loop->function(in, out, sizes, strides, 0, sizes[0]);
  return y;
}

class EveryIsa : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Runnable, EveryIsa, testing::ValuesIn(runnable()),
                         [](const auto& i) { return std::string(name(i.param)); });

std::vector<float> inputs() {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          1.0f,
                          -1.0f,
                          88.5f,
                          -87.0f,
                          -103.0f,
                          1e-8f,
                          -1e-8f,
                          1e30f,
                          -1e30f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::nanf(""),
                          1e-40f};
  for (int i = -400; i <= 400; ++i) x.push_back(static_cast<float>(i) * 0.031f);
  return x;
}

void expect_near(float got, double want, float x) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << x;
    return;
  }
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded) || rounded == 0) {
    EXPECT_EQ(got, rounded) << x;
    return;
  }
  EXPECT_NEAR(got, want, 4e-6 * std::fabs(want) + 1e-44) << x;
}

TEST_P(EveryIsa, MathFunctionsAreAccurate) {
  const Expr x = Expr::input(0, DType::f32);
  const std::vector<std::pair<Expr, double (*)(double)>> functions = {
      {scalar::exp(x), std::exp},
      {scalar::log(x), std::log},
      {scalar::tanh(x), std::tanh},
      {scalar::erf(x), std::erf},
      {scalar::sqrt(x), std::sqrt},
      {scalar::floor(x), std::floor},
      {scalar::round_even(x), std::nearbyint},
      {scalar::abs(x), std::fabs},
      {scalar::sin(x), std::sin}};
  const auto xs = inputs();
  for (const auto& [e, f] : functions) {
    SCOPED_TRACE(e.text());
    const auto ys = run<float, float>(unary_nest(e), xs, GetParam());
    ASSERT_EQ(ys.size(), xs.size());
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (e.op() != ScalarOp::sin || std::fabs(xs[i]) < 100)
        expect_near(ys[i], f(static_cast<double>(xs[i])), xs[i]);
  }
}

TEST_P(EveryIsa, IntegersDivideAndCastWithoutTraps) {
  const Expr x = Expr::input(0, DType::i32);
  const std::vector<std::int32_t> xs = {0, 7, -7, std::numeric_limits<std::int32_t>::min(), 300};
  EXPECT_EQ((run<std::int32_t, std::int32_t>(unary_nest(x / scalar::like(x, 0), DType::i32), xs,
                                             GetParam())),
            (std::vector<std::int32_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ((run<std::int32_t, std::int32_t>(unary_nest(x / scalar::like(x, -1), DType::i32), xs,
                                             GetParam()))[3],
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ((run<std::int32_t, std::uint8_t>(unary_nest(scalar::cast(x, DType::u8), DType::i32), xs,
                                             GetParam()))[4],
            44);
}

TEST_P(EveryIsa, SmallFloatsRoundOnce) {
  const Expr x = Expr::input(0, DType::bf16);
  const std::vector<std::uint16_t> xs = {float_to_bf16(1.0f), float_to_bf16(-2.5f),
                                         float_to_bf16(std::nanf(""))};
  const auto ys =
      run<std::uint16_t, std::uint16_t>(unary_nest(x * 1.01, DType::bf16), xs, GetParam());
  EXPECT_EQ(ys[0], float_to_bf16(1.01f));
  EXPECT_TRUE(std::isnan(bf16_to_float(ys[2])));
}

TEST_P(EveryIsa, ReducesRows) {
  LoopNest n;
  n.num_axes = 2;
  n.num_reduced = 1;
  n.inputs = {{DType::f32, InnerStride::one}};
  n.outputs = {{DType::f32, InnerStride::zero}};
  n.exprs = {Expr::input(0, DType::f32) * Expr::input(0, DType::f32)};
  n.combine = Combine::sum;
  n.post = scalar::sqrt(Expr::input(0, DType::f32));
  auto loop = KernelCache::instance().get(n, GetParam());
  ASSERT_TRUE(loop.ok()) << loop.error().text();
  const std::vector<float> x = {3, 4, 0, 6, 8, 0};
  std::vector<float> y(2);
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(y.data())};
  const std::int64_t sizes[] = {2, 3}, strides[] = {3, 1, 1, 0};
  loop->function(in, out, sizes, strides, 0, 2);
  EXPECT_EQ(y, (std::vector<float>{5, 10}));
}

TEST(LoopAxes, MergeWhatEveryOperandWalksAsOne) {
  LoopAxes a{{2, 3, 4}, {{12, 4, 1}, {12, 4, 1}}, 0};
  EXPECT_EQ(merged(a).sizes, (std::vector<std::int64_t>{24}));
  LoopAxes b{{2, 3, 4}, {{12, 4, 1}, {0, 4, 1}}, 0};
  EXPECT_EQ(merged(b).sizes, (std::vector<std::int64_t>{2, 12}));
  LoopAxes c{{2, 3, 4}, {{12, 4, 1}, {3, 1, 0}}, 1};
  EXPECT_EQ(merged(c).sizes, (std::vector<std::int64_t>{6, 4}));
  LoopAxes d{{1, 1}, {{1, 1}}, 1};
  EXPECT_EQ(merged(d).sizes, (std::vector<std::int64_t>{1}));
}

TEST(NativeObject, RefusesWhatIsNoObject) {
  EXPECT_FALSE(NativeObject::load("").ok());
  EXPECT_FALSE(NativeObject::load(
                   "\x7f"
                   "ELF garbage that is long enough to look like a header ......................")
                   .ok());
}

TEST(KernelKey, DependsOnContent) {
  const Expr x = Expr::input(0, DType::f32);
  const auto key = [](const Expr& e, Isa isa) {
    return kernel_key(program_of(unary_nest(e)), isa);
  };
  EXPECT_EQ(key(x + 1, Isa::avx2), key(x + 1, Isa::avx2));
  EXPECT_NE(key(x + 1, Isa::avx2), key(x + 2, Isa::avx2));
  EXPECT_NE(key(x + 1, Isa::avx2), key(x + 1, Isa::plain));
}

}  // namespace
}  // namespace tenon::codegen
