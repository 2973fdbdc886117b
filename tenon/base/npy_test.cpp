#include "tenon/base/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tenon/base/file.h"
#include "tenon/base/test_folder.h"
#include "tenon/base/zip.h"

namespace tenon {
namespace {

std::string npy(std::string_view dict, std::string_view data, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  const auto length = static_cast<std::uint32_t>(dict.size());
  out.append(reinterpret_cast<const char*>(&length), major == 1 ? 2 : 4);
  out += dict;
  out += data;
  return out;
}

Result<Tensor> parse(std::string_view bytes) { return parse_npy(std::as_bytes(std::span(bytes))); }

TEST(Npy, EveryTypeRoundTrips) {
  TestFolder folder;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::string) continue;
    Tensor t(dtype, {2, 3});
    for (std::size_t k = 0; k < t.bytes(); ++k) t.raw()[k] = static_cast<std::byte>(k % 2);
    ASSERT_TRUE(write_npy(folder / "t.npy", t).ok()) << name(dtype);
    const auto read = read_npy(folder / "t.npy");
    ASSERT_TRUE(read.ok()) << read.error().text();
    const auto same = reinterpreted(*read, dtype);
    ASSERT_TRUE(same.ok()) << same.error().text();
    EXPECT_EQ(same->dims(), t.dims());
    EXPECT_EQ(std::memcmp(same->raw(), t.raw(), t.bytes()), 0) << name(dtype);
    EXPECT_FALSE(read->buffer()->owned()) << "mapped, not copied";
  }
}

TEST(Npy, StringsRoundTrip) {
  const std::vector<std::string> texts = {"", "abc", "\xe4\xb8\xad\xf0\x9f\x98\x80", "x"};
  const auto bytes = npy_bytes(Tensor::of<std::string>({2, 2}, texts));
  ASSERT_TRUE(bytes.ok());
  EXPECT_NE(bytes->find("'<U3'"), std::string::npos);
  const auto read = parse(*bytes);
  ASSERT_TRUE(read.ok()) << read.error().text();
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(read->data<std::string>()[i], texts[i]);
  EXPECT_FALSE(npy_bytes(Tensor::of<std::string>({1}, std::vector<std::string>{"\xff"})).ok());
}

TEST(Npy, BigEndianAndColumnMajorAreTurned) {
  const std::string data("\0\1\0\2\0\3\0\4\0\5\0\6", 12);
  const auto t = parse(npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(to_int64s(*t), (std::vector<std::int64_t>{1, 3, 5, 2, 4, 6}));
  const auto v3 =
      parse(npy("{\"descr\": \"<u1\", 'fortran_order': False, 'shape': (3L,)}", "abc", 3));
  ASSERT_TRUE(v3.ok()) << v3.error().text();
  EXPECT_EQ(v3->dim(0), 3);
  const auto scalar = parse(npy("{'descr': '|S2', 'fortran_order': False, 'shape': ()}", "hi", 2));
  EXPECT_EQ(scalar->data<std::string>()[0], "hi");
}

TEST(Npy, HostileHeadersAreRefused) {
  const std::string ok = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_TRUE(parse(npy(ok, "abcd")).ok());
  EXPECT_FALSE(parse(npy(ok, "abc")).ok());
  EXPECT_FALSE(parse(npy(ok, "abcde")).ok());
  const char* bad[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f4'}",
      "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 'x'}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
      "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<U0', 'fortran_order': False, 'shape': (100000000000,)}",
      "{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}"};
  for (const char* dict : bad) EXPECT_FALSE(parse(npy(dict, "\xff\xff\xff\xff")).ok()) << dict;
  std::string many = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 100; ++i) many += "1, ";
  EXPECT_FALSE(parse(npy(many + ")}", "abcd")).ok());
  EXPECT_FALSE(parse("\x93NUMPY").ok());
  EXPECT_FALSE(parse(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{}", 14)).ok());
  EXPECT_EQ(parse(npy(ok, "abcd", 9)).error().code, Code::unsupported);
}

TEST(Npz, RoundTripsStoredAndDeflated) {
  TestFolder folder;
  const NamedTensors tensors = {{"b", Tensor::full(DType::f32, {1000}, 2.5)},
                                {"a/x", Tensor::scalar<std::int64_t>(7)}};
  for (bool deflate : {false, true}) {
    ASSERT_TRUE(write_npz(folder / "t.npz", tensors, deflate).ok());
    const auto read = read_npz(folder / "t.npz");
    ASSERT_TRUE(read.ok()) << read.error().text();
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ((*read)[0].first, "b");
    EXPECT_EQ((*read)[1].first, "a/x");
    EXPECT_EQ(to_doubles((*read)[0].second), std::vector<double>(1000, 2.5));
  }
}

TEST(Zip, EveryFlippedByteIsFoundOrHarmless) {
  TestFolder folder;
  auto writer = ZipWriter::create(folder / "a.zip");
  ASSERT_TRUE(writer.ok());
  const std::string content(300, 'q');
  ASSERT_TRUE(writer->add("stored", content).ok());
  ASSERT_TRUE(writer->add("packed", content, true).ok());
  ASSERT_TRUE(writer->finish().ok());
  const std::string good = *read_file(folder / "a.zip");
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0xff);
    const auto zip = ZipReader::parse(std::as_bytes(std::span(bad)), nullptr);
    if (!zip.ok()) {
      ++refused;
      continue;
    }
    for (const ZipEntry& e : zip->entries()) {
      const auto read = zip->read(e);
      if (read.ok())
        EXPECT_EQ(*read, content) << i;
      else
        ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(ZipReader::parse(std::as_bytes(std::span(good).first(n)), nullptr).ok()) << n;
}

TEST(Zip, BombsAreRefused) {
  std::string packed;
  TestFolder folder;
  auto writer = ZipWriter::create(folder / "a.zip");
  ASSERT_TRUE(writer->add("zeros", std::string(10 << 20, '\0'), true).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto zip = ZipReader::open(folder / "a.zip");
  ZipEntry e = zip->entries()[0];
  EXPECT_TRUE(zip->read(e).ok());
  e.bytes = 1000;  // a directory that claims less than the stream holds
  EXPECT_FALSE(zip->read(e).ok());
}

}  // namespace
}  // namespace tenon
