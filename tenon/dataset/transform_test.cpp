#include "tenon/dataset/transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

namespace tenon::dataset {
namespace {

// A grey-scale ramp so that every pixel tells where it came from: value = 10 * y + x.
Item ramp(int height, int width, std::uint64_t stream = 0) {
  Item item;
  item.random = CounterRandom(5, stream);
  item.values.resize(2);
  std::uint8_t* p = item.values[0].own(DType::u8, {height, width, 1});
  for (int i = 0; i < height * width; ++i)
    p[i] = static_cast<std::uint8_t>(10 * (i / width) + i % width);
  item.values[1].set(std::int64_t{3});
  return item;
}

Fields ramp_fields(int height, int width) {
  return {{"image", DType::u8, {height, width, 1}}, {"label", DType::i64, {}}};
}

// Applies t and checks that it keeps the promise of fields().
Item applied(const TransformPtr& t, Item item, const Fields& before) {
  const auto after = t->fields(before);
  TENON_CHECK(after.ok(), "{}", after.error().text());
  const Status status = t->apply(item);
  TENON_CHECK(status.ok(), "{}", status.error().text());
  EXPECT_EQ(item.values[0].dtype, (*after)[0].dtype) << t->name();
  EXPECT_EQ(item.values[0].dims, (*after)[0].dims) << t->name();
  return item;
}

TEST(Transform, CropsKeepPixelsWhole) {
  for (std::uint64_t stream = 0; stream < 30; ++stream) {
    const Item item = applied(random_crop(3, 4), ramp(6, 8, stream), ramp_fields(6, 8));
    const auto p = item.values[0].as<std::uint8_t>();
    EXPECT_EQ(p[5], p[0] + 11);
    EXPECT_EQ(p[3], p[0] + 3);
  }
  const Item middle = applied(center_crop(2, 2), ramp(6, 8), ramp_fields(6, 8));
  EXPECT_EQ(middle.values[0].data[0], 23);
  const Item padded = applied(center_crop(8, 8), ramp(6, 8), ramp_fields(6, 8));
  EXPECT_EQ(padded.values[0].data[0], 0);
  EXPECT_EQ(padded.values[0].data[8 + 1], 1);
  Item small = ramp(2, 2);
  EXPECT_FALSE(random_crop(3, 3)->apply(small).ok());
}

TEST(Transform, PaddedCropsReachBeyondTheEdge) {
  int zeros = 0;
  for (std::uint64_t stream = 0; stream < 40; ++stream) {
    Item item = ramp(4, 4, stream);
    for (auto& v : item.values[0].storage) v = 9;
    item = applied(random_crop(4, 4, 2), std::move(item), ramp_fields(4, 4));
    for (auto v : item.values[0].as<std::uint8_t>()) zeros += v == 0;
  }
  EXPECT_GT(zeros, 100);
  EXPECT_LT(zeros, 540);
}

TEST(Transform, RandomResizedCropAndFlipDependOnTheSampleAlone) {
  const auto crop = random_resized_crop(5, 5);
  const auto flip = random_flip();
  int flipped = 0;
  for (std::uint64_t stream = 0; stream < 100; ++stream) {
    const Item a = applied(crop, ramp(20, 10, stream), ramp_fields(20, 10)),
               b = applied(crop, ramp(20, 10, stream), ramp_fields(20, 10));
    EXPECT_EQ(std::memcmp(a.values[0].data, b.values[0].data, 25), 0);
    flipped += applied(flip, ramp(1, 3, stream), ramp_fields(1, 3)).values[0].data[0] == 2;
  }
  EXPECT_NEAR(flipped, 50, 20);
  // An impossible aspect falls back to the middle.
  const Item wide = applied(random_resized_crop(2, 2, {1, 1}), ramp(2, 20), ramp_fields(2, 20));
  EXPECT_NEAR(wide.values[0].data[0], 8, 2);
}

TEST(Transform, FilesAreDecodedWhereTheyAreCut) {
  Image p = make_image(40, 30, 3);
  for (std::size_t i = 0; i < p.pixels.size(); ++i) p.pixels[i] = static_cast<std::uint8_t>(i * 7);
  const std::string png = encode_png(p);
  const auto file = [&] {
    Item item;
    item.random = CounterRandom(1);
    item.values.resize(1);
    std::memcpy(item.values[0].own(DType::u8, {static_cast<std::int64_t>(png.size())}), png.data(),
                png.size());
    item.values[0].encoded = true;
    return item;
  };
  const Fields fields = {{"image", DType::u8, {-1, -1, 3}}};
  Item whole = file();
  ASSERT_TRUE(decode_picture()->apply(whole).ok());
  EXPECT_EQ(whole.values[0].dims, (Dims{30, 40, 3}));
  EXPECT_EQ(std::memcmp(whole.values[0].data, p.pixels.data(), p.pixels.size()), 0);
  const auto crop = random_resized_crop(8, 8);
  const Item a = applied(crop, file(), fields), b = applied(crop, std::move(whole), fields);
  EXPECT_EQ(std::memcmp(a.values[0].data, b.values[0].data, 192), 0)
      << "cutting before or after decoding";
  Item broken = file();
  broken.values[0].storage.resize(40);
  broken.values[0].dims = {40};
  EXPECT_FALSE(crop->apply(broken).ok());
}

TEST(Transform, ResizeKeepsTheMiddle) {
  const Item item = applied(resize_picture(4, 4, true), ramp(4, 8), ramp_fields(4, 8));
  EXPECT_EQ(item.values[0].data[0], 2);
  applied(resize_picture(3, 9), ramp(4, 8), ramp_fields(4, 8));
}

TEST(Transform, NormalizeAndErase) {
  Item item;
  item.values.resize(1);
  const std::uint8_t pixels[] = {0, 255, 255, 0};  // [1, 2, 2]
  std::memcpy(item.values[0].own(DType::u8, {1, 2, 2}), pixels, 4);
  item = applied(normalize_picture({0, 1}, {1, 0.5f}), std::move(item),
                 {{"image", DType::u8, {1, 2, 2}}});
  const auto v = item.values[0].as<float>();
  EXPECT_FLOAT_EQ(v[0], 0);
  EXPECT_FLOAT_EQ(v[1], 1);
  EXPECT_FLOAT_EQ(v[2], 0);
  EXPECT_FLOAT_EQ(v[3], -2);
  EXPECT_FALSE(normalize_picture({0, 1}, {1})->fields({{"image", DType::u8, {1, 2, 3}}}).ok());
  EXPECT_FALSE(normalize_picture({0}, {1})->fields({{"label", DType::i64, {}}}).ok());
  // A borrowed picture stays as it is, and a grey one may have two dims.
  Item borrowed;
  borrowed.values.resize(1);
  borrowed.values[0].borrow(DType::u8, {2, 2}, pixels);
  borrowed =
      applied(normalize_picture({0}, {1}), std::move(borrowed), {{"image", DType::u8, {2, 2}}});
  EXPECT_EQ(pixels[1], 255);
  EXPECT_EQ(borrowed.values[0].dims, (Dims{1, 2, 2}));

  Item large = ramp(10, 10, 2);
  std::fill(large.values[0].storage.begin(), large.values[0].storage.end(), std::uint8_t{255});
  ASSERT_TRUE(normalize_picture({0}, {1})->apply(large).ok());
  ASSERT_TRUE(random_erase(1)->apply(large).ok());
  int zeros = 0;
  for (float f : large.values[0].as<float>()) zeros += f == 0;
  EXPECT_GE(zeros, 1);
  EXPECT_LE(zeros, 45);
  EXPECT_FALSE(random_erase()->fields(ramp_fields(4, 4)).ok());
}

TEST(Transform, JitterKeepsGreyGreyAndBounds) {
  Item item = ramp(4, 4);
  item = applied(color_jitter(0, 0, 0), std::move(item), ramp_fields(4, 4));
  EXPECT_EQ(item.values[0].data[5], 11);
  applied(color_jitter(0.9f, 0.9f, 0.9f), std::move(item), ramp_fields(4, 4));
}

TEST(Transform, LogMelFindsTheTone) {
  const int rate = 8000;
  Item item;
  item.values.resize(1);
  auto* s = reinterpret_cast<float*>(item.values[0].own(DType::f32, {2048}));
  for (int i = 0; i < 2048; ++i)
    s[i] = static_cast<float>(std::sin(2 * std::numbers::pi * 1000 * i / rate));
  const auto mel = log_mel(rate, 256, 128, 20);
  item = applied(mel, std::move(item), {{"sound", DType::f32, {2048}}});
  EXPECT_EQ(item.values[0].dims, (Dims{20, 15}));
  const auto v = item.values[0].as<float>();
  int best = 0;
  for (int m = 0; m < 20; ++m)
    if (v[static_cast<std::size_t>(m * 15 + 7)] > v[static_cast<std::size_t>(best * 15 + 7)])
      best = m;
  const double mel_of_tone = 2595 * std::log10(1 + 1000 / 700.0),
               top = 2595 * std::log10(1 + 4000 / 700.0);
  EXPECT_NEAR(best + 1, mel_of_tone / top * 21, 0.8);
  EXPECT_FALSE(mel->fields({{"sound", DType::f32, {100}}}).ok());
}

TEST(Transform, LogMelIsThePlainFormula) {
  constexpr int kRate = 8000, kWindow = 64, kHop = 48, kMels = 9, kFrames = 3;
  constexpr int kSamples = (kFrames - 1) * kHop + kWindow;
  std::vector<float> sound(kSamples);
  fill_normal(sound, 5, 0);
  Item item;
  item.values.resize(1);
  item.values[0].borrow(DType::f32, {kSamples}, sound.data());
  item = applied(log_mel(kRate, kWindow, kHop, kMels), std::move(item),
                 {{"sound", DType::f32, {kSamples}}});
  const auto edge = [&](int i) {  // in Hz; equal steps in mel
    const double top = 2595 * std::log10(1 + kRate / 2 / 700.0);
    return 700 * (std::pow(10.0, top * i / (kMels + 1) / 2595) - 1);
  };
  for (int f = 0; f < kFrames; ++f)
    for (int m = 0; m < kMels; ++m) {
      double energy = 1e-6;
      for (int b = 0; b <= kWindow / 2; ++b) {
        std::complex<double> sum = 0;
        for (int i = 0; i < kWindow; ++i) {
          const double angle = 2 * std::numbers::pi * i / kWindow;
          sum += std::polar(
              sound[static_cast<std::size_t>(f * kHop + i)] * (0.5 - 0.5 * std::cos(angle)),
              -angle * b);
        }
        const double hertz = static_cast<double>(b) * kRate / kWindow;
        const double up = (hertz - edge(m)) / (edge(m + 1) - edge(m)),
                     down = (edge(m + 2) - hertz) / (edge(m + 2) - edge(m + 1));
        energy += std::max(0.0, std::min(up, down)) * std::norm(sum);
      }
      EXPECT_NEAR(item.values[0].as<float>()[static_cast<std::size_t>(m * kFrames + f)],
                  std::log(energy), 1e-3)
          << "mel " << m << ", frame " << f;
    }
}

TEST(Transform, GainAndConvert) {
  const float sound[] = {1, -1};
  Item item;
  item.values.resize(1);
  item.random = CounterRandom(3);
  item.values[0].borrow(DType::f32, {2}, sound);
  item = applied(random_gain(6), std::move(item), {{"sound", DType::f32, {2}}});
  EXPECT_NE(item.values[0].as<float>()[0], 1);
  EXPECT_FLOAT_EQ(item.values[0].as<float>()[0], -item.values[0].as<float>()[1]);
  EXPECT_EQ(sound[0], 1);
  item = applied(convert_field("sound", DType::f64), std::move(item), {{"sound", DType::f32, {2}}});
  EXPECT_EQ(item.values[0].as<double>().size(), 2u);
  EXPECT_FALSE(convert_field("none", DType::f64)->fields({{"sound", DType::f32, {2}}}).ok());
}

}  // namespace
}  // namespace tenon::dataset
