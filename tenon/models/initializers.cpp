// Numbers by counter, one stream for each name.
#include "tenon/models/initializers.h"

#include <cmath>

#include "tenon/base/random.h"

namespace tenon::models {
namespace {

// FNV-1a.
std::uint64_t stream_of(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

float truncated(CounterRandom& random) {
  for (;;)
    if (const double x = random.normal(); std::fabs(x) <= 2) return static_cast<float>(x);
}

}  // namespace

Init default_uniform(std::int64_t fan_in) {
  return uniform(fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0);
}

Init he_normal(std::int64_t fan_out) {
  return normal(std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(1, fan_out))));
}

Tensor initial(const Init& init, const Dims& dims, std::uint64_t seed, std::string_view name) {
  if (init.kind == Init::Kind::constant) return Tensor::full(DType::f32, dims, init.scale);
  Tensor t(DType::f32, dims);
  const auto values = t.data<float>();
  const auto scale = static_cast<float>(init.scale);
  if (init.kind == Init::Kind::uniform) {
    fill_uniform(values, seed, stream_of(name));
    for (float& v : values) v = (2 * v - 1) * scale;
  } else if (init.kind == Init::Kind::normal) {
    fill_normal(values, seed, stream_of(name));
    for (float& v : values) v *= scale;
  } else {
    CounterRandom random(seed, stream_of(name));
    for (float& v : values) v = truncated(random) * scale;
  }
  return t;
}

}  // namespace tenon::models
