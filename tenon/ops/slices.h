// The positions that a slice reads, shared by slice and its adjoint.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

struct Cut {
  std::int64_t start, step, count;
};  // of one axis

/// NumPy's rules: negative positions count from the end, out of range ones clamp.
Cut cut_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size);
/// Axes that `n` cuts speak of: the values of input `input`, or the first n axes without it.
Result<std::vector<int>> cut_axes(const Call& c, int input, int ndim, std::size_t n);
/// One cut for each axis of a tensor of `dims`; starts, ends, axes, steps are inputs `first` ...
/// first + 3.
Result<std::vector<Cut>> cuts_of(const Call& c, int first, const Dims& dims);

}  // namespace tenon::ops
