// What is known of a value before it exists: element type, dims, or a sequence or optional of such.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/tensor.h"
#include "tenon/ir/dim.h"

namespace tenon {

/// Type of a value. A tensor without known rank has `ranked == false` and an empty shape.
class Type {
 public:
  enum class Kind : std::uint8_t { undefined, tensor, sequence, optional };

  Type() = default;  // undefined: not inferred, or the result of a failed call
  Type(DType dtype, Shape shape)
      : kind_(Kind::tensor), dtype_(dtype), ranked_(true), shape_(std::move(shape)) {}
  static Type unranked(DType dtype) {
    Type t;
    t.kind_ = Kind::tensor;
    t.dtype_ = dtype;
    return t;
  }
  static Type sequence(Type element) { return of_kind(Kind::sequence, std::move(element)); }
  static Type optional(Type element) { return of_kind(Kind::optional, std::move(element)); }
  /// The type of an existing tensor: constant dims.
  static Type of(const Tensor& t) { return Type(t.dtype(), to_shape(t.dims())); }

  Kind kind() const { return kind_; }
  bool defined() const { return kind_ != Kind::undefined; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_sequence() const { return kind_ == Kind::sequence; }
  bool is_optional() const { return kind_ == Kind::optional; }
  /// Element type of a tensor; of a sequence or optional, that of its element.
  DType dtype() const { return element_ ? element_->dtype() : dtype_; }
  bool ranked() const { return ranked_; }
  const Shape& shape() const { return shape_; }
  int ndim() const { return static_cast<int>(shape_.size()); }
  /// Negative axes count from the end.
  const Dim& dim(int axis) const;
  /// What a sequence or optional holds.
  const Type& element() const {
    TENON_CHECK(element_ != nullptr, "type {} has no element", text());
    return *element_;
  }

  Type with_dim(int axis, Dim size) const;
  Type with_shape(Shape shape) const { return Type(dtype(), std::move(shape)); }
  Type with_dtype(DType dtype) const;
  Dim count() const { return num_elements(shape_); }
  /// Bytes of all elements, for a ranked tensor.
  Dim bytes() const { return count() * Dim(size_of(dtype_)); }
  /// "f32[N, 3]", "f32[...]" without rank, "seq(f32[2])", "optional(f32[])".
  std::string text() const;
  static Result<Type> parse(std::string_view text);
  friend bool operator==(const Type& a, const Type& b);

 private:
  static Type of_kind(Kind kind, Type element);
  Kind kind_ = Kind::undefined;
  DType dtype_ = DType::undefined;
  bool ranked_ = false;
  Shape shape_;
  std::shared_ptr<const Type> element_;
};
using Types = std::vector<Type>;

/// The shape of `a` and `b` broadcast against each other (NumPy rules). Undecided pairs of symbols
/// take the symbol; invalid names the axis that disagrees.
Result<Shape> broadcast(const Shape& a, const Shape& b);

/// Whether a runtime value may stand where `type` is expected, with the reason when not. Symbols
/// are bound to sizes in `bindings` and must agree.
Verdict accepts(const Type& type, const Datum& value, Bindings& bindings);

/// A set of element types, and whether sequences and optionals are meant.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr explicit TypeSet(std::uint32_t bits) : bits_(bits) {}
  static constexpr TypeSet one(DType d) { return TypeSet(1u << static_cast<int>(d)); }
  constexpr TypeSet operator|(TypeSet o) const { return TypeSet(bits_ | o.bits_); }
  constexpr bool has(DType d) const { return (bits_ >> static_cast<int>(d)) & 1u; }
  /// "f32, f64, bf16".
  std::string text() const;

 private:
  std::uint32_t bits_ = 0;
};

inline constexpr TypeSet kFloat = TypeSet::one(DType::f32) | TypeSet::one(DType::f64) |
                                  TypeSet::one(DType::f16) | TypeSet::one(DType::bf16);
inline constexpr TypeSet kFloat8 = TypeSet::one(DType::f8e4m3fn) | TypeSet::one(DType::f8e4m3fnuz) |
                                   TypeSet::one(DType::f8e5m2) | TypeSet::one(DType::f8e5m2fnuz) |
                                   TypeSet::one(DType::f8e8m0) | TypeSet::one(DType::f4e2m1);
inline constexpr TypeSet kSigned = TypeSet::one(DType::i8) | TypeSet::one(DType::i16) |
                                   TypeSet::one(DType::i32) | TypeSet::one(DType::i64);
inline constexpr TypeSet kUnsigned = TypeSet::one(DType::u8) | TypeSet::one(DType::u16) |
                                     TypeSet::one(DType::u32) | TypeSet::one(DType::u64);
inline constexpr TypeSet kSubByte = TypeSet::one(DType::i4) | TypeSet::one(DType::u4) |
                                    TypeSet::one(DType::i2) | TypeSet::one(DType::u2);
inline constexpr TypeSet kBool = TypeSet::one(DType::boolean);
inline constexpr TypeSet kComplex = TypeSet::one(DType::c64) | TypeSet::one(DType::c128);
inline constexpr TypeSet kString = TypeSet::one(DType::string);
inline constexpr TypeSet kInteger = kSigned | kUnsigned;
inline constexpr TypeSet kIndex = TypeSet::one(DType::i32) | TypeSet::one(DType::i64);
inline constexpr TypeSet kNumeric = kFloat | kInteger;
inline constexpr TypeSet kAny = kNumeric | kFloat8 | kSubByte | kBool | kComplex | kString;

}  // namespace tenon
