#include "tenon/base/closest.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenon/base/interrupt.h"

namespace tenon {
namespace {

TEST(Closest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("bench", "bench"), 0u);
  EXPECT_EQ(edit_distance("bnech", "bench"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Closest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> commands = {"env", "inspect", "migrate", "run"};
  EXPECT_EQ(closest("inspct", commands), "inspect");
  EXPECT_EQ(did_you_mean("migarte", commands), "did you mean 'migrate'?");
  EXPECT_EQ(closest("frobnicate", commands), std::nullopt);
  EXPECT_EQ(did_you_mean("frobnicate", commands), "");
}

TEST(Interrupt, IsSeenUntilCleared) {
  EXPECT_TRUE(check_interrupt().ok());
  request_interrupt();
  EXPECT_TRUE(interrupted());
  EXPECT_FALSE(check_interrupt().ok());
  clear_interrupt();
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace tenon
