// Literals and back references, by Snappy's format_description.txt.
#include <cstdint>

#include "tenon/dataset/snappy_internal.h"

namespace tenon::dataset {

Result<std::string> unpack_snappy(std::span<const std::byte> in, std::size_t size) {
  const auto broken = [] { return invalid("corrupt Snappy data"); };
  std::size_t at = 0;
  const auto take = [&](std::size_t bytes, std::size_t& value) {
    if (in.size() - at < bytes) return false;
    value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::size_t>(in[at++]) << (8 * i);
    return true;
  };
  std::size_t stated = 0, b = 128;
  for (int shift = 0; b >= 128; shift += 7) {
    if (shift > 28 || !take(1, b)) return broken();
    stated |= (b & 127) << shift;
  }
  // A copy of 64 bytes takes at least 3: what cannot come out of so few bytes is not reserved.
  if (stated != size || size / 64 > in.size()) return broken();
  std::string out;
  out.reserve(size);
  while (at < in.size()) {
    std::size_t tag = 0, length = 0, offset = 0;
    take(1, tag);
    if ((tag & 3) == 0) {
      length = tag >> 2;
      if (length >= 60 && !take(length - 59, length)) return broken();
      ++length;
      if (length > in.size() - at || length > size - out.size()) return broken();
      out.append(reinterpret_cast<const char*>(in.data()) + at, length);
      at += length;
      continue;
    }
    length = (tag >> 2) + 1;
    if ((tag & 3) == 1) {
      length = (tag >> 2 & 7) + 4;
      if (!take(1, offset)) return broken();
      offset |= (tag >> 5) << 8;
    } else if (!take((tag & 3) == 2 ? 2 : 4, offset)) {
      return broken();
    }
    if (offset == 0 || offset > out.size() || length > size - out.size()) return broken();
    for (std::size_t i = 0; i < length; ++i) out += out[out.size() - offset];  // may overlap itself
  }
  if (out.size() != size) return broken();
  return out;
}

}  // namespace tenon::dataset
