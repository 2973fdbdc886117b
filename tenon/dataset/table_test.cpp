#include "tenon/dataset/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tenon/base/test_folder.h"
#include "tenon/base/zip.h"
#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {

void put(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

const Column& column(const Columns& columns, std::string_view name) {
  for (const Column& c : columns)
    if (c.name == name) return c;
  TENON_CHECK(false, "no column {}", name);
  return columns[0];
}

Result<Columns> parse(const ZipReader& zip, const ZipEntry& e) {
  const std::string bytes = zip.read(e).value();
  const auto span = std::as_bytes(std::span(bytes));
  return e.name.ends_with(".arrow") ? parse_arrow(span, {}) : parse_parquet(span, {});
}

TEST(Table, EveryKindHoldsTheSameRows) {
  const auto zip = ZipReader::open(testdata("tables.zip"));
  ASSERT_TRUE(zip.ok());
  int read = 0, refused = 0;
  for (const ZipEntry& e : zip->entries()) {
    const auto columns = parse(*zip, e);
    if (e.name.starts_with("no-")) {
      ASSERT_FALSE(columns.ok()) << e.name;
      EXPECT_EQ(columns.error().code, Code::unsupported) << columns.error().text();
      ++refused;
      continue;
    }
    ++read;
    ASSERT_TRUE(columns.ok()) << e.name << ": " << columns.error().text();
    ASSERT_EQ(columns->size(), 8u);
    for (std::size_t r = 0; r < 50; ++r) {
      const auto x = static_cast<double>(r);
      const double i = column(*columns, "i").numbers[r];
      if (r % 7 == 3)
        EXPECT_TRUE(std::isnan(i));
      else
        EXPECT_EQ(i, x * x - 100);
      EXPECT_EQ(column(*columns, "j").numbers[r], x - 25);
      EXPECT_EQ(column(*columns, "f").numbers[r], x / 4);
      EXPECT_EQ(column(*columns, "b").numbers[r], r % 3 == 0);
      const Column& s = column(*columns, "s");
      if (r % 11 == 5)
        EXPECT_EQ(s.codes[r], -1);
      else
        EXPECT_EQ(s.texts[static_cast<std::size_t>(s.codes[r])], fmt::format("text {}", r % 4));
      EXPECT_EQ(column(*columns, "t").numbers[r], (978307200.0 + x * 31 * 3600) * 1e6);
      EXPECT_EQ(column(*columns, "day").numbers[r], (x - 2) * 86400e6);
    }
  }
  EXPECT_EQ(read, 13);
  EXPECT_EQ(refused, 5);
}

TEST(Table, CutFilesAreRefused) {
  const auto zip = ZipReader::open(testdata("tables.zip")).value();
  for (const char* name : {"ok-snappy.parquet", "ok-pages2.parquet", "ok-file.arrow"}) {
    const std::string good = zip.read(*zip.find(name)).value();
    for (std::size_t n = 0; n < good.size(); n += 97) {
      const auto bytes = std::as_bytes(std::span(good)).first(n);
      EXPECT_FALSE(parse_parquet(bytes, {}).ok()) << n;
      EXPECT_FALSE(parse_arrow(bytes, {}).ok()) << n;
    }
  }
}

TEST(Table, ShardsShareOneNumbering) {
  TestFolder folder;
  put(folder / "1.csv", "name,x\nb,1\na,2\n");
  put(folder / "2.csv", "x,name\n3,c\n4,b\n");
  const auto source = csv_source(folder.path(), {.numeric = {"x"}, .categorical = {"name"}});
  ASSERT_TRUE(source.ok()) << source.error().text();
  ASSERT_EQ((*source)->size(), 4);
  Item item;
  ASSERT_TRUE((*source)->read(3, item).ok());
  EXPECT_EQ(item.values[0].as<float>()[0], 4);
  EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 0) << "'b' is the first of all";
  EXPECT_EQ((*source)->category_sizes(), (std::vector<std::int64_t>{3}));
  put(folder / "3.csv", "x,name\nmany,c\n");
  EXPECT_FALSE(csv_source(folder.path(), {.numeric = {"x"}}).ok());
  put(folder / "3.csv", "y,name\n1,c\n");
  EXPECT_FALSE(csv_source(folder.path(), {.numeric = {"x"}}).ok());
}

TEST(Table, PartsOfTimesAndCategories) {
  TestFolder folder;
  const auto zip = ZipReader::open(testdata("tables.zip")).value();
  put(folder / "t.parquet", zip.read(*zip.find("ok-zstd.parquet")).value());
  const TableOptions o{.numeric = {"i"},
                       .categorical = {"t.hour", "t.weekday", "day.month", "s"},
                       .label = "j",
                       .label_above = 0.0};
  const auto source = parquet_source(folder / "t.parquet", o);
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ((*source)->category_sizes(), (std::vector<std::int64_t>{24, 7, 12, 5}));
  Item item;
  ASSERT_TRUE((*source)->read(3, item).ok());
  EXPECT_EQ(item.values[0].as<float>()[0], 0) << "a missing number";
  // 93 hours after Monday, 1 January 2001; 2 January 1970.
  EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 93 % 24);
  EXPECT_EQ(item.values[1].as<std::int64_t>()[1], 3);
  EXPECT_EQ(item.values[1].as<std::int64_t>()[2], 0);
  ASSERT_TRUE((*source)->read(0, item).ok());
  EXPECT_EQ(item.values[1].as<std::int64_t>()[2], 11);
  EXPECT_EQ(item.values[2].as<float>()[0], 0);
  EXPECT_FALSE(parquet_source(folder / "t.parquet", {.numeric = {"s"}}).ok());
  EXPECT_FALSE(parquet_source(folder / "t.parquet", {.categorical = {"i.hour"}}).ok());
  EXPECT_FALSE(parquet_source(folder / "t.parquet", {.numeric = {"none"}}).ok());
}

TEST(Table, CsvColumnsFindTheirTypes) {
  TestFolder folder;
  put(folder / "t.csv", "a,b,c\n1,x,\n2.5,3,\n,,7\n");
  const auto columns = read_csv(folder / "t.csv", {});
  ASSERT_TRUE(columns.ok());
  EXPECT_FALSE((*columns)[0].is_text);
  EXPECT_TRUE(std::isnan((*columns)[0].numbers[2]));
  EXPECT_TRUE((*columns)[1].is_text);
  EXPECT_EQ((*columns)[1].texts[static_cast<std::size_t>((*columns)[1].codes[1])], "3");
  EXPECT_EQ((*columns)[1].codes[2], -1);
  EXPECT_EQ((*columns)[2].numbers[2], 7);
  EXPECT_EQ(read_csv(folder / "t.csv", {"b"})->size(), 1u);
  EXPECT_FALSE(read_csv(folder / "t.csv", {"z"}).ok());
}

TEST(Parquet, ThreeMillionFlights) {
  const auto folder = fetched("flights");
  if (!folder) GTEST_SKIP() << "input flights is not fetched";
  const auto columns = read_parquet(*folder / "flights-3m.parquet", {"delay", "origin"});
  ASSERT_TRUE(columns.ok()) << columns.error().text();
  EXPECT_EQ((*columns)[0].size(), 3000000);
  EXPECT_EQ((*columns)[0].numbers[0], 33);
  const Column& origin = (*columns)[1];
  EXPECT_EQ(origin.texts[static_cast<std::size_t>(origin.codes[0])], "LAS");
}

TEST(Arrow, TwoHundredThousandFlights) {
  const auto folder = fetched("flights");
  if (!folder) GTEST_SKIP() << "input flights is not fetched";
  const auto columns = read_arrow(*folder / "flights-200k.arrow", {"delay", "distance"});
  ASSERT_TRUE(columns.ok()) << columns.error().text();
  ASSERT_EQ(columns->size(), 2u);
  EXPECT_EQ(column(*columns, "delay").size(), 200000);
  EXPECT_EQ(column(*columns, "delay").numbers[1], 171);
  EXPECT_EQ(column(*columns, "distance").numbers[0], 1452);
}

}  // namespace
}  // namespace tenon::dataset
