// Copies between strided layouts: transposes, cuts, joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/base/tensor.h"
#include "tenon/base/thread_pool.h"

namespace tenon::backends::cpu {

/// to[sum i_a * to_strides[a]] = from[sum i_a * from_strides[a]] for every index; strides in
/// elements.
struct StridedCopy {
  Dims dims, from_strides, to_strides;
  std::int64_t from_offset = 0, to_offset = 0;  // in elements

  /// Drops axes of size 1 and merges neighbours that both sides walk as one.
  void simplify();
  void run(const std::byte* from, std::byte* to, std::size_t element_bytes, ThreadPool& pool) const;
};

}  // namespace tenon::backends::cpu
