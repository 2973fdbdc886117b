// WAV sounds: whatever decodes has whole frames and can be encoded again.
#include "tenon/dataset/audio.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto audio = tenon::dataset::decode_wav(tenon::fuzz::bytes(data, size));
  if (!audio.ok()) return 0;
  TENON_CHECK(audio->channels > 0 && audio->sample_rate > 0, "{} channels", audio->channels);
  TENON_CHECK(audio->samples.size() % static_cast<std::size_t>(audio->channels) == 0, "{} samples",
              audio->samples.size());
  const std::string again = tenon::dataset::encode_wav(*audio);
  TENON_CHECK(tenon::dataset::decode_wav(std::as_bytes(std::span(again))).ok(), "cannot read back");
  return 0;
}
