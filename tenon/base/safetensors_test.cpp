#include "tenon/base/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tenon/base/file.h"
#include "tenon/base/test_folder.h"

namespace tenon {
namespace {

std::string file_of(std::string_view header, std::string_view data) {
  const std::uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + std::string(header) +
         std::string(data);
}

Result<Safetensors> parse(std::string_view bytes) {
  return Safetensors::parse(std::as_bytes(std::span(bytes)), nullptr);
}

TEST(Safetensors, EveryTypeRoundTrips) {
  TestFolder folder;
  NamedTensors tensors;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor t(dtype, {2, 4});
    if (dtype == DType::string) {
      for (std::size_t k = 0; k < 8; ++k)
        t.data<std::string>()[k] = std::string(k, 'x') + "\xc3\xa9";
    } else {
      for (std::size_t k = 0; k < t.bytes(); ++k) t.raw()[k] = static_cast<std::byte>(k % 2);
    }
    tensors.emplace_back(std::string(name(dtype)), t);
  }
  tensors.emplace_back("empty", Tensor(DType::f32, {0, 3}));
  tensors.emplace_back("no strings", Tensor(DType::string, {0}));
  tensors.emplace_back("scalar", Tensor::scalar<float>(2));
  ASSERT_TRUE(write_safetensors(folder / "t", tensors, {{"k", "v"}}).ok());
  const auto file = Safetensors::open(folder / "t");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->metadata().at("k"), "v");
  EXPECT_EQ(file->entries().size(), tensors.size());
  for (const auto& [key, t] : tensors) {
    const auto read = file->tensor(key);
    ASSERT_TRUE(read.ok()) << key << ": " << read.error().text();
    ASSERT_EQ(read->dtype(), t.dtype()) << key;
    EXPECT_EQ(read->dims(), t.dims());
    if (t.dtype() == DType::string) {
      EXPECT_TRUE(std::equal(t.data<std::string>().begin(), t.data<std::string>().end(),
                             read->data<std::string>().begin()));
    } else if (t.bytes()) {
      EXPECT_EQ(std::memcmp(read->raw(), t.raw(), t.bytes()), 0) << key;
    }
  }
  EXPECT_FALSE(file->tensor("f32")->buffer()->owned()) << "mapped, not copied";
  EXPECT_EQ(file->tensor("none").error().code, Code::not_found);
}

TEST(Safetensors, ReadsAMisalignedForeignFile) {
  const std::string bytes = file_of(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F4","shape":[3,2],"data_offsets":[1,4]}})",
      "\x01\x21\x43\x65");
  const auto file = parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().text();
  const Tensor b = *file->tensor("b");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<int>(b.raw()[i]), i + 1);
}

TEST(Safetensors, HostileFilesAreRefused) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  EXPECT_TRUE(parse(file_of(one("F32", "[1]", "[0,4]"), "abcd")).ok());
  const std::string bad[] = {
      one("F32", "[1]", "[0,3]"),
      one("F32", "[1]", "[1,5]"),
      one("F32", "[2]", "[0,4]"),
      one("F32", "[-1]", "[0,4]"),
      one("F32", "[1]", "[4,0]"),
      one("F32", "[1]", "[0]"),
      one("F99", "[1]", "[0,4]"),
      one("U8", "[3]", "[1,4]"),
      one("U8", "[3]", "[0,3]"),
      one("F32", "[4294967296,4294967296,4294967296,0]", "[0,4]"),
      one("F32", "[1.5]", "[0,4]"),
      one("F4", "[7]", "[0,4]"),
      one("F32", "1", "[0,4]"),
      "[]",
      "{",
      R"({"a":1})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
      R"({"__metadata__":{"k":1}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})"};
  for (const std::string& header : bad) EXPECT_FALSE(parse(file_of(header, "abcd")).ok()) << header;
  EXPECT_FALSE(parse("").ok());
  EXPECT_FALSE(parse(std::string(8, '\xff')).ok());
  EXPECT_FALSE(parse(std::string("\x10\0\0\0\0\0\0\0{}", 10)).ok());
  const std::string lie =
      R"({"__metadata__":{"tenon.a":"string [1000000000000]"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  EXPECT_FALSE(parse(file_of(lie, "abcd")).ok());
}

TEST(Safetensors, WriterRefusesWhatItCannotHold) {
  TestFolder folder;
  const Tensor t = Tensor::scalar<float>(1);
  EXPECT_FALSE(write_safetensors(folder / "t", {{"a", t}, {"a", Tensor::scalar<double>(1)}}).ok());
  EXPECT_FALSE(write_safetensors(folder / "t", {{"__metadata__", t}}).ok());
  EXPECT_FALSE(write_safetensors(folder / "t", {{"a", Tensor(DType::f4e2m1, {3})}}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tenon
