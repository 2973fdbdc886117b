// Programs of several steps, and the accuracy of vectorised functions, on every instruction set
// that this host runs.
#include "tenon/codegen/loop_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/codegen/kernel_cache.h"

namespace tenon::codegen {
namespace {

constexpr DType kF = DType::f32;

std::vector<Isa> runnable() {
  std::vector<Isa> out;
  for (Isa isa : {Isa::plain, Isa::avx2, Isa::avx512})
    if (isa <= host_isa()) out.push_back(isa);
  return out;
}

class ProgramOnEveryIsa : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Runnable, ProgramOnEveryIsa, testing::ValuesIn(runnable()),
                         [](const auto& i) { return std::string(name(i.param)); });

LoopStatement scalar_of(Expr e, int index, Combine combine = Combine::none) {
  return {std::move(e), Target::scalar, index, combine};
}

// x0: the row; x1: exponentials; x2 maximum, x3 sum
LoopProgram softmax_program(Lanes lanes, Isa isa) {
  LoopProgram p;
  p.num_kept = p.num_row = 1;
  p.lanes = lanes;
  p.inputs = {{kF, InnerStride::one}};
  p.outputs = {{kF, InnerStride::one}};
  p.scalars = {kF, kF};
  p.scratch = {kF};
  const Expr x = Expr::input(0, kF), top = Expr::input(2, kF), sum = Expr::input(3, kF);
  const Expr e = scalar::exp(x - top);
  p.steps.push_back({true, {scalar_of(x, 0, Combine::max)}});
  p.steps.push_back(
      {true, {{e, Target::scratch, 0, Combine::none}, scalar_of(e, 1, Combine::sum)}});
  p.steps.push_back({true, {{Expr::input(1, kF) / sum, Target::output, 0, Combine::none}}});
  p.schedule = default_schedule(p, isa);
  return p;
}

// Rows of `n` elements; `rows` of them. x[row * row_step + i * step]
void check_softmax(Lanes lanes, Isa isa, std::int64_t rows, std::int64_t n) {
  SCOPED_TRACE(fmt::format("{} rows of {}", rows, n));
  const bool across = lanes == Lanes::across_rows;
  const std::int64_t row_step = across ? 1 : n, step = across ? rows : 1;
  const LoopProgram p = softmax_program(lanes, isa);
  auto loop = KernelCache::instance().get(p, isa);
  ASSERT_TRUE(loop.ok()) << loop.error().text();
  const auto count = static_cast<std::size_t>(rows * n);
  std::vector<float> x(count), y(count + 1, -7);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>((i * 37) % 101) * 0.2f - 9;
  std::vector<double> scratch(p.scratch_bytes(n) / sizeof(double) + 1);
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(y.data()),
                      reinterpret_cast<std::byte*>(scratch.data())};
  const std::int64_t sizes[] = {rows, n}, strides[] = {row_step, step, row_step, step};
  loop->function(in, out, sizes, strides, 0, rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    const auto at = [&](std::int64_t i) {
      return static_cast<std::size_t>(r * row_step + i * step);
    };
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[at(i)]));
    for (std::int64_t i = 0; i < n; ++i) {
      const double want = std::exp(static_cast<double>(x[at(i)])) / sum;
      ASSERT_NEAR(y[at(i)], want, 4e-6 * want) << r << " " << i;
    }
  }
  EXPECT_EQ(y[count], -7) << "written beyond the end";
}

TEST_P(ProgramOnEveryIsa, SoftmaxAlongRows) {
  for (std::int64_t n : {1, 3, 16, 64, 77, 200}) check_softmax(Lanes::along_row, GetParam(), 3, n);
}
TEST_P(ProgramOnEveryIsa, SoftmaxAcrossRows) {
  for (std::int64_t rows : {1, 5, 64, 70}) check_softmax(Lanes::across_rows, GetParam(), rows, 9);
}

// Mean over two row axes that do not merge, and the deviation from it; a strided operand.
TEST_P(ProgramOnEveryIsa, SeveralRowAxes) {
  LoopProgram p;
  p.num_kept = 1;
  p.num_row = 2;
  p.lanes = Lanes::along_row;
  p.inputs = {{kF, InnerStride::any}};
  p.outputs = {{kF, InnerStride::one}, {kF, InnerStride::zero}};
  p.scalars = {kF, kF};
  const Expr x = Expr::input(0, kF);
  p.steps.push_back({true, {scalar_of(x, 0, Combine::sum)}});
  p.steps.push_back({false,
                     {scalar_of(Expr::input(1, kF) / 15.0, 1),
                      {Expr::input(1, kF) / 15.0, Target::output, 1, Combine::none}}});
  p.steps.push_back({true, {{x - Expr::input(2, kF), Target::output, 0, Combine::none}}});
  p.schedule = default_schedule(p, GetParam());
  auto loop = KernelCache::instance().get(p, GetParam());
  ASSERT_TRUE(loop.ok()) << loop.error().text();
  // x[a, c, b] of [3, 5, 2] read as [b, (a, c)]
  std::vector<float> x_data(30), y(30), mean(2);
  for (std::size_t i = 0; i < 30; ++i) x_data[i] = static_cast<float>((i * 7) % 13);
  const std::byte* in[] = {reinterpret_cast<const std::byte*>(x_data.data())};
  std::byte* out[] = {reinterpret_cast<std::byte*>(y.data()),
                      reinterpret_cast<std::byte*>(mean.data())};
  const std::int64_t sizes[] = {2, 3, 5}, strides[] = {1, 10, 2, 15, 5, 1, 1, 0, 0};
  loop->function(in, out, sizes, strides, 0, 2);
  for (std::size_t b = 0; b < 2; ++b) {
    double sum = 0;
    for (std::size_t i = 0; i < 15; ++i) sum += x_data[i * 2 + b];
    EXPECT_NEAR(mean[b], sum / 15, 1e-6);
    for (std::size_t i = 0; i < 15; ++i)
      EXPECT_NEAR(y[b * 15 + i], x_data[i * 2 + b] - sum / 15, 1e-5);
  }
}

// Distance from the exact value, in units in the last place of the rounded one.
double ulps(float got, double want) {
  const auto rounded = static_cast<float>(want);
  const double unit =
      std::max<double>(std::nextafterf(std::fabs(rounded), std::numeric_limits<float>::infinity()) -
                           static_cast<double>(std::fabs(rounded)),
                       std::numeric_limits<float>::denorm_min());
  return std::fabs(static_cast<double>(got) - want) / unit;
}

struct Function {
  const char* name;
  Expr (*expr)(Expr);
  double (*exact)(double);
  float low, high;
};

TEST_P(ProgramOnEveryIsa, FunctionsAreWithinTwoUnitsInTheLastPlace) {
  const Function functions[] = {{"exp", scalar::exp, std::exp, -103.9f, 88.7f},
                                {"log", scalar::log, std::log, 1e-42f, 3e38f},
                                {"tanh", scalar::tanh, std::tanh, -12, 12},
                                {"erf", scalar::erf, std::erf, -6, 6}};
  for (const Function& f : functions) {
    LoopNest nest;
    nest.inputs = nest.outputs = {{kF, InnerStride::one}};
    nest.exprs = {f.expr(Expr::input(0, kF))};
    auto loop = KernelCache::instance().get(nest, GetParam());
    ASSERT_TRUE(loop.ok()) << loop.error().text();
    std::vector<float> x;
    const auto magnitude = [&](float limit) {  // every 2^13th float from 0 to the limit
      const auto end = std::bit_cast<std::uint32_t>(std::fabs(limit));
      for (std::uint32_t bits = 1; bits < end; bits += 1 << 13)
        x.push_back(std::copysign(std::bit_cast<float>(bits), limit));
    };
    if (f.low < 0) magnitude(f.low);
    magnitude(f.high);
    std::vector<float> y(x.size());
    const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
    std::byte* out[] = {reinterpret_cast<std::byte*>(y.data())};
    const std::int64_t sizes[] = {static_cast<std::int64_t>(x.size())}, strides[] = {1, 1};
    loop->function(in, out, sizes, strides, 0, sizes[0]);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = ulps(y[i], f.exact(static_cast<double>(x[i])));
      if (!(d <= worst)) worst = d, where = x[i];
    }
    EXPECT_LE(worst, 2) << f.name << " at " << where;
    RecordProperty(f.name, fmt::format("{:.2f}", worst));
  }
}

// NaN wins wherever it stands, in a vector or in what is left; infinities are numbers.
TEST_P(ProgramOnEveryIsa, ExtremesKeepNan) {
  for (Combine how : {Combine::max, Combine::min})
    for (std::int64_t n : {1, 5, 70, 200}) {
      LoopNest nest;
      nest.num_axes = 2;
      nest.num_reduced = 1;
      nest.inputs = {{kF, InnerStride::one}};
      nest.outputs = {{kF, InnerStride::zero}};
      nest.exprs = {Expr::input(0, kF)};
      nest.combine = how;
      auto loop = KernelCache::instance().get(nest, GetParam());
      ASSERT_TRUE(loop.ok()) << loop.error().text();
      std::vector<float> x(static_cast<std::size_t>(2 * n)), y(2);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37) % 101) - 200;
      const auto last = static_cast<std::size_t>(n) - 1;
      x[last] = std::nanf("");
      x[static_cast<std::size_t>(n)] = -std::numeric_limits<float>::infinity();
      const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
      std::byte* out[] = {reinterpret_cast<std::byte*>(y.data())};
      const std::int64_t sizes[] = {2, n}, strides[] = {n, 1, 1, 0};
      loop->function(in, out, sizes, strides, 0, 2);
      EXPECT_TRUE(std::isnan(y[0])) << n;
      const auto from = x.begin() + n;
      EXPECT_EQ(y[1], how == Combine::max ? *std::max_element(from, x.end())
                                          : *std::min_element(from, x.end()));
    }
}

// Division by a number is rounded as a division, for whole multiples too.
TEST_P(ProgramOnEveryIsa, DividesByNumbersExactly) {
  std::vector<float> x = {
      0, -0.0f, 1e-40f, 3e38f, std::numeric_limits<float>::infinity(), std::nanf("")};
  for (int i = -3000; i < 3000; ++i) x.push_back(static_cast<float>(i) * (i % 7 ? 1.0f : 0.37f));
  for (double c : {3.0, 49.0, 1.41421356237, 0.1, -7.0, 255.0}) {
    LoopNest nest;
    nest.inputs = nest.outputs = {{kF, InnerStride::one}};
    nest.exprs = {Expr::input(0, kF) / c};
    auto loop = KernelCache::instance().get(nest, GetParam());
    ASSERT_TRUE(loop.ok()) << loop.error().text();
    std::vector<float> y(x.size());
    const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data())};
    std::byte* out[] = {reinterpret_cast<std::byte*>(y.data())};
    const std::int64_t sizes[] = {static_cast<std::int64_t>(x.size())}, strides[] = {1, 1};
    loop->function(in, out, sizes, strides, 0, sizes[0]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float want = x[i] / static_cast<float>(c);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(y[i]));
      else if (std::fabs(want) < std::numeric_limits<float>::min())
        EXPECT_NEAR(y[i], want, 2e-45f) << x[i] << " / " << c;  // one unit
      else
        EXPECT_EQ(y[i], want) << x[i] << " / " << c;
    }
  }
}

TEST(LoopProgram, TextTellsProgramsApart) {
  const LoopProgram a = softmax_program(Lanes::along_row, Isa::avx2);
  LoopProgram b = softmax_program(Lanes::across_rows, Isa::avx2);
  EXPECT_NE(a.text(), b.text());
  b.lanes = Lanes::along_row;
  EXPECT_EQ(a.text(), b.text());
  b.schedule.width *= 2;
  EXPECT_NE(a.text(), b.text());
  EXPECT_EQ(a.scratch_bytes(100), 448u);
  EXPECT_EQ(operands_of({Expr::input(3, kF) + Expr::input(1, kF)}), (std::vector<int>{1, 3}));
}

}  // namespace
}  // namespace tenon::codegen
