// Vocabulary for `eval`: plain loops over concrete tensors, written once for all element types.
#pragma once

#include <functional>
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

/// Copies elements: out[k] = x[source(k)] for each output position; source(k) < 0 leaves `fill`
/// (a one-element tensor of x's type) or zero bytes.
Tensor copy_elements(const Tensor& x, Dims out_dims, const std::function<std::int64_t(const Dims& at, std::int64_t k)>& source,
                     const Tensor* fill = nullptr);

/// Elements of a tensor in the widest type of their class, computed on, and written back rounded
/// once: floats as double, integers and booleans as int64 (u64 wraps), complex as complex double.
/// f is called as f(std::vector<W>...) -> std::vector<W> by the helpers below.
template <class W>
std::vector<W> wide(const Tensor& t) {
  if constexpr (std::is_same_v<W, double>) return to_doubles(t);
  else if constexpr (std::is_same_v<W, std::int64_t>) return to_int64s(t);
  else return to_complexes(t);
}
inline Tensor narrow(const std::vector<double>& v, DType d, Dims dims) { return from_doubles(v, d, std::move(dims)); }
inline Tensor narrow(const std::vector<std::int64_t>& v, DType d, Dims dims) { return from_int64s(v, d, std::move(dims)); }
inline Tensor narrow(const std::vector<std::complex<double>>& v, DType d, Dims dims) { return from_complexes(v, d, std::move(dims)); }

/// Calls f(W{}) with the wide type of `dtype`: double, int64 or complex double.
template <class F>
decltype(auto) visit_wide(DType dtype, F&& f) {
  switch (class_of(dtype)) {
    case DTypeClass::floating: return f(double{});
    case DTypeClass::complex: return f(std::complex<double>{});
    case DTypeClass::none: case DTypeClass::string: TENON_CHECK(false, "{} is not numeric", name(dtype)); break;
    case DTypeClass::signed_integer: case DTypeClass::unsigned_integer: case DTypeClass::boolean: break;
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
