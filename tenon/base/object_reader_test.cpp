// Configuration objects: both formats, all problems at once, nearest names.
#include "tenon/base/object_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tenon {
namespace {

TEST(ObjectReader, ReadsTomlAndJsonAlike) {
  for (const char* text : {"width = 3\nname = \"a\"\nlist = [1, 2]\n[sub]\nx = 1.5\n",
                           R"({"width": 3, "name": "a", "list": [1, 2], "sub": {"x": 1.5}})"}) {
    auto tree = parse_config(text, "file");
    ASSERT_TRUE(tree.ok());
    std::vector<Error> problems;
    ObjectReader reader(*tree, "file", problems);
    int width = 0;
    std::string name;
    std::vector<int> list;
    double x = 0;
    reader.integer("width", width);
    reader.text("name", name);
    reader.integers("list", list);
    ObjectReader sub(*reader.child("sub"), "file: sub", problems);
    sub.number("x", x);
    sub.finish();
    reader.finish();
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(width, 3);
    EXPECT_EQ(name, "a");
    EXPECT_EQ(list, (std::vector<int>{1, 2}));
    EXPECT_EQ(x, 1.5);
  }
}

TEST(ObjectReader, ReportsEveryProblemAndTheNearestName) {
  auto tree = parse_config("wdith = 3\nheight = 0\nname = 4\n", "file");
  ASSERT_TRUE(tree.ok());
  std::vector<Error> problems;
  ObjectReader reader(*tree, "file", problems);
  int width = 7, height = 7;
  std::string name;
  reader.integer("width", width);
  reader.integer("height", height);
  reader.text("name", name);
  reader.require("depth");
  reader.finish();
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(height, 7);
  EXPECT_EQ(problems[2].message, "depth is missing");
  EXPECT_EQ(problems[3].message, "unknown key 'wdith'");
  EXPECT_EQ(problems[3].help, "did you mean 'width'?");
  EXPECT_EQ(all_of(problems).others.size(), 3u);
}

TEST(ObjectReader, RefusesBrokenTextWithItsPlace) {
  EXPECT_FALSE(parse_config("a = = 3", "x.toml").ok());
  const auto bad = parse_config("{\"a\": }", "x.json");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().where.find("x.json"), std::string::npos);
}

}  // namespace
}  // namespace tenon
