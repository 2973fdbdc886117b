#include "tenon/dataset/audio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {

std::string wav(int tag, int channels, int bits, std::string_view data,
                std::string_view before = "") {
  std::string f(16, '\0');
  const auto put = [&](std::size_t at, std::uint32_t v, std::size_t n) {
    std::memcpy(f.data() + at, &v, n);
  };
  put(0, static_cast<std::uint32_t>(tag), 2);
  put(2, static_cast<std::uint32_t>(channels), 2);
  put(4, 8000, 4);
  put(14, static_cast<std::uint32_t>(bits), 2);
  const auto chunk = [](std::string_view id, std::string_view body) {
    const auto n = static_cast<std::uint32_t>(body.size());
    return std::string(id) + std::string(reinterpret_cast<const char*>(&n), 4) + std::string(body) +
           (n % 2 ? std::string(1, '\0') : "");
  };
  return "RIFF" + std::string(4, '\0') + "WAVE" + std::string(before) + chunk("fmt ", f) +
         chunk("LIST", "odd") + chunk("data", data);
}

Result<Audio> decode(std::string_view bytes) { return decode_wav(std::as_bytes(std::span(bytes))); }

TEST(Wav, EveryFormat) {
  using namespace std::string_literals;
  EXPECT_EQ(decode(wav(1, 1, 8, "\x00\x80\xc0"s))->samples, (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(decode(wav(1, 2, 16, "\x00\x80\x00\x40"s))->samples, (std::vector<float>{-1, 0.5f}));
  EXPECT_EQ(decode(wav(1, 1, 24, "\x00\x00\x80\x00\x00\x40"s))->samples,
            (std::vector<float>{-1, 0.5f}));
  EXPECT_EQ(decode(wav(1, 1, 32, "\x00\x00\x00\xc0"s))->samples, (std::vector<float>{-0.5f}));
  EXPECT_EQ(decode(wav(3, 1, 32, "\x00\x00\x80\x3e"s))->samples, (std::vector<float>{0.25f}));
  EXPECT_EQ(decode(wav(3, 1, 64, "\x00\x00\x00\x00\x00\x00\xd0\x3f"s))->samples,
            (std::vector<float>{0.25f}));
  // G.711: the codes of silence and of the largest amplitude.
  EXPECT_EQ(decode(wav(7, 1, 8, "\xff\x80\x00"s))->samples,
            (std::vector<float>{0, 32124 / 32768.0f, -32124 / 32768.0f}));
  EXPECT_EQ(decode(wav(6, 1, 8, "\xd5\xaa\x2a"s))->samples,
            (std::vector<float>{8 / 32768.0f, 32256 / 32768.0f, -32256 / 32768.0f}));
}

TEST(Wav, BrokenFilesAreRefused) {
  const std::string good = wav(1, 2, 16, "abcdefgh");
  ASSERT_TRUE(decode(good).ok());
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(decode(std::string_view(good).substr(0, n)).ok()) << n;
  EXPECT_FALSE(decode(wav(1, 2, 16, "abc")).ok());
  EXPECT_FALSE(decode(wav(1, 0, 16, "ab")).ok());
  EXPECT_EQ(decode(wav(2, 1, 4, "ab")).error().code, Code::unsupported);
  EXPECT_FALSE(decode(wav(1, 1, 16, "ab", std::string("data\2\0\0\0xx", 10))).ok());
}

TEST(Wav, WritingReadsBack) {
  const Audio audio{16000, 2, {0, 0.5f, -1, 0.25f}};
  const auto again = decode(encode_wav(audio));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->samples, audio.samples);
  EXPECT_EQ(again->sample_rate, 16000);
  EXPECT_EQ(to_mono(*again), (std::vector<float>{0.25f, -0.375f}));
}

// A tone below the new limit comes through unchanged, one above vanishes.
TEST(Resample, KeepsTonesAndRemovesAliases) {
  const auto tone = [](double hertz, int rate, int n) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      x[static_cast<std::size_t>(i)] =
          static_cast<float>(std::sin(2 * std::numbers::pi * hertz * i / rate));
    return x;
  };
  for (auto [from, to] :
       {std::pair{8000, 16000}, {16000, 8000}, {44100, 16000}, {8000, 11025}, {8000, 8001}}) {
    const auto y = resample(tone(1000, from, from / 4), from, to);
    const auto wanted = tone(1000, to, static_cast<int>(y.size()));
    EXPECT_NEAR(static_cast<double>(y.size()), to / 4.0, 1);
    for (std::size_t i = 200; i + 200 < y.size(); ++i)
      ASSERT_NEAR(y[i], wanted[i], 2e-3) << from << " " << to << " " << i;
  }
  const auto gone = resample(tone(7000, 16000, 4000), 16000, 8000);
  for (std::size_t i = 100; i + 100 < gone.size(); ++i) ASSERT_NEAR(gone[i], 0, 1e-3);
  EXPECT_EQ(resample(std::vector<float>{1, 2}, 8000, 8000), (std::vector<float>{1, 2}));
  EXPECT_TRUE(resample({}, 8000, 16000).empty());
}

TEST(Wav, RealRecordings) {
  const auto folder = fetched("asterisk-en");
  if (!folder) GTEST_SKIP() << "input asterisk-en is not fetched";
  const auto audio = read_wav(*folder / "demo-congrats.wav");
  ASSERT_TRUE(audio.ok()) << audio.error().text();
  EXPECT_EQ(audio->sample_rate, 8000);
  EXPECT_EQ(audio->samples.size() / 256, 946u);
}

}  // namespace
}  // namespace tenon::dataset
