// Canonical form, division rules, parsing and comparison of symbolic dims.
#include "tenon/ir/dim.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

const Dim N = Dim::symbol("N"), H = Dim::symbol("H");

TEST(Dim, EqualPolynomialsAreEqual) {
  EXPECT_EQ(N + N + H, H + 2 * N);
  EXPECT_EQ((N + 1) * (N - 1), N * N - 1);
  EXPECT_EQ(N - N, Dim(0));
  EXPECT_TRUE((N * 0).is_constant());
}

TEST(Dim, DivisionSplitsOffWhatDividesExactly) {
  EXPECT_EQ(floor_div(4 * N + 8, 4), N + 2);
  EXPECT_EQ(floor_div(N * H, N), H);
  EXPECT_EQ(floor_div(Dim(-7), Dim(2)), Dim(-4));
  EXPECT_EQ(floor_div(2 * N + 3, 2), N + 1);
  EXPECT_EQ(ceil_div(2 * N + 1, 2), N + 1);
  EXPECT_EQ(mod(4 * N + 3, 4), Dim(3));
  EXPECT_EQ(floor_div(N + 1, 2).evaluate({{"N", 6}}).value(), 3);
}

TEST(Dim, TextParsesBack) {
  for (const Dim& d :
       {N, 2 * N - 3, floor_div(N + 1, 2) * H, max(N, H + 4), min(N, Dim(7)), Dim(-5), mod(N, H)}) {
    auto again = Dim::parse(d.text());
    ASSERT_TRUE(again.ok()) << d.text();
    EXPECT_EQ(*again, d) << d.text();
  }
}

TEST(Dim, BadTextIsRefused) {
  for (const char* text : {"", "N+", "(N", "3x", "max(N)", "N/0", "N N", "99999999999999999999"})
    EXPECT_FALSE(Dim::parse(text).ok()) << text;
  EXPECT_FALSE(Dim::parse(std::string(10000, '(')).ok());
}

TEST(Dim, ComparesWhatIsCertain) {
  EXPECT_EQ(same(N, N), Truth::yes);
  EXPECT_EQ(same(N, H), Truth::undecided);
  EXPECT_EQ(same(N, N + 1), Truth::no);
  EXPECT_EQ(same(2 * N + 1, Dim(0)), Truth::no);
  EXPECT_EQ(at_least(N + 3, Dim(2)), Truth::yes);
  EXPECT_EQ(max(N + 1, N), N + 1);
}

TEST(Dim, UnboundSymbolIsNamed) {
  auto r = (N * H).evaluate({{"N", 2}});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("H"), std::string::npos);
}

TEST(Dim, SubstitutesInsideAtoms) {
  EXPECT_EQ(floor_div(N + 1, 2).substitute({{"N", Dim(7)}}), Dim(4));
}

}  // namespace
}  // namespace tenon
