#include "tenon/cli/arguments.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tenon::cli {
namespace {

TEST(NamedFile, SplitsAtTheFirstEqualsSign) {
  const auto value = parse_named_file("x:0=dir/a=b.npy");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->name, "x:0");
  EXPECT_EQ(value->file, "dir/a=b.npy");
}

TEST(NamedFile, MayLeaveOutTheName) {
  EXPECT_EQ(parse_named_file("a.npy")->name, "");
  const std::string odd = testing::TempDir() + "a=b.npy";
  std::ofstream(odd) << "x";
  EXPECT_EQ(parse_named_file(odd)->file, odd);
}

TEST(NamedFile, RefusesHalves) {
  EXPECT_FALSE(parse_named_file("").ok());
  EXPECT_FALSE(parse_named_file("=a.npy").ok());
  EXPECT_FALSE(parse_named_file("x=").ok());
}

TEST(NamedShape, ReadsBothSeparators) {
  EXPECT_EQ(parse_named_shape("x=1,3,224,224")->dims, (Dims{1, 3, 224, 224}));
  EXPECT_EQ(parse_named_shape("1x3x224x224")->dims, (Dims{1, 3, 224, 224}));
  EXPECT_EQ(parse_named_shape("a=b=7")->name, "a=b");
  EXPECT_EQ(parse_named_shape("s=")->dims, Dims{});
}

TEST(NamedShape, NamesTheBadDimension) {
  for (const char* text :
       {"x=1,,3", "x=1,-3", "x=1,3.5", "x=", "=1,2", "x=1,", "x=99999999999999999999"}) {
    const auto value = parse_named_shape(text);
    if (std::string(text) == "x=") continue;  // a scalar
    EXPECT_FALSE(value.ok()) << text;
  }
  EXPECT_EQ(parse_named_shape("x=1,-3").error().message,
            "dimension '-3' of 'x=1,-3' is not a number from 0 on");
}

TEST(ResolveNames, FillsInTheOnlyOne) {
  std::vector<NamedFile> values = {{"", "a.npy"}};
  const std::vector<std::string> one = {"x"}, two = {"x", "y"};
  EXPECT_TRUE(resolve_names(values, one, "--input").ok());
  EXPECT_EQ(values[0].name, "x");
  values[0].name.clear();
  const Status status = resolve_names(values, two, "--input");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "--input without a name, but there are 2 inputs");
}

TEST(ResolveNames, RefusesUnknownAndRepeated) {
  const std::vector<std::string> known = {"pixels", "mask"};
  std::vector<NamedShape> unknown = {{"pixel", {1}}};
  EXPECT_EQ(resolve_names(unknown, known, "--shape").error().help, "did you mean 'pixels'?");
  std::vector<NamedShape> twice = {{"mask", {1}}, {"mask", {2}}};
  EXPECT_EQ(resolve_names(twice, known, "--shape").error().message, "--shape gives 'mask' twice");
}

}  // namespace
}  // namespace tenon::cli
