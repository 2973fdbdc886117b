// One call into libzstd, and what keeps it bounded.
#include <zstd.h>

#include "tenon/dataset/zstd_internal.h"

namespace tenon::dataset {

Result<std::string> unpack_zstd(std::span<const std::byte> in, std::size_t size) {
  // The densest block repeats one byte: 4 bytes for at most 128 KiB.
  constexpr std::size_t kMaxRatio = (128 << 10) / 4;
  if (size > 0 && size / kMaxRatio > in.size())
    return invalid("corrupt Zstandard data: {} bytes cannot hold {}", in.size(), size);
  std::string out(size, '\0');
  const std::size_t n = ZSTD_decompress(out.data(), size, in.data(), in.size());
  if (ZSTD_isError(n)) return invalid("corrupt Zstandard data: {}", ZSTD_getErrorName(n));
  if (n != size) return invalid("Zstandard data of {} bytes instead of {}", n, size);
  return out;
}

}  // namespace tenon::dataset
