// Small whole numbers as Parquet packs them: levels and dictionary numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::dataset {

/// Decodes the hybrid of runs and bit-packed groups, values of `width` bits; at most `count` are
/// taken, fewer are an error.
Result<std::vector<std::uint32_t>> read_runs(std::span<const std::byte> bytes, int width,
                                             std::size_t count);

}  // namespace tenon::dataset
