// Broadcast strides and element copies.
#include "tenon/ops/loops.h"

#include <algorithm>
#include <cstring>

namespace tenon::ops {

Dims broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> out) {
  const Dims own = row_major_strides(dims);
  Dims strides(out.size(), 0);
  const std::size_t shift = out.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) strides[shift + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

Dims broadcast_dims(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TENON_CHECK(x == y || x == 1 || y == 1, "{} and {} do not broadcast", to_text(a), to_text(b));
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Tensor copy_elements(const Tensor& x, Dims out_dims, const std::function<std::int64_t(const Dims&, std::int64_t)>& source, const Tensor* fill) {
  Tensor out(x.dtype(), std::move(out_dims));
  const auto size = static_cast<std::size_t>(size_of(x.dtype()));
  for_each_index(out.dims(), [&](const Dims& at, std::int64_t k) {
    const std::int64_t from = source(at, k);
    if (x.dtype() == DType::string) {
      auto texts = out.data<std::string>();
      if (from >= 0) texts[static_cast<std::size_t>(k)] = x.data<std::string>()[static_cast<std::size_t>(from)];
      else if (fill) texts[static_cast<std::size_t>(k)] = fill->data<std::string>()[0];
      return;
    }
    std::byte* to = out.raw() + static_cast<std::size_t>(k) * size;
    if (from >= 0) std::memcpy(to, x.raw() + static_cast<std::size_t>(from) * size, size);
    else if (fill) std::memcpy(to, fill->raw(), size);
    else std::memset(to, 0, size);
  });
  return out;
}

}  // namespace tenon::ops
