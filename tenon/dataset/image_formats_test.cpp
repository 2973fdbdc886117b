// The rarer picture formats against Pillow's pixels, and against damage.
#include <gtest/gtest.h>

#include <map>

#include "tenon/base/npy.h"
#include "tenon/dataset/image.h"
#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {

const std::map<std::string, Tensor>& files() {
  static const auto all = [] {
    const auto list = read_npz(testdata("formats.npz"));
    TENON_CHECK(list.ok(), "{}", list.error().text());
    return std::map<std::string, Tensor>(list->begin(), list->end());
  }();
  return all;
}

std::span<const std::byte> bytes_of(const Tensor& t) { return {t.raw(), t.bytes()}; }

std::span<const std::byte> bytes_of(const std::string& s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

template <class F>
void for_each_file(F&& f) {
  for (const auto& [name, data] : files())
    if (name.ends_with(".file")) f(name.substr(0, name.size() - 5), data);
}

TEST(ImageFormats, EveryFileDecodesToPillowsPixels) {
  int count = 0;
  for_each_file([&](const std::string& name, const Tensor& data) {
    const auto image = decode_image(bytes_of(data));
    ASSERT_TRUE(image.ok()) << name << ": " << image.error().text();
    const Tensor got = to_tensor(*image), &expected = files().at(name + ".pixels");
    ASSERT_EQ(got.dims(), expected.dims()) << name;
    EXPECT_EQ(to_int64s(got), to_int64s(expected)) << name;
    const auto info = image_info(bytes_of(data));
    ASSERT_TRUE(info.ok()) << name;
    EXPECT_EQ((Dims{info->height, info->width, info->channels}), expected.dims()) << name;
    ++count;
  });
  EXPECT_GE(count, 20);
}

TEST(ImageFormats, ACutOffFileIsAnErrorOrAPictureOfItsSize) {
  for_each_file([&](const std::string& name, const Tensor& data) {
    const auto whole = bytes_of(data);
    for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 40) {
      const auto image = decode_image(whole.first(n));
      if (image.ok())
        EXPECT_EQ(image->pixels.size(),
                  static_cast<std::size_t>(files().at(name + ".pixels").count()))
            << name << " cut at " << n;
    }
    EXPECT_FALSE(decode_image(whole.first(whole.size() / 4)).ok()) << name;
  });
}

TEST(ImageFormats, DamageIsRefusedOrSurvived) {
  for_each_file([&](const std::string&, const Tensor& data) {
    for (std::size_t i = 0; i < data.bytes(); i += 1 + data.bytes() / 60) {
      Tensor damaged = data.clone();
      damaged.data<std::uint8_t>()[i] ^= 0x55;
      (void)decode_image(bytes_of(damaged));
    }
  });
}

TEST(ImageFormats, HugeSizesAreRefusedBeforeAllocation) {
  for (const std::string& text :
       {std::string("P6\n900000 900000\n255\n"), std::string("P5 100000000 1 255 "),
        std::string("P2\n2000 2000\n255\n1 2 3")})
    EXPECT_FALSE(decode_image(bytes_of(text)).ok()) << text;
}

TEST(ImageFormats, PlainAnymaps) {
  const auto pixels = [](const std::string& text) {
    auto image = decode_image(bytes_of(text));
    EXPECT_TRUE(image.ok()) << image.error().text();
    return image.ok() ? image->pixels : std::vector<std::uint8_t>();
  };
  EXPECT_EQ(pixels("P2\n# three greys\n3 1\n4\n0 2 4"), (std::vector<std::uint8_t>{0, 128, 255}));
  EXPECT_EQ(pixels("P1 3 2 101\n010"), (std::vector<std::uint8_t>{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(pixels("P3 1 1 255 1 2 3"), (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST(ImageFormats, OtherBytesAreNoPicture) {
  const auto image = decode_image(bytes_of(std::string("GIF89a...")));
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, Code::unsupported);
}

}  // namespace
}  // namespace tenon::dataset
