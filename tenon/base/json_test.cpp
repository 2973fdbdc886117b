#include "tenon/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/base/toml.h"

namespace tenon {
namespace {

TEST(Json, RoundTripsWithSortedKeys) {
  const auto v = parse_json(R"({"b": [1, 2.5, null, true], "a": {"x": "y\n"}})");
  ASSERT_TRUE(v.ok());
  EXPECT_EQ(write_json(*v), R"({"a":{"x":"y\n"},"b":[1,2.5,null,true]})");
}

TEST(Json, NamesLineAndColumnOfTheMistake) {
  const auto v = parse_json("{\n  \"a\": 1,\n  \"b\": ]\n}", "x.json");
  ASSERT_FALSE(v.ok());
  EXPECT_EQ(v.error().code, Code::invalid);
  EXPECT_NE(v.error().where.find("x.json, line 3, column 8"), std::string::npos)
      << v.error().text();
}

TEST(Json, RefusesDeepNestingDuplicatesAndHalfTexts) {
  const std::string deep(100000, '[');
  ASSERT_FALSE(parse_json(deep).ok());
  EXPECT_NE(parse_json(deep).error().message.find("deeper than 256"), std::string::npos);
  EXPECT_FALSE(parse_json(R"({"a":1,"a":2})", "", {.refuse_duplicate_keys = true}).ok());
  EXPECT_TRUE(parse_json(R"({"a":1,"a":2})").ok());
  for (const char* text :
       {"", "{", "[1,", "\"\\u12\"", "\"\xff\"", "{\"a\"}", "1 2", "nul", "[1e999]", "NaN"})
    EXPECT_FALSE(parse_json(text).ok()) << text;
}

TEST(Json, NonFiniteNumbers) {
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_TRUE(std::isnan(*number_of(json_number(NAN))));
  EXPECT_EQ(write_json(Json(NAN)), "null");
  const auto v =
      parse_json(R"({"NaN": [NaN, -Infinity, "a\"NaN"]})", "", {.allow_nonfinite = true});
  ASSERT_TRUE(v.ok()) << v.error().text();
  EXPECT_TRUE(std::isnan(*number_of((*v)["NaN"][0])));
  EXPECT_TRUE(std::isinf(*number_of((*v)["NaN"][1])));
  EXPECT_EQ((*v)["NaN"][2], "a\"NaN");
}

TEST(Json, TypedAccessSaysWhatIsWrong) {
  const Json v =
      *parse_json(R"({"n": 3, "f": 1.5, "big": 18446744073709551615, "l": [1, 2], "s": "t"})");
  EXPECT_EQ(*json_get<int>(v, "n"), 3);
  EXPECT_EQ(*json_get<double>(v, "n"), 3.0);
  EXPECT_EQ(*json_get<std::vector<double>>(v, "l"), (std::vector<double>{1, 2}));
  EXPECT_EQ(*json_get_or<int>(v, "absent", 7), 7);
  EXPECT_FALSE(json_get_or<int>(v, "s", 7).ok());
  EXPECT_FALSE(json_get<int>(v, "f").ok());
  EXPECT_FALSE(json_get<std::int64_t>(v, "big").ok());
  EXPECT_EQ(json_get<std::string>(v, "none").error().message, "key 'none' is missing");
  EXPECT_NE(json_get<bool>(v, "s").error().message.find("'s' must be true or false"),
            std::string::npos);
  EXPECT_FALSE(json_get<int>(Json(3), "n").ok());
}

TEST(Json, UnknownKeysAreAllNamed) {
  const Json v = *parse_json(R"({"a": 1, "zz": 1, "yy": 2})");
  EXPECT_TRUE(check_keys(v, {"a", "zz", "yy"}, "here").ok());
  const auto status = check_keys(v, {"a"}, "here");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().others.size(), 1u);
}

TEST(Toml, ReadsTablesArraysDatesAndSpecials) {
  const auto v = parse_toml(
      "a = 1\n[input.x]\nkind = \"image\"\nmean = [0.5, 1]\nd = 2020-01-02\nf = inf\n[[stage]]\nn "
      "= 1\n[[stage]]\nn = 2\n");
  ASSERT_TRUE(v.ok()) << v.error().text();
  EXPECT_EQ((*v)["input"]["x"]["kind"], "image");
  EXPECT_EQ((*v)["input"]["x"]["d"], "2020-01-02");
  EXPECT_EQ((*v)["input"]["x"]["f"], "Infinity");
  EXPECT_EQ((*v)["stage"][1]["n"], 2);
}

TEST(Toml, ErrorsNameTheLine) {
  const auto v = parse_toml("a = 1\nb = = 2\n", "t.toml");
  ASSERT_FALSE(v.ok());
  EXPECT_NE(v.error().where.find("t.toml, line 2"), std::string::npos) << v.error().text();
  EXPECT_FALSE(parse_toml(std::string("a = ") + std::string(100000, '[')).ok());
}

TEST(Toml, WritingReadsBackTheSame) {
  const Json v = *parse_toml(
      "a = 1\ns = \"q\\\"\\n\\u00e9\"\ne = []\nm = [[1], [2]]\ni = {x = 1}\n\"odd key\" = "
      "nan\n[t.u]\nx = 1.5\n[[t.l]]\nn = 1\n[[t.l]]\n[t.l.deep]\nz = true\n");
  const auto again = parse_toml(write_toml(v));
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << write_toml(v);
  EXPECT_EQ(*again, v);
}

TEST(Toml, SetsDottedKeys) {
  Json v = *parse_toml("[train]\nsteps = 3\n");
  EXPECT_TRUE(set_toml_key(v, "train.steps", "10").ok());
  EXPECT_TRUE(set_toml_key(v, "data.path", "/a/b").ok());
  EXPECT_TRUE(set_toml_key(v, "x.y.z", "[1, 2]").ok());
  EXPECT_EQ(v["train"]["steps"], 10);
  EXPECT_EQ(v["data"]["path"], "/a/b");
  EXPECT_EQ(v["x"]["y"]["z"][1], 2);
  EXPECT_FALSE(set_toml_key(v, "train.steps.more", "1").ok());
  EXPECT_FALSE(set_toml_key(v, "a..b", "1").ok());
}

}  // namespace
}  // namespace tenon
