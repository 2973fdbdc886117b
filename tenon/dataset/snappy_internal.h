// Snappy's block format, for reading only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tenon/base/error.h"

namespace tenon::dataset {

/// Unpacks a block that must give exactly `size` bytes.
Result<std::string> unpack_snappy(std::span<const std::byte> packed, std::size_t size);

}  // namespace tenon::dataset
