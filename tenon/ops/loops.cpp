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
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1,
                       y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TENON_CHECK(x == y || x == 1 || y == 1, "{} and {} do not broadcast", to_text(a), to_text(b));
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

void copy_run(const Tensor& from, std::int64_t at, Tensor& to, std::int64_t to_at, std::int64_t n) {
  if (n <= 0) return;
  if (from.dtype() == DType::string) {
    std::copy_n(from.data<std::string>().begin() + at, n, to.data<std::string>().begin() + to_at);
    return;
  }
  const auto size = static_cast<std::size_t>(size_of(from.dtype()));
  std::memcpy(to.raw() + static_cast<std::size_t>(to_at) * size,
              from.raw() + static_cast<std::size_t>(at) * size, static_cast<std::size_t>(n) * size);
}

namespace {

// Drops axes of size 1 and joins axes that one stride walks: fewer and longer inner loops.
void merge_axes(Dims& dims, Dims& strides) {
  Dims d, s;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!d.empty() && s.back() == strides[i] * dims[i]) {
      d.back() *= dims[i];
      s.back() = strides[i];
    } else {
      d.push_back(dims[i]);
      s.push_back(strides[i]);
    }
  }
  dims = std::move(d);
  strides = std::move(s);
}

template <class T>
void copy_lines(const T* from, T* to, const Dims& outer, const Dims& strides, std::int64_t width,
                std::int64_t step) {
  for_each_index(outer, [&](const Dims& at, std::int64_t k) {
    const T* line = from + offset_of(at, strides);
    T* out = to + k * width;
    if (step == 1)
      std::copy_n(line, width, out);
    else
      for (std::int64_t i = 0; i < width; ++i) out[i] = line[i * step];
  });
}

}  // namespace

Tensor copy_strided(const Tensor& x, Dims out_dims, Dims strides, std::int64_t offset) {
  Tensor out(x.dtype(), out_dims);
  if (out.count() == 0) return out;
  merge_axes(out_dims, strides);
  const std::int64_t width = out_dims.empty() ? 1 : out_dims.back(),
                     step = out_dims.empty() ? 1 : strides.back();
  if (!out_dims.empty()) {
    out_dims.pop_back();
    strides.pop_back();
  }
  visit_storage(x.dtype(), [&]<class T>(T*) {
    copy_lines(reinterpret_cast<const T*>(x.raw()) + offset, reinterpret_cast<T*>(out.raw()),
               out_dims, strides, width, step);
  });
  return out;
}

}  // namespace tenon::ops
