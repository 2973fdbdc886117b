// Symbolic dimensions: integer expressions over named symbols, in one canonical form.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

/// What is known of a comparison before symbols have values.
enum class Truth : std::uint8_t { no, yes, undecided };

/// Values of symbols.
using Bindings = std::map<std::string, std::int64_t, std::less<>>;

/// A size: a constant, or a polynomial with integer coefficients over atoms. An atom is a symbol
/// (taken to be >= 0) or floor(a / b), max(a, b), min(a, b) of dims. Equal polynomials are equal
/// dims, so `2*N + N` is `3*N`. Cheap to copy: constants own nothing.
class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : constant_(value) {}  // NOLINT: implicit
  Dim(int value) : constant_(value) {}           // NOLINT: implicit
  static Dim symbol(std::string_view name);

  bool is_constant() const { return poly_ == nullptr; }
  /// The value of a constant dim.
  std::int64_t value() const {
    TENON_CHECK(is_constant(), "dim {} is not constant", text());
    return constant_;
  }
  std::optional<std::int64_t> known() const {
    return is_constant() ? std::optional(constant_) : std::nullopt;
  }
  /// The name, when this is a symbol and nothing else.
  std::optional<std::string> symbol_name() const;
  std::string text() const;
  /// The value under `bindings`; not_found names the first unbound symbol, invalid a division by
  /// zero.
  Result<std::int64_t> evaluate(const Bindings& bindings) const;
  /// The dim with symbols replaced.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& values) const;
  /// Names of all symbols, sorted, each once.
  std::vector<std::string> symbols() const;
  /// Parses what text() prints: + - *, div(a, b) (floor), max(), min(); also / (floor), % and
  /// parentheses.
  static Result<Dim> parse(std::string_view text);

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  Dim& operator+=(const Dim& b) { return *this = *this + b; }
  Dim& operator*=(const Dim& b) { return *this = *this * b; }

  // The canonical polynomial; only dim.cpp looks inside.
  struct Poly;

 private:
  friend struct DimAccess;
  std::int64_t constant_ = 0;
  std::shared_ptr<const Poly> poly_;
};

Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
/// a - b * floor(a / b).
Dim mod(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);

Truth same(const Dim& a, const Dim& b);
/// Whether a >= b, knowing that symbols are >= 0.
Truth at_least(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;
std::string to_text(const Shape& shape);
/// Product of the dims; 1 for a scalar.
Dim num_elements(const Shape& shape);
/// Concrete dims under `bindings`.
Result<std::vector<std::int64_t>> evaluate(const Shape& shape, const Bindings& bindings);
/// Concrete dims when every dim is constant.
std::optional<std::vector<std::int64_t>> constant_dims(const Shape& shape);
Shape to_shape(const std::vector<std::int64_t>& dims);

}  // namespace tenon
