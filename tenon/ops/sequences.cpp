// Positions in sequences, and tensors cut into them.
#include "tenon/ops/sequences.h"

namespace tenon::ops {

Result<std::size_t> position_in(const EvalCall& e, int input, std::int64_t size,
                                std::int64_t other) {
  const std::int64_t given = e.has(input) ? integer_element(e.in(input), 0) : other,
                     at = given < 0 ? given + size : given;
  if (at < 0 || at >= size)
    return invalid("{}: position {} is outside of {} items", e.call.op().name, given, size);
  return static_cast<std::size_t>(at);
}

Datum pieces(const Tensor& x, int axis, const std::vector<std::int64_t>& widths, bool keep) {
  const Dims strides = row_major_strides(x.dims());
  std::vector<Datum> items;
  std::int64_t start = 0;
  for (std::int64_t width : widths) {
    Dims dims = x.dims();
    dims[static_cast<std::size_t>(axis)] = width;
    Tensor piece = copy_strided(x, dims, strides, start * strides[static_cast<std::size_t>(axis)]);
    if (!keep) dims.erase(dims.begin() + axis);
    items.emplace_back(keep ? piece : piece.reshaped(dims));
    start += width;
  }
  return Datum::sequence(std::move(items));
}

}  // namespace tenon::ops
