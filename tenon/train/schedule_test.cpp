// Factors at their ends and in the middle.
#include "tenon/train/schedule.h"

#include <gtest/gtest.h>

namespace tenon::train {
namespace {

TEST(Schedule, WarmsUpEvenly) {
  Schedule s;
  s.warmup = 4;
  EXPECT_DOUBLE_EQ(s.factor(1, 100), 0.25);
  EXPECT_DOUBLE_EQ(s.factor(4, 100), 1);
  EXPECT_DOUBLE_EQ(s.factor(50, 100), 1);
}

TEST(Schedule, FallsToItsFloorAtTheLastStep) {
  for (auto kind : {Schedule::Kind::linear, Schedule::Kind::cosine}) {
    Schedule s;
    s.kind = kind;
    s.floor = 0.1;
    EXPECT_DOUBLE_EQ(s.factor(1, 101), 1);
    EXPECT_NEAR(s.factor(51, 101), 0.55, 1e-12);
    EXPECT_NEAR(s.factor(101, 101), 0.1, 1e-12);
    EXPECT_NEAR(s.factor(500, 101), 0.1, 1e-12);
  }
}

TEST(Schedule, FallsInSteps) {
  Schedule s;
  s.kind = Schedule::Kind::step;
  s.every = 10;
  EXPECT_DOUBLE_EQ(s.factor(10, 0), 1);
  EXPECT_DOUBLE_EQ(s.factor(11, 0), 0.1);
  EXPECT_NEAR(s.factor(21, 0), 0.01, 1e-15);
}

}  // namespace
}  // namespace tenon::train
