// Vocabulary for `eval`: plain loops over concrete tensors, written once for all element types.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "tenon/base/tensor.h"

namespace tenon::ops {

/// Integers of a tensor as a vector (axes, shapes, indices).
inline std::vector<std::int64_t> integers(const Tensor& t) { return to_int64s(t); }

/// Row-major walk over `dims`: calls f(index vector, linear position).
template <class F>
void for_each_index(std::span<const std::int64_t> dims, F&& f) {
  const std::int64_t n = num_elements(dims);
  Dims at(dims.size(), 0);
  for (std::int64_t k = 0; k < n; ++k) {
    f(static_cast<const Dims&>(at), k);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
}

/// Linear position of `at` under `strides`.
inline std::int64_t offset_of(const Dims& at, const Dims& strides) {
  std::int64_t o = 0;
  for (std::size_t i = 0; i < at.size(); ++i) o += at[i] * strides[i];
  return o;
}

/// Strides of `dims` as seen from the broadcast shape `out`: 0 along broadcast axes.
Dims broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> out);
/// Broadcast of concrete shapes; a check fails when they disagree (inference has seen to it).
Dims broadcast_dims(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

/// An element whose bytes matter and nothing else; byte arrays may alias every type.
template <int N>
struct Bits {
  std::byte bytes[N];
};

/// Calls f(T*) with a null pointer to a type that holds one element: std::string or Bits.
template <class F>
decltype(auto) visit_storage(DType dtype, F&& f) {
  if (dtype == DType::string) return f(static_cast<std::string*>(nullptr));
  switch (size_of(dtype)) {
    case 1: return f(static_cast<Bits<1>*>(nullptr));
    case 2: return f(static_cast<Bits<2>*>(nullptr));
    case 4: return f(static_cast<Bits<4>*>(nullptr));
    case 8: return f(static_cast<Bits<8>*>(nullptr));
    default: return f(static_cast<Bits<16>*>(nullptr));
  }
}

/// Copies elements: out[k] = x[source(at, k)] for each output position `at` with row-major number
/// k; source < 0 leaves `fill` (a one-element tensor of x's type) or zero.
template <class Source>
Tensor copy_elements(const Tensor& x, Dims out_dims, Source&& source,
                     const Tensor* fill = nullptr) {
  Tensor out(x.dtype(), std::move(out_dims));
  visit_storage(x.dtype(), [&]<class T>(T*) {
    const T* from = reinterpret_cast<const T*>(x.raw());
    T* to = reinterpret_cast<T*>(out.raw());
    const T other = fill ? *reinterpret_cast<const T*>(fill->raw()) : T{};
    for_each_index(out.dims(), [&](const Dims& at, std::int64_t k) {
      const std::int64_t i = source(at, k);
      to[k] = i >= 0 ? from[i] : other;
    });
  });
  return out;
}

/// Copies `n` elements from position `at` of `from` to position `to_at` of `to` (same element
/// type).
void copy_run(const Tensor& from, std::int64_t at, Tensor& to, std::int64_t to_at, std::int64_t n);

/// A view made real: out[i0, i1, ...] = x[offset + i0 * strides[0] + i1 * strides[1] + ...],
/// strides in elements. Runs of contiguous elements are copied whole.
Tensor copy_strided(const Tensor& x, Dims out_dims, Dims strides, std::int64_t offset = 0);

/// Elements of a tensor in the widest type of their class, computed on, and written back rounded
/// once: floats as double, integers and booleans as int64 (u64 wraps), complex as complex double.
/// f is called as f(std::vector<W>...) -> std::vector<W> by the helpers below.
template <class W>
std::vector<W> wide(const Tensor& t) {
  if constexpr (std::is_same_v<W, double>)
    return to_doubles(t);
  else if constexpr (std::is_same_v<W, std::int64_t>)
    return to_int64s(t);
  else
    return to_complexes(t);
}
inline Tensor narrow(const std::vector<double>& v, DType d, Dims dims) {
  return from_doubles(v, d, std::move(dims));
}
inline Tensor narrow(const std::vector<std::int64_t>& v, DType d, Dims dims) {
  return from_int64s(v, d, std::move(dims));
}
inline Tensor narrow(const std::vector<std::complex<double>>& v, DType d, Dims dims) {
  return from_complexes(v, d, std::move(dims));
}

/// Calls f(W{}) with the wide type of `dtype`: double, int64 or complex double.
template <class F>
decltype(auto) visit_wide(DType dtype, F&& f) {
  switch (class_of(dtype)) {
    case DTypeClass::floating: return f(double{});
    case DTypeClass::complex: return f(std::complex<double>{});
    case DTypeClass::none:
    case DTypeClass::string: TENON_CHECK(false, "{} is not numeric", name(dtype)); break;
    case DTypeClass::signed_integer:
    case DTypeClass::unsigned_integer:
    case DTypeClass::boolean: break;
  }
  return f(std::int64_t{});
}
/// The same for pages that take no complex numbers.
template <class F>
decltype(auto) visit_real(DType dtype, F&& f) {
  if (is_floating(dtype)) return f(double{});
  return f(std::int64_t{});
}

}  // namespace tenon::ops
