// WAV chunks and sample formats by Microsoft's "Multiple channel audio data and WAVE files".
#include "tenon/dataset/audio.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "tenon/base/file.h"

namespace tenon::dataset {
namespace {

constexpr int kPcm = 1, kFloat = 3, kALaw = 6, kMuLaw = 7, kExtensible = 0xfffe;

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

struct Format {
  int tag = 0, channels = 0, sample_rate = 0, bits = 0;
};

Result<Format> read_format(std::span<const std::byte> c) {
  if (c.size() < 16) return invalid("wav: a format chunk of {} bytes", c.size());
  Format f{load<std::uint16_t>(&c[0]), load<std::uint16_t>(&c[2]),
           static_cast<int>(load<std::uint32_t>(&c[4])), load<std::uint16_t>(&c[14])};
  if (f.tag == kExtensible) {
    if (c.size() < 26) return invalid("wav: an extensible format chunk of {} bytes", c.size());
    f.tag = load<std::uint16_t>(&c[24]);  // the first field of the sub-format's GUID
  }
  const bool known =
      (f.tag == kPcm && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32)) ||
      (f.tag == kFloat && (f.bits == 32 || f.bits == 64)) ||
      ((f.tag == kALaw || f.tag == kMuLaw) && f.bits == 8);
  if (!known) return unsupported("wav: format {} with {} bits a sample", f.tag, f.bits);
  if (f.channels < 1 || f.channels > 64 || f.sample_rate < 1 || f.sample_rate > 10'000'000)
    return invalid("wav: {} channels at {} samples a second", f.channels, f.sample_rate);
  return f;
}

// ITU-T G.711.
float a_law(std::uint8_t code) {
  code ^= 0x55;
  const int exponent = code >> 4 & 7;
  int value = (code & 15) << 4 | 8;
  if (exponent > 0) value = (value + 0x100) << (exponent - 1);
  return static_cast<float>(code & 0x80 ? value : -value) / 32768.0f;
}

float mu_law(std::uint8_t code) {
  code = static_cast<std::uint8_t>(~code);
  const int value = ((((code & 15) << 3) + 0x84) << (code >> 4 & 7)) - 0x84;
  return static_cast<float>(code & 0x80 ? -value : value) / 32768.0f;
}

float sample_at(const std::byte* p, const Format& f) {
  switch (f.tag) {
    case kFloat: return f.bits == 32 ? load<float>(p) : static_cast<float>(load<double>(p));
    case kALaw: return a_law(load<std::uint8_t>(p));
    case kMuLaw: return mu_law(load<std::uint8_t>(p));
    default: break;
  }
  switch (f.bits) {
    case 8: return (load<std::uint8_t>(p) - 128) / 128.0f;
    case 16: return load<std::int16_t>(p) / 32768.0f;
    case 24: {
      const int low = load<std::uint16_t>(p), high = load<std::int8_t>(p + 2);
      return static_cast<float>(high * 65536 + low) / 8388608.0f;
    }
    default: return static_cast<float>(load<std::int32_t>(p)) / 2147483648.0f;
  }
}

Result<Audio> read_samples(std::span<const std::byte> data, const Format& f) {
  const std::size_t width = static_cast<std::size_t>(f.bits) / 8,
                    frame = width * static_cast<std::size_t>(f.channels);
  if (data.size() % frame)
    return invalid("wav: {} bytes of data do not fill whole frames of {}", data.size(), frame);
  Audio audio{f.sample_rate, f.channels, std::vector<float>(data.size() / width)};
  for (std::size_t i = 0; i < audio.samples.size(); ++i)
    audio.samples[i] = sample_at(&data[i * width], f);
  return audio;
}

double bessel_i0(double x) {  // the power series; converges in some twenty terms for the betas used
  double sum = 1, term = 1;
  for (int k = 1; k < 60 && term > 1e-18 * sum; ++k) sum += term *= (x / (2 * k)) * (x / (2 * k));
  return sum;
}

constexpr int kCrossings = 16;
constexpr double kBeta = 9;

// The filter at `x` input samples from its centre; `cutoff` <= 1 is the share of the band that
// stays.
double kernel(double x, double cutoff) {
  const double reach = kCrossings / cutoff;
  if (std::fabs(x) >= reach) return 0;
  const double angle = std::numbers::pi * x * cutoff,
               sinc = angle == 0 ? 1 : std::sin(angle) / angle;
  static const double scale = bessel_i0(kBeta);
  return cutoff * sinc * bessel_i0(kBeta * std::sqrt(1 - (x / reach) * (x / reach))) / scale;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

Result<Audio> decode_wav(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("RIFF") || bytes.size() < 12 || text.substr(8, 4) != "WAVE")
    return text.starts_with("RF64") ? unsupported("wav: RF64 files") : invalid("not a wav file");
  std::optional<Format> format;
  std::size_t at = 12;
  while (bytes.size() - at >= 8) {
    const std::string_view id = text.substr(at, 4);
    const std::size_t size = load<std::uint32_t>(&bytes[at + 4]);
    at += 8;
    if (size > bytes.size() - at)
      return invalid("wav: chunk '{}' of {} bytes is cut off after {}",
                     id == "data" ? "data" : "other", size, bytes.size() - at);
    const auto chunk = bytes.subspan(at, size);
    if (id == "fmt ") format = TENON_TRY(read_format(chunk));
    if (id == "data") {
      if (!format) return invalid("wav: data before the format chunk");
      return read_samples(chunk, *format);
    }
    at = std::min(bytes.size(), at + size + size % 2);  // chunks start at even places
  }
  return invalid("wav: no data chunk");
}

Result<Audio> read_wav(const std::filesystem::path& path) {
  const auto file = TENON_TRY(MappedFile::open(path));
  return placed(decode_wav(file->bytes()), [&] { return path.string(); });
}

std::string encode_wav(const Audio& audio) {
  std::string out = "RIFF";
  const auto bytes = static_cast<std::uint32_t>(audio.samples.size() * 2);
  append(out, bytes + 36);
  out += "WAVEfmt ";
  append<std::uint32_t>(out, 16);
  append<std::uint16_t>(out, kPcm);
  append(out, static_cast<std::uint16_t>(audio.channels));
  append(out, static_cast<std::uint32_t>(audio.sample_rate));
  append(out, static_cast<std::uint32_t>(audio.sample_rate * audio.channels * 2));
  append(out, static_cast<std::uint16_t>(audio.channels * 2));
  append<std::uint16_t>(out, 16);
  out += "data";
  append(out, bytes);
  for (float s : audio.samples)
    append(out,
           static_cast<std::int16_t>(std::lrint(std::clamp(s * 32768.0f, -32768.0f, 32767.0f))));
  return out;
}

std::vector<float> to_mono(const Audio& audio) {
  if (audio.channels == 1) return audio.samples;
  std::vector<float> mono(audio.num_frames());
  for (std::size_t i = 0; i < mono.size(); ++i) {
    float sum = 0;
    for (int c = 0; c < audio.channels; ++c)
      sum +=
          audio.samples[i * static_cast<std::size_t>(audio.channels) + static_cast<std::size_t>(c)];
    mono[i] = sum / static_cast<float>(audio.channels);
  }
  return mono;
}

std::vector<float> resample(std::span<const float> in, int from_rate, int to_rate) {
  TENON_CHECK(from_rate > 0 && to_rate > 0, "{} to {}", from_rate, to_rate);
  if (from_rate == to_rate || in.empty()) return {in.begin(), in.end()};
  const std::int64_t common = std::gcd(from_rate, to_rate), up = to_rate / common,
                     down = from_rate / common;
  const double cutoff = std::min(1.0, static_cast<double>(up) / static_cast<double>(down));
  const int half = static_cast<int>(std::ceil(kCrossings / cutoff)), taps = 2 * half + 1;
  // Output n stands at input n * down / up; its fraction takes `up` values. Odd pairs of rates have
  // too many of them for a table and compute the kernel each time.
  const bool tabled = up * taps <= (1 << 20);
  std::vector<float> table;
  for (std::int64_t phase = 0; tabled && phase < up; ++phase)
    for (int k = -half; k <= half; ++k)
      table.push_back(static_cast<float>(
          kernel(k - static_cast<double>(phase) / static_cast<double>(up), cutoff)));
  const auto size = static_cast<std::int64_t>(in.size());
  std::vector<float> out(static_cast<std::size_t>((size * up + down - 1) / down));
  for (std::size_t n = 0; n < out.size(); ++n) {
    const std::int64_t position = static_cast<std::int64_t>(n) * down, center = position / up,
                       phase = position % up;
    float sum = 0;
    for (int k = -half; k <= half; ++k) {
      const std::int64_t i = center + k;
      if (i < 0 || i >= size) continue;
      const float w = tabled
                          ? table[static_cast<std::size_t>(phase * taps + k + half)]
                          : static_cast<float>(kernel(
                                k - static_cast<double>(phase) / static_cast<double>(up), cutoff));
      sum += in[static_cast<std::size_t>(i)] * w;
    }
    out[n] = sum;
  }
  return out;
}

}  // namespace tenon::dataset
