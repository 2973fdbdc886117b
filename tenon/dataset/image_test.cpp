#include "tenon/dataset/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/npy.h"
#include "tenon/dataset/resize.h"
#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {

const std::map<std::string, Tensor>& pictures() {
  static const auto all = [] {
    const auto list = read_npz(testdata("pictures.npz"));
    TENON_CHECK(list.ok(), "{}", list.error().text());
    return std::map<std::string, Tensor>(list->begin(), list->end());
  }();
  return all;
}

std::span<const std::byte> bytes_of(const Tensor& t) { return {t.raw(), t.bytes()}; }

Image image_of(const Tensor& t) {
  const auto data = t.data<std::uint8_t>();
  return {static_cast<int>(t.dim(1)),
          static_cast<int>(t.dim(0)),
          static_cast<int>(t.dim(2)),
          {data.begin(), data.end()}};
}

int largest_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) return 1000;
  int most = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    most = std::max(most, std::abs(a.pixels[i] - b.pixels[i]));
  return most;
}

TEST(Image, EveryPngAndJpegKindDecodesToTheExpectedPixels) {
  int cases = 0;
  for (const auto& [name, file] : pictures()) {
    if (!name.ends_with(".file")) continue;
    ++cases;
    const Image wanted = image_of(pictures().at(name.substr(0, name.size() - 5) + ".pixels"));
    const auto image = decode_image(bytes_of(file));
    ASSERT_TRUE(image.ok()) << name << ": " << image.error().text();
    EXPECT_EQ(largest_difference(*image, wanted), 0) << name;
    const auto info = image_info(bytes_of(file));
    ASSERT_TRUE(info.ok()) << name;
    EXPECT_EQ(info->width, wanted.width);
    EXPECT_EQ(info->channels, wanted.channels) << name;
  }
  EXPECT_EQ(cases, 37);
}

TEST(Image, EveryRegionEqualsTheWholePicture) {
  for (const char* name : {"jpeg-base", "jpeg-progressive", "jpeg-s422", "jpeg-s444", "jpeg-grey",
                           "jpeg-cmyk", "png2-8i"}) {
    const auto bytes = bytes_of(pictures().at(std::string(name) + ".file"));
    const Image whole = *decode_image(bytes);
    for (int i = 0; i < 60; ++i) {
      const int w = 1 + i * 7 % whole.width, h = 1 + i * 11 % whole.height;
      const Rect r{i * 13 % (whole.width - w + 1), i * 5 % (whole.height - h + 1), w, h};
      const auto part = decode_region(bytes, r);
      ASSERT_TRUE(part.ok()) << part.error().text();
      ASSERT_EQ(largest_difference(*part, crop(whole, r)), 0)
          << name << " " << r.x << "," << r.y << " " << w << "x" << h;
    }
    EXPECT_FALSE(decode_region(bytes, {0, 0, whole.width + 1, 1}).ok());
    EXPECT_FALSE(decode_region(bytes, {-1, 0, 1, 1}).ok());
    EXPECT_FALSE(decode_region(bytes, {0, 0, 0, 1}).ok());
  }
}

TEST(Image, ACutOffFileIsAnErrorAtEveryLength) {
  for (const char* name :
       {"jpeg-base.file", "jpeg-progressive.file", "png2-8.file", "png6-16i.file"}) {
    const auto bytes = bytes_of(pictures().at(name));
    for (std::size_t n = 0; n + 2 < bytes.size(); n += 3)
      EXPECT_FALSE(decode_image(bytes.first(n)).ok()) << name << " " << n;
  }
}

TEST(Image, DamageIsRefusedOrSurvived) {
  for (const char* name :
       {"jpeg-base.file", "jpeg-progressive.file", "png3-4.file", "png6-16i.file"}) {
    const Tensor file = pictures().at(name);
    for (std::size_t i = 0; i < file.bytes(); ++i) {
      Tensor bad = file.clone();
      bad.raw()[i] ^= std::byte{0xff};
      (void)decode_image(bytes_of(bad), {.max_pixels = 1 << 20})
          .ok();  // must return; pixels may differ
    }
  }
  EXPECT_EQ(decode_image(std::as_bytes(std::span("GIF89a", 6))).error().code, Code::unsupported);
}

TEST(Image, HugeDimsAreRefusedBeforeAllocation) {
  std::string png = encode_png(make_image(1, 1, 1));
  const auto set = [&](std::size_t at, std::uint32_t v) {
    for (int i = 0; i < 4; ++i) png[at + i] = static_cast<char>(v >> (24 - 8 * i));
  };
  set(16, 1 << 19);
  set(20, 1 << 19);
  EXPECT_FALSE(decode_image(std::as_bytes(std::span(png))).ok());
  const auto file = bytes_of(pictures().at("jpeg-base.file"));
  EXPECT_FALSE(decode_image(file, {.max_pixels = 100}).ok());
}

TEST(Image, PngRoundTrips) {
  for (int channels = 1; channels <= 4; ++channels) {
    Image image = make_image(9, 5, channels);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<std::uint8_t>(i * 37);
    const std::string png = encode_png(image);
    EXPECT_EQ(largest_difference(*decode_image(std::as_bytes(std::span(png))), image), 0);
  }
}

TEST(Image, ColorsAndAlpha) {
  EXPECT_EQ(largest_difference(to_color(image_of(pictures().at("grey.in")), Color::gray),
                               image_of(pictures().at("grey.out"))),
            0);
  const Image rgba{1, 1, 4, {10, 20, 30, 0}};
  EXPECT_EQ(to_color(rgba, Color::rgb).pixels, (std::vector<std::uint8_t>{10, 20, 30}));
  EXPECT_EQ(to_color(rgba, Color::bgr).pixels, (std::vector<std::uint8_t>{30, 20, 10}));
  EXPECT_EQ(to_color(rgba, Color::rgb, 255).pixels, (std::vector<std::uint8_t>{255, 255, 255}));
  EXPECT_EQ(to_color({1, 1, 2, {7, 255}}, Color::rgb).pixels, (std::vector<std::uint8_t>{7, 7, 7}));
}

TEST(Resize, EqualsPillowToTheBit) {
  const Image in = image_of(pictures().at("resize.in"));
  int cases = 0;
  for (const auto& [name, t] : pictures()) {
    if (!name.starts_with("resize.area.") && !name.starts_with("resize.bicubic.")) continue;
    ++cases;
    const Image wanted = image_of(t);
    const auto how = name[7] == 'a' ? Interpolation::area : Interpolation::bicubic;
    EXPECT_EQ(largest_difference(resize(in, wanted.width, wanted.height, how), wanted), 0) << name;
  }
  EXPECT_EQ(cases, 10);
}

TEST(Resize, NearestAndBilinear) {
  const Image in{2, 1, 1, {0, 100}};
  EXPECT_EQ(resize(in, 4, 1, Interpolation::nearest).pixels,
            (std::vector<std::uint8_t>{0, 0, 100, 100}));
  EXPECT_EQ(resize(in, 4, 2, Interpolation::bilinear).pixels,
            (std::vector<std::uint8_t>{0, 25, 75, 100, 0, 25, 75, 100}));
  EXPECT_EQ(flip_horizontal({2, 1, 2, {1, 2, 3, 4}}).pixels,
            (std::vector<std::uint8_t>{3, 4, 1, 2}));
}

TEST(Image, RealFilesAndTheTruncatedOne) {
  const auto folder = fetched("skimage-pictures");
  if (!folder) GTEST_SKIP() << "input skimage-pictures is not fetched";
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    const auto extension = entry.path().extension();
    if (extension != ".png" && extension != ".jpg") continue;
    const auto image = read_image(entry.path());
    if (entry.path().filename() == "truncated.jpg") {
      ASSERT_FALSE(image.ok());
      EXPECT_NE(image.error().where.find("truncated.jpg"), std::string::npos);
      continue;
    }
    EXPECT_TRUE(image.ok()) << image.error().text();
    ++read;
  }
  EXPECT_GT(read, 5);
}

}  // namespace
}  // namespace tenon::dataset
