// Host tensors: shared storage, element type, dimensions; and runtime values that may also be
// sequences or absent optionals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"

namespace tenon {

/// Concrete dimensions, outermost first.
using Dims = std::vector<std::int64_t>;

/// Number of elements: the product of dims, 1 for a scalar.
std::int64_t num_elements(std::span<const std::int64_t> dims);
/// The same, or an error when it overflows or a dim is negative: for dims that come from a file.
Result<std::int64_t> checked_num_elements(std::span<const std::int64_t> dims);
/// Row-major strides in elements.
Dims row_major_strides(std::span<const std::int64_t> dims);
/// "[2, 3]".
std::string to_text(std::span<const std::int64_t> dims);

/// Storage of tensors: owned (64-byte aligned), or borrowed from an owner such as a mapped file.
class Buffer {
 public:
  static std::shared_ptr<Buffer> allocate(std::size_t bytes);
  static std::shared_ptr<Buffer> strings(std::size_t count);
  /// `keep_alive` owns the bytes; writing to them is the caller's responsibility.
  static std::shared_ptr<Buffer> borrow(const void* data, std::size_t bytes,
                                        std::shared_ptr<const void> keep_alive);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* data() { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool owned() const { return keep_alive_ == nullptr; }

 private:
  Buffer() = default;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::string> strings_;
  std::shared_ptr<const void> keep_alive_;
};

/// A contiguous row-major tensor on the host. Copies share storage: treat a tensor that you did not
/// just allocate as read-only.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised numbers, or empty strings.
  Tensor(DType dtype, Dims dims);
  /// Shares `buffer` from `offset_bytes` on.
  Tensor(DType dtype, Dims dims, std::shared_ptr<Buffer> buffer, std::size_t offset_bytes = 0);
  static Tensor zeros(DType dtype, Dims dims);
  template <class T>
  static Tensor of(Dims dims, std::span<const T> values);
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }
  template <class T>
  static Tensor vector(const std::vector<T>& values) {
    return of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
  }
  /// `value` converted to `dtype`, once for every element.
  static Tensor full(DType dtype, Dims dims, double value);

  bool defined() const { return dtype_ != DType::undefined; }
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int ndim() const { return static_cast<int>(dims_.size()); }
  /// Negative axes count from the end.
  std::int64_t dim(int axis) const {
    return dims_[static_cast<std::size_t>(axis < 0 ? axis + ndim() : axis)];
  }
  std::int64_t count() const { return count_; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(count_) * static_cast<std::size_t>(size_of(dtype_));
  }
  const std::byte* raw() const { return buffer_ ? buffer_->data() + offset_ : nullptr; }
  std::byte* raw() { return buffer_ ? buffer_->data() + offset_ : nullptr; }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  std::size_t offset_bytes() const { return offset_; }
  /// Elements as T, whose size must be the element type's (std::uint16_t for f16 and bf16,
  /// std::uint8_t or bool for boolean, std::string for string).
  template <class T>
  std::span<const T> data() const {
    TENON_CHECK(sizeof(T) == static_cast<std::size_t>(size_of(dtype_)),
                "element of {} bytes read as {}", size_of(dtype_), sizeof(T));
    return {reinterpret_cast<const T*>(raw()), static_cast<std::size_t>(count_)};
  }
  template <class T>
  std::span<T> data() {
    TENON_CHECK(sizeof(T) == static_cast<std::size_t>(size_of(dtype_)),
                "element of {} bytes written as {}", size_of(dtype_), sizeof(T));
    return {reinterpret_cast<T*>(raw()), static_cast<std::size_t>(count_)};
  }
  /// The same elements under other dims of the same count.
  Tensor reshaped(Dims dims) const;
  /// Own storage, equal elements.
  Tensor clone() const;

 private:
  DType dtype_ = DType::undefined;
  Dims dims_;
  std::int64_t count_ = 0;
  std::shared_ptr<Buffer> buffer_;
  std::size_t offset_ = 0;
};

/// The element type that holds a C++ type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::i8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::i16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return DType::u16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return DType::u32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return DType::u64;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DType::c64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return DType::c128;
  else if constexpr (std::is_same_v<T, std::string>)
    return DType::string;
  else
    return DType::undefined;
}

template <class T>
Tensor Tensor::of(Dims dims, std::span<const T> values) {
  Tensor t(dtype_of<T>(), std::move(dims));
  TENON_CHECK(static_cast<std::size_t>(t.count()) == values.size(), "{} values for {} elements",
              values.size(), t.count());
  std::copy(values.begin(), values.end(), t.data<T>().begin());
  return t;
}

// Wide access: every numeric element type read and written as one of four types, for code that is
// plain rather than fast. Writing rounds to nearest even, wraps integers and truncates toward zero.
std::vector<double> to_doubles(const Tensor& t);
std::vector<std::int64_t> to_int64s(const Tensor& t);  // u64 keeps its bits
std::vector<std::complex<double>> to_complexes(const Tensor& t);
Tensor from_doubles(std::span<const double> values, DType dtype, Dims dims);
Tensor from_int64s(std::span<const std::int64_t> values, DType dtype, Dims dims);
Tensor from_complexes(std::span<const std::complex<double>> values, DType dtype, Dims dims);
/// One element as a double (strings are not allowed).
double element(const Tensor& t, std::int64_t index);
std::int64_t integer_element(const Tensor& t, std::int64_t index);

/// A runtime value: a tensor, a sequence of values, or an optional that may be absent.
class Datum {
 public:
  Datum() = default;                                                         // an absent optional
  Datum(Tensor tensor) : kind_(Kind::tensor), tensor_(std::move(tensor)) {}  // NOLINT: implicit
  static Datum sequence(std::vector<Datum> items) {
    Datum d;
    d.kind_ = Kind::sequence;
    d.items_ = std::make_shared<const std::vector<Datum>>(std::move(items));
    return d;
  }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_sequence() const { return kind_ == Kind::sequence; }
  bool is_absent() const { return kind_ == Kind::absent; }
  const Tensor& tensor() const {
    TENON_CHECK(is_tensor(), "not a tensor");
    return tensor_;
  }
  Tensor& tensor() {
    TENON_CHECK(is_tensor(), "not a tensor");
    return tensor_;
  }
  const std::vector<Datum>& items() const {
    TENON_CHECK(is_sequence(), "not a sequence");
    return *items_;
  }

 private:
  enum class Kind : std::uint8_t { absent, tensor, sequence };
  Kind kind_ = Kind::absent;
  Tensor tensor_;
  std::shared_ptr<const std::vector<Datum>> items_;
};
using Datums = std::vector<Datum>;

}  // namespace tenon
