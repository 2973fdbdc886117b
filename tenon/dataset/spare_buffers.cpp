// A handful of buffers a thread, the largest kept.
#include <algorithm>
#include <array>

#include "tenon/dataset/spare_buffers_internal.h"

namespace tenon::dataset {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

std::array<std::vector<std::uint8_t>, 4>& spares() {
  thread_local std::array<std::vector<std::uint8_t>, 4> all;
  return all;
}

}  // namespace

std::vector<std::uint8_t> take_spare(std::size_t bytes) {
  std::vector<std::uint8_t> out, *best = nullptr;
  for (auto& s : spares())
    if (s.capacity() >= bytes && (!best || s.capacity() < best->capacity())) best = &s;
  if (best) out.swap(*best);
  out.resize(bytes);
  return out;
}

void give_spare(std::vector<std::uint8_t>&& buffer) {
  if (buffer.capacity() > kMaxBytes) return;
  auto& all = spares();
  auto& smallest = *std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.capacity() < b.capacity();
  });
  if (buffer.capacity() > smallest.capacity()) smallest = std::move(buffer);
}

Image scratch_image(int width, int height, int channels) {
  const std::size_t bytes = static_cast<std::size_t>(width) * height * channels;
  return {width, height, channels, take_spare(bytes)};
}

}  // namespace tenon::dataset
