// Arena plans on hand-made and random lifetimes: never overlapping, near the live peak.
#include "tenon/runtime/arena.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

void expect_disjoint(const std::vector<Lifetime>& all, const ArenaPlan& plan) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].first > all[j].last || all[j].first > all[i].last) continue;
      const bool apart = plan.offsets[i] + all[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + all[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(apart || all[i].bytes == 0 || all[j].bytes == 0) << i << " and " << j;
    }
}

TEST(Arena, ReusesWhatIsDead) {
  const std::vector<Lifetime> chain = {{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  const ArenaPlan plan = plan_arena(chain);
  expect_disjoint(chain, plan);
  EXPECT_EQ(plan.bytes, 1280);
  EXPECT_EQ(plan.lower_bound, 1280);
}

TEST(Arena, EmptyAndZeroSized) {
  EXPECT_EQ(plan_arena({}).bytes, 0);
  EXPECT_EQ(plan_arena({{0, 0, 9}, {64, 0, 0}}).bytes, 64);
}

TEST(Arena, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  std::uint64_t state = 1;
  const auto next = [&](std::uint64_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % n;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<Lifetime> all;
    for (int i = 0; i < 100; ++i) {
      const int first = static_cast<int>(next(60));
      all.push_back(
          {static_cast<std::int64_t>(next(5000)), first, first + static_cast<int>(next(6))});
    }
    const ArenaPlan plan = plan_arena(all);
    expect_disjoint(all, plan);
    EXPECT_GE(plan.bytes, plan.lower_bound);
    EXPECT_LE(plan.bytes, plan.lower_bound * 13 / 10);
  }
}

}  // namespace
}  // namespace tenon
