#include "tenon/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace tenon {
namespace {

TEST(Philox, KnownAnswers) {  // the vectors that come with the paper's code
  using A4 = std::array<std::uint32_t, 4>;
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (A4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({f, f, f, f}, {f, f}), (A4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (A4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterRandom, AnySplitGivesTheSameNumbers) {
  std::vector<float> whole(101), parts(101);
  for (auto fill : {fill_uniform, fill_normal}) {
    fill(whole, 7, 3, 5);
    for (std::size_t at = 0; at < parts.size(); at += 7)
      fill(std::span(parts).subspan(at, std::min<std::size_t>(7, parts.size() - at)), 7, 3, 5 + at);
    EXPECT_EQ(whole, parts);
  }
  CounterRandom walk(7, 3), jump(7, 3);
  for (int i = 0; i < 10; ++i) walk.next();
  jump.seek(10);
  EXPECT_EQ(walk.next(), jump.next());
  EXPECT_NE(CounterRandom(7, 4).at(0), CounterRandom(7, 3).at(0));
}

TEST(CounterRandom, MomentsAreRight) {
  std::vector<float> x(200000);
  const auto moments = [&] {
    double mean = 0, square = 0;
    for (float v : x) mean += v, square += static_cast<double>(v) * v;
    mean /= static_cast<double>(x.size());
    return std::pair(mean, square / static_cast<double>(x.size()) - mean * mean);
  };
  fill_uniform(x, 1, 2);
  EXPECT_NEAR(moments().first, 0.5, 0.003);
  EXPECT_NEAR(moments().second, 1.0 / 12, 0.001);
  fill_normal(x, 1, 2);
  EXPECT_NEAR(moments().first, 0, 0.01);
  EXPECT_NEAR(moments().second, 1, 0.015);
}

TEST(KeyedPermutation, IsAPermutationOfEverySize) {
  for (std::uint64_t n = 1; n < 300; ++n) {
    const KeyedPermutation p(n, 99);
    std::vector<bool> seen(n, false);
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto v = p(i);
      ASSERT_LT(v, n);
      ASSERT_FALSE(seen[v]);
      seen[v] = true;
    }
  }
  const KeyedPermutation large((std::uint64_t{1} << 40) + 7, 5);
  EXPECT_LT(large(std::uint64_t{1} << 40), large.size());
}

TEST(KeyedPermutation, SmallOrdersAreEvenlySpread) {
  // Over many keys each of the 24 orders of four values comes up about as often as the others.
  std::map<std::vector<std::uint64_t>, int> counts;
  for (std::uint64_t key = 0; key < 24000; ++key) {
    const KeyedPermutation p(5, key);
    ++counts[{p(0), p(1), p(2), p(3), p(4)}];
  }
  EXPECT_EQ(counts.size(), 120u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 200, 90);
}

TEST(KeyedPermutation, FirstValueIsUniformForLargeSizes) {
  std::vector<int> bins(16, 0);
  for (std::uint64_t key = 0; key < 16000; ++key)
    ++bins[KeyedPermutation(60000, key)(12345) * 16 / 60000];
  double chi = 0;
  for (int b : bins) chi += (b - 1000.0) * (b - 1000.0) / 1000;
  EXPECT_LT(chi, 40);  // 15 degrees of freedom: exceeded by chance once in two thousand
}

TEST(Mt19937, EqualsNumPysLegacySeeding) {
  Mt19937 a(42);
  for (double v : {0.3745401188473625, 0.9507143064099162, 0.7319939418114051, 0.5986584841970366})
    EXPECT_EQ(a.random_sample(), v);
  Mt19937 b(0);
  for (int i = 0; i < 999; ++i) b.random_sample();
  EXPECT_EQ(b.random_sample(), 0.6771411441114241);
  EXPECT_EQ(Mt19937(4294967295u).random_sample(), 0.0976320289940138);
}

}  // namespace
}  // namespace tenon
