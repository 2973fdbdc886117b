// Attributes of nodes: small typed constants known when the graph is built.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/ir/type.h"

namespace tenon {

/// One attribute value. Integers of any width become int64, `bool` stays a bool.
class Attr {
 public:
  enum class Kind : std::uint8_t {
    boolean,
    integer,
    real,
    text,
    integers,
    reals,
    texts,
    dtype,
    tensor
  };
  using Integers = std::vector<std::int64_t>;
  using Reals = std::vector<double>;
  using Texts = std::vector<std::string>;

  Attr(bool v) : value_(v) {}                           // NOLINT: implicit
  Attr(int v) : value_(std::int64_t{v}) {}              // NOLINT: implicit
  Attr(std::int64_t v) : value_(v) {}                   // NOLINT: implicit
  Attr(double v) : value_(v) {}                         // NOLINT: implicit
  Attr(const char* v) : value_(std::string(v)) {}       // NOLINT: implicit
  Attr(std::string v) : value_(std::move(v)) {}         // NOLINT: implicit
  Attr(std::string_view v) : value_(std::string(v)) {}  // NOLINT: implicit
  Attr(Integers v) : value_(std::move(v)) {}            // NOLINT: implicit
  Attr(Reals v) : value_(std::move(v)) {}               // NOLINT: implicit
  Attr(Texts v) : value_(std::move(v)) {}               // NOLINT: implicit
  Attr(DType v) : value_(v) {}                          // NOLINT: implicit
  Attr(Tensor v) : value_(std::move(v)) {}              // NOLINT: implicit

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_);
  }
  /// Element-wise equality; tensors compare by dtype, dims and bytes.
  friend bool operator==(const Attr& a, const Attr& b);

 private:
  std::variant<bool, std::int64_t, double, std::string, Integers, Reals, Texts, DType, Tensor>
      value_;
};
std::string_view name(Attr::Kind kind);

/// Attributes by name, sorted; few, so a flat vector.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, Attr>> items) {
    for (const auto& [key, value] : items) set(key, value);
  }
  void set(std::string_view key, Attr value);
  void erase(std::string_view key);
  const Attr* find(std::string_view key) const;
  template <class T>
  const T* get(std::string_view key) const {
    const Attr* a = find(key);
    return a ? a->get<T>() : nullptr;
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::size_t size() const { return items_.size(); }
  friend bool operator==(const Attrs& a, const Attrs& b) = default;

 private:
  std::vector<std::pair<std::string, Attr>> items_;
};

/// Declares one attribute of an operator: `{"axis", -1}` has a default, `required("to", kind)` has
/// none.
struct AttrSpec {
  std::string name;
  Attr::Kind kind = Attr::Kind::integer;
  std::vector<Attr> fallback;  // one element, or none when the attribute is required or optional
  bool is_required = false;

  AttrSpec(std::string n, Attr value)
      : name(std::move(n)), kind(value.kind()), fallback{std::move(value)} {}
  static AttrSpec required(std::string n, Attr::Kind k) { return AttrSpec(std::move(n), k, true); }
  /// May be absent, and absence means something that no value says.
  static AttrSpec optional(std::string n, Attr::Kind k) { return AttrSpec(std::move(n), k, false); }

 private:
  AttrSpec(std::string n, Attr::Kind k, bool r) : name(std::move(n)), kind(k), is_required(r) {}
};

}  // namespace tenon
