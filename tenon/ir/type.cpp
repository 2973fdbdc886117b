// Text form, broadcasting and run-time acceptance of types.
#include "tenon/ir/type.h"

namespace tenon {
namespace {

std::size_t axis_index(int axis, std::size_t ndim) {
  const auto i = static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(ndim) : axis);
  TENON_CHECK(i < ndim, "axis {} of {} dims", axis, ndim);
  return i;
}

// Splits "a, b(c, d), e" at the commas outside parentheses.
std::vector<std::string_view> split_dims(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

std::optional<std::string_view> inside(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.back() != ')') return std::nullopt;
  return text.substr(prefix.size(), text.size() - prefix.size() - 1);
}

Verdict accepts_tensor(const Type& type, const Tensor& t, Bindings& bindings) {
  if (t.dtype() != type.dtype())
    return Verdict::no(
        fmt::format("element type is {} but {} is expected", name(t.dtype()), name(type.dtype())));
  if (!type.ranked()) return {};
  if (t.ndim() != type.ndim())
    return Verdict::no(
        fmt::format("shape is {} but {} is expected", to_text(t.dims()), to_text(type.shape())));
  for (int i = 0; i < t.ndim(); ++i) {
    const Dim& want = type.dim(i);
    if (auto symbol = want.symbol_name()) {
      auto [it, fresh] = bindings.try_emplace(*symbol, t.dim(i));
      if (!fresh && it->second != t.dim(i))
        return Verdict::no(fmt::format("dim {} of shape {} is {} but {} is {}", i,
                                       to_text(t.dims()), t.dim(i), *symbol, it->second));
      continue;
    }
    auto value = want.evaluate(bindings);
    if (value.ok() && *value != t.dim(i))
      return Verdict::no(
          fmt::format("shape is {} but {} is expected", to_text(t.dims()), to_text(type.shape())));
  }
  return {};
}

}  // namespace

// Set when a size was asked of a tensor without rank; inference (builder.cpp) looks at it and then
// answers without rank itself, so that a page which forgets the case is not wrong, only vague.
thread_local bool size_was_asked_without_rank = false;

const Dim& Type::dim(int axis) const {
  if (is_tensor() && !ranked_) {
    static const Dim unknown = Dim::symbol("?");
    size_was_asked_without_rank = true;
    return unknown;
  }
  return shape_[axis_index(axis, shape_.size())];
}

Type Type::with_dim(int axis, Dim size) const {
  Type t = *this;
  if (is_tensor() && !ranked_) {
    size_was_asked_without_rank = true;
    return t;
  }
  t.shape_[axis_index(axis, shape_.size())] = std::move(size);
  return t;
}

Type Type::with_dtype(DType dtype) const {
  Type t = *this;
  if (element_)
    t.element_ = std::make_shared<const Type>(element_->with_dtype(dtype));
  else
    t.dtype_ = dtype;
  return t;
}

Type Type::of_kind(Kind kind, Type element) {
  Type t;
  t.kind_ = kind;
  t.element_ = std::make_shared<const Type>(std::move(element));
  return t;
}

std::string Type::text() const {
  switch (kind_) {
    case Kind::undefined: return "undefined";
    case Kind::sequence: return "seq(" + element_->text() + ")";
    case Kind::optional: return "optional(" + element_->text() + ")";
    case Kind::tensor: break;
  }
  return std::string(name(dtype_)) + (ranked_ ? to_text(shape_) : "[...]");
}

Result<Type> Type::parse(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.size() > 4096) return invalid("type text of {} characters is too long", text.size());
  if (text == "undefined") return Type();
  if (text.empty()) return invalid("type text is empty");
  if (auto body = inside(text, "seq(")) return Type::sequence(TENON_TRY(parse(*body)));
  if (auto body = inside(text, "optional(")) return Type::optional(TENON_TRY(parse(*body)));
  const auto open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']')
    return invalid("type '{}' is not 'dtype[dims]'", text);
  auto dtype = dtype_named(text.substr(0, open));
  if (!dtype) return invalid("type '{}' names no element type", text);
  const std::string_view dims = text.substr(open + 1, text.size() - open - 2);
  if (dims == "...") return Type::unranked(*dtype);
  Shape shape;
  if (!dims.empty())
    for (std::string_view part : split_dims(dims)) shape.push_back(TENON_TRY(Dim::parse(part)));
  return Type(*dtype, std::move(shape));
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind_ != b.kind_ || a.dtype_ != b.dtype_ || a.ranked_ != b.ranked_ || a.shape_ != b.shape_)
    return false;
  return (a.element_ == nullptr) == (b.element_ == nullptr) &&
         (!a.element_ || *a.element_ == *b.element_);
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const std::size_t n = std::max(a.size(), b.size());
  Shape out(n);
  for (std::size_t i = 0; i < n; ++i) {  // i counts axes from the end
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& z = out[n - 1 - i];
    if (x == Dim(1))
      z = y;
    else if (y == Dim(1) || x == y)
      z = x;
    else if (x.is_constant() && y.is_constant())
      return invalid("shapes {} and {} do not broadcast: {} against {} on axis -{}", to_text(a),
                     to_text(b), x.text(), y.text(), i + 1);
    else
      z = x.is_constant()   ? x
          : y.is_constant() ? y
                            : max(x, y);  // unequal symbols: one of them is 1, or they agree
  }
  return out;
}

Verdict accepts(const Type& type, const Datum& value, Bindings& bindings) {
  switch (type.kind()) {
    case Type::Kind::undefined: return {};
    case Type::Kind::optional:
      return value.is_absent() ? Verdict{} : accepts(type.element(), value, bindings);
    case Type::Kind::sequence:
      if (!value.is_sequence()) return Verdict::no("a sequence is expected");
      for (const Datum& item : value.items()) {
        Bindings local = bindings;  // items may differ in size
        if (Verdict v = accepts(type.element(), item, local); !v) return v;
      }
      return {};
    case Type::Kind::tensor: break;
  }
  if (!value.is_tensor()) return Verdict::no("a tensor is expected");
  return accepts_tensor(type, value.tensor(), bindings);
}

std::string TypeSet::text() const {
  std::string out;
  for (int i = 1; i < kNumDTypes; ++i)
    if (has(static_cast<DType>(i)))
      out += (out.empty() ? "" : ", ") + std::string(name(static_cast<DType>(i)));
  return out;
}

}  // namespace tenon
