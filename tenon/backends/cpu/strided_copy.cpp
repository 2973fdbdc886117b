// Rows by memcpy where both sides are contiguous, blocks where the fast axes differ: turned in
// registers by a generated kernel for elements of 4 bytes.
#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/strided_copy_internal.h"
#include "tenon/codegen/kernel_cache.h"

namespace tenon::backends::cpu {
namespace {

constexpr std::int64_t kBlock = 16;

template <class T>
void copy_line(const T* from, T* to, std::int64_t n, std::int64_t from_step, std::int64_t to_step) {
  if (from_step == 1 && to_step == 1)
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  else if (from_step == 0 && to_step == 1)
    std::fill_n(to, n, *from);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

// The generated transpose, or nullptr where there is no code generator.
codegen::TileTransposeFunction generated_transpose() {
  static const codegen::TileTransposeFunction function = [] {
    auto kernel = codegen::KernelCache::instance().get(codegen::tile_transpose_for(host_isa()));
    return kernel.ok() ? kernel->as<codegen::TileTransposeFunction>() : nullptr;
  }();
  return function;
}

// to[r * to_row + c] = from[c * from_column + r], in strips whose lines stay in cache.
bool transposed(const void* from, void* to, std::int64_t rows, std::int64_t columns,
                std::int64_t from_column, std::int64_t to_row) {
  constexpr std::int64_t kStrip = 64;
  const auto turn = generated_transpose();
  if (!turn || rows < 4 || columns < 4) return false;
  for (std::int64_t r = 0; r < rows; r += kStrip)
    turn(static_cast<const std::uint32_t*>(from) + r, static_cast<std::uint32_t*>(to) + r * to_row,
         columns, std::min(kStrip, rows - r), from_column, to_row);
  return true;
}

// The two innermost axes in blocks, so that both sides stay in cache.
template <class T>
void copy_plane(const T* from, T* to, std::int64_t rows, std::int64_t columns,
                const std::int64_t* fs, const std::int64_t* ts) {
  if (fs[1] == 1 || fs[1] == 0 || (ts[1] == 1 && fs[0] != 1)) {
    for (std::int64_t r = 0; r < rows; ++r)
      copy_line(from + r * fs[0], to + r * ts[0], columns, fs[1], ts[1]);
    return;
  }
  if (sizeof(T) == 4 && fs[0] == 1 && ts[1] == 1 &&
      transposed(from, to, rows, columns, fs[1], ts[0]))
    return;
  for (std::int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (std::int64_t c0 = 0; c0 < columns; c0 += kBlock)
      for (std::int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
        for (std::int64_t c = c0; c < std::min(columns, c0 + kBlock); ++c)
          to[r * ts[0] + c * ts[1]] = from[r * fs[0] + c * fs[1]];
}

template <class T>
void copy_range(const StridedCopy& s, const T* from, T* to, std::int64_t begin, std::int64_t end) {
  const std::size_t n = s.dims.size();
  const std::size_t outer = n - 2;
  Dims at(outer, 0);
  std::int64_t k = begin;
  for (std::size_t a = outer; a-- > 0;) at[a] = k % s.dims[a], k /= s.dims[a];
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t f = 0, t = 0;
    for (std::size_t a = 0; a < outer; ++a)
      f += at[a] * s.from_strides[a], t += at[a] * s.to_strides[a];
    copy_plane(from + f, to + t, s.dims[n - 2], s.dims[n - 1], &s.from_strides[n - 2],
               &s.to_strides[n - 2]);
    for (std::size_t a = outer; a-- > 0;) {
      if (++at[a] < s.dims[a]) break;
      at[a] = 0;
    }
  }
}

// Copying has no order: the axis along which the source lies side by side becomes the last but one,
// so that a plane has the fast axes of both sides.
void bring_neighbours_inside(StridedCopy& s) {
  const std::size_t n = s.dims.size();
  if (s.from_strides[n - 1] == 1) return;
  for (std::size_t a = 0; a + 2 < n; ++a) {
    if (s.from_strides[a] != 1 || s.dims[a] == 1) continue;
    for (Dims* d : {&s.dims, &s.from_strides, &s.to_strides})
      std::rotate(d->begin() + static_cast<std::ptrdiff_t>(a),
                  d->begin() + static_cast<std::ptrdiff_t>(a) + 1, d->end() - 1);
    return;
  }
}

template <class T>
void copy_all(StridedCopy s, const std::byte* from, std::byte* to, ThreadPool& pool) {
  const T* f = reinterpret_cast<const T*>(from) + s.from_offset;
  T* t = reinterpret_cast<T*>(to) + s.to_offset;
  while (s.dims.size() < 3) {  // planes need two axes, threads a third
    s.dims.insert(s.dims.begin(), 1);
    s.from_strides.insert(s.from_strides.begin(), 0);
    s.to_strides.insert(s.to_strides.begin(), 0);
  }
  const std::size_t n = s.dims.size();
  bring_neighbours_inside(s);
  std::int64_t planes = 1;
  for (std::size_t a = 0; a + 2 < n; ++a) planes *= s.dims[a];
  const std::int64_t plane = s.dims[n - 2] * s.dims[n - 1];
  if (planes == 1) {  // one plane: share its rows
    pool.parallel_for(
        0, s.dims[n - 2],
        std::max<std::int64_t>(kBlock, 32768 / std::max<std::int64_t>(1, s.dims[n - 1])),
        [&](std::int64_t begin, std::int64_t end) {
          copy_plane(f + begin * s.from_strides[n - 2], t + begin * s.to_strides[n - 2],
                     end - begin, s.dims[n - 1], &s.from_strides[n - 2], &s.to_strides[n - 2]);
        });
    return;
  }
  pool.parallel_for(0, planes, std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, plane)),
                    [&](std::int64_t begin, std::int64_t end) { copy_range(s, f, t, begin, end); });
}

struct Wide {
  std::uint64_t a, b;
};  // complex doubles

}  // namespace

void StridedCopy::simplify() {
  const auto erase = [&](std::size_t i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    dims.erase(dims.begin() + at);
    from_strides.erase(from_strides.begin() + at);
    to_strides.erase(to_strides.begin() + at);
  };
  for (std::size_t i = dims.size(); i-- > 0;)
    if (dims[i] == 1) erase(i);
  for (std::size_t i = dims.size(); i-- > 1;)
    if (from_strides[i - 1] == from_strides[i] * dims[i] &&
        to_strides[i - 1] == to_strides[i] * dims[i]) {
      dims[i] *= dims[i - 1];
      erase(i - 1);
    }
}

void StridedCopy::run(const std::byte* from, std::byte* to, std::size_t element_bytes,
                      ThreadPool& pool) const {
  if (num_elements(dims) == 0) return;
  switch (element_bytes) {
    case 1: return copy_all<std::uint8_t>(*this, from, to, pool);
    case 2: return copy_all<std::uint16_t>(*this, from, to, pool);
    case 4: return copy_all<std::uint32_t>(*this, from, to, pool);
    case 8: return copy_all<std::uint64_t>(*this, from, to, pool);
    default: return copy_all<Wide>(*this, from, to, pool);
  }
}

}  // namespace tenon::backends::cpu
