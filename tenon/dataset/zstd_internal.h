// Zstandard frames inside Parquet pages and Arrow buffers.
#pragma once

#include <span>
#include <string>

#include "tenon/base/error.h"

namespace tenon::dataset {

/// Unpacks to exactly `size` bytes. Memory is bounded by the input: a size that the format cannot
/// reach from so few bytes is refused before anything is allocated.
Result<std::string> unpack_zstd(std::span<const std::byte> in, std::size_t size);

}  // namespace tenon::dataset
