// Sound in memory, read from and written to WAV, at other sample rates.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::dataset {

/// Samples in [-1, 1], channels interleaved: samples[i * channels + c].
struct Audio {
  int sample_rate = 0, channels = 0;
  std::vector<float> samples;
  std::size_t num_frames() const {
    return channels ? samples.size() / static_cast<std::size_t>(channels) : 0;
  }
};

/// RIFF WAVE with PCM of 8 to 32 bits, IEEE floats of 32 and 64 bits, A-law and mu-law, plain or
/// extensible. Integers are divided by 2^(bits - 1). A file shorter than its chunks say is an
/// error.
Result<Audio> decode_wav(std::span<const std::byte> bytes);
Result<Audio> read_wav(const std::filesystem::path& path);
/// 16-bit PCM, rounded and clipped.
std::string encode_wav(const Audio& audio);

/// The mean of the channels.
std::vector<float> to_mono(const Audio& audio);

/// Band-limited resampling by a Kaiser-windowed sinc (16 zero crossings a side, beta 9: stop band
/// about 90 dB down). The result has ceil(size * to / from) samples; silence is assumed around.
std::vector<float> resample(std::span<const float> samples, int from_rate, int to_rate);

}  // namespace tenon::dataset
