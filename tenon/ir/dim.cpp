// Canonical polynomials over interned atoms.
#include "tenon/ir/dim.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <deque>
#include <mutex>
#include <numeric>
#include <set>
#include <unordered_map>

namespace tenon {

// A product of atoms, as sorted ids; {3, 3} is atom 3 squared. The empty monomial is the constant.
using Monomial = std::vector<int>;

struct Dim::Poly {
  std::map<Monomial, std::int64_t> terms;  // no zero coefficients
};

struct DimAccess {
  static std::map<Monomial, std::int64_t> terms(const Dim& d) {
    if (d.poly_) return d.poly_->terms;
    if (d.constant_ == 0) return {};
    return {{Monomial{}, d.constant_}};
  }
  static Dim make(std::map<Monomial, std::int64_t> terms) {
    std::erase_if(terms, [](const auto& t) { return t.second == 0; });
    if (terms.empty()) return Dim(0);
    if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
    Dim d;
    d.poly_ = std::make_shared<const Dim::Poly>(Dim::Poly{std::move(terms)});
    return d;
  }
  static const Dim::Poly* poly(const Dim& d) { return d.poly_.get(); }
};

namespace {

enum class AtomKind : std::uint8_t { symbol, floor_div, max, min };
struct Atom {
  AtomKind kind;
  std::string name;  // of a symbol
  Dim a, b;
};

// Atoms live as long as the process: there are few, and ids in monomials stay valid.
class AtomTable {
 public:
  static AtomTable& instance() {
    static AtomTable table;
    return table;
  }
  int intern(Atom atom) {
    std::string key =
        atom.kind == AtomKind::symbol
            ? atom.name
            : fmt::format("{}({},{})", static_cast<int>(atom.kind), atom.a.text(), atom.b.text());
    const std::lock_guard lock(mutex_);
    auto [it, fresh] = ids_.try_emplace(std::move(key), static_cast<int>(atoms_.size()));
    if (fresh) atoms_.push_back(std::move(atom));
    return it->second;
  }
  const Atom& operator[](int id) {
    const std::lock_guard lock(mutex_);
    return atoms_[static_cast<std::size_t>(id)];  // deque: references survive growth
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, int> ids_;
  std::deque<Atom> atoms_;
};

Dim atom_dim(Atom atom) {
  return DimAccess::make({{Monomial{AtomTable::instance().intern(std::move(atom))}, 1}});
}
const Atom& atom(int id) { return AtomTable::instance()[id]; }

std::string atom_text(int id) {
  const Atom& a = atom(id);
  switch (a.kind) {
    case AtomKind::symbol: return a.name;
    case AtomKind::floor_div: return fmt::format("div({}, {})", a.a.text(), a.b.text());
    case AtomKind::max: return fmt::format("max({}, {})", a.a.text(), a.b.text());
    case AtomKind::min: return fmt::format("min({}, {})", a.a.text(), a.b.text());
  }
  return {};
}

std::string monomial_text(const Monomial& m) {
  std::string text;
  for (int id : m) text += (text.empty() ? "" : "*") + atom_text(id);
  return text;
}

std::int64_t floor_div_int(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

// The quotient of monomials, if `by` divides `m`.
std::optional<Monomial> divide(const Monomial& m, const Monomial& by) {
  Monomial rest = m;
  for (int id : by) {
    auto it = std::find(rest.begin(), rest.end(), id);
    if (it == rest.end()) return std::nullopt;
    rest.erase(it);
  }
  return rest;
}

// floor((q*b + r) / b) = q + floor(r / b) for a single-term b: split off what divides exactly.
struct Split {
  std::map<Monomial, std::int64_t> quotient, rest;
};
Split split_by(const Dim& a, const Monomial& by, std::int64_t coefficient) {
  Split s;
  for (const auto& [m, c] : DimAccess::terms(a)) {
    auto q = divide(m, by);
    if (!q) {
      s.rest[m] += c;
      continue;
    }
    const std::int64_t whole = floor_div_int(c, coefficient);
    s.quotient[*q] += whole;
    s.rest[m] += c - whole * coefficient;
  }
  return s;
}

// Whether 0 <= r < b is certain when r and b are constants, or r is 0.
bool is_zero(const Dim& d) { return d.is_constant() && d.value() == 0; }

// Shared by max and min.
Dim extreme(AtomKind kind, const Dim& a, const Dim& b) {
  if (a == b) return a;
  const bool wants_max = kind == AtomKind::max;
  if (at_least(a, b) == Truth::yes) return wants_max ? a : b;
  if (at_least(b, a) == Truth::yes) return wants_max ? b : a;
  return a.text() < b.text() ? atom_dim({kind, {}, a, b}) : atom_dim({kind, {}, b, a});
}

Result<std::int64_t> evaluate_atom(int id, const Bindings& bindings) {
  const Atom& a = atom(id);
  if (a.kind == AtomKind::symbol) {
    auto it = bindings.find(a.name);
    if (it == bindings.end()) return not_found("dim {} has no value", a.name);
    return it->second;
  }
  const std::int64_t x = TENON_TRY(a.a.evaluate(bindings)), y = TENON_TRY(a.b.evaluate(bindings));
  if (a.kind == AtomKind::max) return std::max(x, y);
  if (a.kind == AtomKind::min) return std::min(x, y);
  if (y == 0) return invalid("dim {} divides by zero", atom_text(id));
  return floor_div_int(x, y);
}

void collect_symbols(const Dim& d, std::set<std::string>& out) {
  if (d.is_constant()) return;
  for (const auto& [m, c] : DimAccess::terms(d))
    for (int id : m) {
      const Atom& a = atom(id);
      if (a.kind == AtomKind::symbol) {
        out.insert(a.name);
        continue;
      }
      collect_symbols(a.a, out);
      collect_symbols(a.b, out);
    }
}

// Recursive descent over + - * / % and max(), min(); depth is bounded against hostile text.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Result<Dim> run() {
    Dim d = TENON_TRY(sum());
    skip();
    if (at_ != text_.size())
      return invalid("dim '{}' has '{}' where it should end", text_, text_.substr(at_));
    return d;
  }

 private:
  static constexpr int kMaxDepth = 64;
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ < text_.size() && text_[at_] == c) return ++at_, true;
    return false;
  }
  Result<Dim> sum() {
    if (++depth_ > kMaxDepth) return invalid("dim text is nested deeper than {}", kMaxDepth);
    Dim d = TENON_TRY(product());
    while (true) {
      if (take('+'))
        d = d + TENON_TRY(product());
      else if (take('-'))
        d = d - TENON_TRY(product());
      else
        break;
    }
    --depth_;
    return d;
  }
  Result<Dim> product() {
    Dim d = TENON_TRY(factor());
    while (true) {
      if (take('*')) {
        d = d * TENON_TRY(factor());
        continue;
      }
      const bool divides = take('/');
      if (!divides && !take('%')) return d;
      const Dim by = TENON_TRY(factor());
      if (is_zero(by)) return invalid("dim '{}' divides by zero", text_);
      d = divides ? floor_div(d, by) : mod(d, by);
    }
  }
  Result<Dim> factor() {
    if (take('(')) {
      Dim d = TENON_TRY(sum());
      if (!take(')')) return invalid("dim '{}' lacks a ')'", text_);
      return d;
    }
    if (take('-')) return Dim(0) - TENON_TRY(factor());
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) return invalid("dim '{}' has no name or number at {}", text_, start);
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return number(word);
    if (word == "max" || word == "min" || word == "div") return function_call(word);
    return Dim::symbol(word);
  }
  static bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' ||
           c == '?';
  }
  Result<Dim> number(std::string_view word) {
    std::int64_t v = 0;
    auto [p, ec] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (ec != std::errc{} || p != word.data() + word.size())
      return invalid("dim '{}' holds the bad number '{}'", text_, word);
    return Dim(v);
  }
  Result<Dim> function_call(std::string_view word) {
    if (!take('(')) return invalid("dim '{}' lacks a '(' after {}", text_, word);
    const Dim a = TENON_TRY(sum());
    if (!take(',')) return invalid("dim '{}' lacks a ',' in {}", text_, word);
    const Dim b = TENON_TRY(sum());
    if (!take(')')) return invalid("dim '{}' lacks a ')'", text_);
    if (word == "div" && is_zero(b)) return invalid("dim '{}' divides by zero", text_);
    return word == "max" ? max(a, b) : word == "min" ? min(a, b) : floor_div(a, b);
  }
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim Dim::symbol(std::string_view name) {
  return atom_dim({AtomKind::symbol, std::string(name), {}, {}});
}

std::optional<std::string> Dim::symbol_name() const {
  if (!poly_ || poly_->terms.size() != 1) return std::nullopt;
  const auto& [m, c] = *poly_->terms.begin();
  if (c != 1 || m.size() != 1 || atom(m[0]).kind != AtomKind::symbol) return std::nullopt;
  return atom(m[0]).name;
}

std::string Dim::text() const {
  if (!poly_) return std::to_string(constant_);
  // By name, not by id: ids depend on what the process interned before.
  std::vector<std::pair<std::string, std::int64_t>> parts;
  std::int64_t constant = 0;
  for (const auto& [m, c] : poly_->terms)
    if (m.empty())
      constant = c;
    else
      parts.emplace_back(monomial_text(m), c);
  std::sort(parts.begin(), parts.end());
  std::string out;
  for (const auto& [name, c] : parts) {
    const std::int64_t size = c < 0 ? -c : c;
    if (out.empty())
      out += c < 0 ? "-" : "";
    else
      out += c < 0 ? " - " : " + ";
    out += size == 1 ? name : fmt::format("{}*{}", size, name);
  }
  if (constant)
    out += fmt::format(" {} {}", constant < 0 ? '-' : '+', constant < 0 ? -constant : constant);
  return out;
}

Result<std::int64_t> Dim::evaluate(const Bindings& bindings) const {
  if (!poly_) return constant_;
  std::int64_t total = 0;
  for (const auto& [m, c] : poly_->terms) {
    std::int64_t product = c;
    for (int id : m)
      if (__builtin_mul_overflow(product, TENON_TRY(evaluate_atom(id, bindings)), &product))
        return invalid("dim {} overflows 64 bits", text());
    if (__builtin_add_overflow(total, product, &total))
      return invalid("dim {} overflows 64 bits", text());
  }
  return total;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& values) const {
  if (!poly_) return *this;
  Dim total(0);
  for (const auto& [m, c] : poly_->terms) {
    Dim product(c);
    for (int id : m) {
      const Atom& a = atom(id);
      if (a.kind == AtomKind::symbol) {
        auto it = values.find(a.name);
        product *= it == values.end() ? Dim::symbol(a.name) : it->second;
        continue;
      }
      const Dim x = a.a.substitute(values), y = a.b.substitute(values);
      product *= a.kind == AtomKind::max   ? max(x, y)
                 : a.kind == AtomKind::min ? min(x, y)
                                           : floor_div(x, y);
    }
    total += product;
  }
  return total;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

Result<Dim> Dim::parse(std::string_view text) { return Parser(text).run(); }

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(a.constant_ + b.constant_);
  auto terms = DimAccess::terms(a);
  for (const auto& [m, c] : DimAccess::terms(b)) terms[m] += c;
  return DimAccess::make(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(a.constant_ - b.constant_);
  auto terms = DimAccess::terms(a);
  for (const auto& [m, c] : DimAccess::terms(b)) terms[m] -= c;
  return DimAccess::make(std::move(terms));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(a.constant_ * b.constant_);
  std::map<Monomial, std::int64_t> terms;
  for (const auto& [ma, ca] : DimAccess::terms(a))
    for (const auto& [mb, cb] : DimAccess::terms(b)) {
      Monomial m = ma;
      m.insert(m.end(), mb.begin(), mb.end());
      std::sort(m.begin(), m.end());
      terms[std::move(m)] += ca * cb;
    }
  return DimAccess::make(std::move(terms));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant())
    return a.is_constant() && b.is_constant() && a.constant_ == b.constant_;
  return a.poly_ == b.poly_ || a.poly_->terms == b.poly_->terms;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (a == b && !is_zero(b)) return Dim(1);
  if (a.is_constant() && b.is_constant() && b.value() != 0)
    return Dim(floor_div_int(a.value(), b.value()));
  if (is_zero(a) && !is_zero(b)) return Dim(0);
  const auto divisor = DimAccess::terms(b);
  if (divisor.size() == 1 && divisor.begin()->second > 0) {
    Split s = split_by(a, divisor.begin()->first, divisor.begin()->second);
    const Dim quotient = DimAccess::make(std::move(s.quotient)),
              rest = DimAccess::make(std::move(s.rest));
    if (is_zero(rest)) return quotient;
    if (rest.is_constant() && b.is_constant())
      return quotient + Dim(floor_div_int(rest.value(), b.value()));
    return quotient + atom_dim({AtomKind::floor_div, {}, rest, b});
  }
  return atom_dim({AtomKind::floor_div, {}, a, b});
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - Dim(1), b); }
Dim mod(const Dim& a, const Dim& b) { return a - b * floor_div(a, b); }
Dim max(const Dim& a, const Dim& b) { return extreme(AtomKind::max, a, b); }
Dim min(const Dim& a, const Dim& b) { return extreme(AtomKind::min, a, b); }

Truth same(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.is_constant()) return difference.value() == 0 ? Truth::yes : Truth::no;
  if (at_least(difference, 1) == Truth::yes || at_least(Dim(0) - difference, 1) == Truth::yes)
    return Truth::no;
  return Truth::undecided;
}

Truth at_least(const Dim& a, const Dim& b) {
  bool all_plus = true, all_minus = true;
  std::int64_t constant = 0;
  for (const auto& [m, c] : DimAccess::terms(a - b)) {
    if (m.empty()) {
      constant = c;
      continue;
    }
    for (int id : m)  // only products of symbols are known to be >= 0
      if (atom(id).kind != AtomKind::symbol) return Truth::undecided;
    (c > 0 ? all_minus : all_plus) = false;
  }
  if (all_plus && constant >= 0) return Truth::yes;
  if (all_minus && constant < 0) return Truth::no;
  return Truth::undecided;
}

std::string to_text(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + shape[i].text();
  return out + "]";
}

Dim num_elements(const Shape& shape) {
  Dim n(1);
  for (const Dim& d : shape) n *= d;
  return n;
}

Result<std::vector<std::int64_t>> evaluate(const Shape& shape, const Bindings& bindings) {
  std::vector<std::int64_t> dims;
  dims.reserve(shape.size());
  for (const Dim& d : shape) dims.push_back(TENON_TRY(d.evaluate(bindings)));
  return dims;
}

std::optional<std::vector<std::int64_t>> constant_dims(const Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const Dim& d : shape) {
    if (!d.is_constant()) return std::nullopt;
    dims.push_back(d.value());
  }
  return dims;
}

Shape to_shape(const std::vector<std::int64_t>& dims) { return Shape(dims.begin(), dims.end()); }

}  // namespace tenon
