// Runs and bit-packed groups, by the format's description (parquet-format 2.10, "RLE/bit-packing").
#include <algorithm>
#include <cstring>

#include "tenon/dataset/parquet_runs_internal.h"

namespace tenon::dataset {

Result<std::vector<std::uint32_t>> read_runs(std::span<const std::byte> bytes, int width,
                                             std::size_t count) {
  std::vector<std::uint32_t> out;
  if (width < 0 || width > 32) return invalid("parquet: values of {} bits", width);
  out.reserve(count);
  std::size_t at = 0;
  while (out.size() < count) {
    std::uint64_t head = 0;
    for (int shift = 0;; shift += 7) {
      if (at >= bytes.size() || shift > 28) return invalid("parquet: a run is cut off");
      const auto b = static_cast<unsigned>(bytes[at++]);
      head |= static_cast<std::uint64_t>(b & 127) << shift;
      if (b < 128) break;
    }
    const auto value_bytes = static_cast<std::size_t>((width + 7) / 8);
    if (!(head & 1)) {
      if (bytes.size() - at < value_bytes) return invalid("parquet: a run is cut off");
      std::uint32_t v = 0;
      if (value_bytes) std::memcpy(&v, bytes.data() + at, value_bytes);
      at += value_bytes;
      if (head == 0 || static_cast<std::uint64_t>(v) >> width)
        return invalid("parquet: a broken run");
      out.insert(out.end(), std::min<std::size_t>(head >> 1, count - out.size()), v);
      continue;
    }
    const std::size_t packed = (head >> 1) * static_cast<std::size_t>(width);
    if (head == 1 || bytes.size() - at < packed)
      return invalid("parquet: a group of packed values is cut off");
    std::uint64_t bits = 0;
    int have = 0;
    std::size_t used = 0;
    for (std::size_t i = 0; i < (head >> 1) * 8 && out.size() < count; ++i) {
      while (have < width)
        bits |= static_cast<std::uint64_t>(bytes[at + used++]) << have, have += 8;
      out.push_back(static_cast<std::uint32_t>(bits & ((std::uint64_t{1} << width) - 1)));
      bits >>= width;
      have -= width;
    }
    at += packed;
  }
  return out;
}

}  // namespace tenon::dataset
