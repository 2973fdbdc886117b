// Attribute defaults, known values and error texts of calls.
#include "tenon/ir/call.h"

#include <algorithm>

#include "tenon/ir/operator.h"

namespace tenon {
namespace {

constexpr std::int64_t kMaxContents = 1024;  // larger integer tensors are data, not shapes

Type type_of(const Datum& d) {
  if (d.is_tensor()) return Type::of(d.tensor());
  if (d.is_absent()) return Type();
  if (d.items().empty()) return Type::sequence(Type::unranked(DType::f32));
  return Type::sequence(type_of(d.items().front()));
}

std::vector<Dim> dims_of(const Tensor& t) {
  std::vector<Dim> out;
  for (std::int64_t v : to_int64s(t)) out.emplace_back(v);
  return out;
}

// Those of sequences and of tensors without known rank are a symbol of the call.
Dim bytes_of(const Call& c, const Type& type, const std::string& stem) {
  if (type.is_optional()) return bytes_of(c, type.element(), stem);
  return type.is_tensor() && type.ranked() ? type.bytes() : c.fresh_dim(stem);
}

bool is_shape_like(const Tensor& t) { return is_integer(t.dtype()) && t.count() <= kMaxContents; }

}  // namespace

Call::Call(const Node& node, const Datums& inputs) : node_(node), data_(&inputs) {
  for (const Datum& d : inputs) types_.push_back(type_of(d));
}

const Type& Call::in(int i) const {
  TENON_CHECK(has(i), "{} has no input {}", op().name, i);
  return data_ ? types_[static_cast<std::size_t>(i)] : node_.input(i)->type();
}

const Attr& Call::attr(std::string_view name) const {
  if (const Attr* a = node_.attrs().find(name)) return *a;
  const AttrSpec* spec = op().attr(name);
  TENON_CHECK(spec && !spec->fallback.empty(), "{} has no attribute {}", op().name, name);
  return spec->fallback.front();
}

std::int64_t Call::integer(std::string_view name) const { return *attr(name).get<std::int64_t>(); }
double Call::real(std::string_view name) const { return *attr(name).get<double>(); }
bool Call::flag(std::string_view name) const { return *attr(name).get<bool>(); }
const std::string& Call::text(std::string_view name) const {
  return *attr(name).get<std::string>();
}
DType Call::dtype(std::string_view name) const { return *attr(name).get<DType>(); }
const std::vector<std::int64_t>& Call::integers(std::string_view name) const {
  return *attr(name).get<Attr::Integers>();
}
const std::vector<double>& Call::reals(std::string_view name) const {
  return *attr(name).get<Attr::Reals>();
}
const std::vector<std::string>& Call::texts(std::string_view name) const {
  return *attr(name).get<Attr::Texts>();
}
const Tensor& Call::tensor(std::string_view name) const { return *attr(name).get<Tensor>(); }

std::optional<Tensor> Call::constant(int i) const {
  if (!has(i)) return std::nullopt;
  if (data_) {
    const Datum& d = (*data_)[static_cast<std::size_t>(i)];
    return d.is_tensor() ? std::optional(d.tensor()) : std::nullopt;
  }
  const Value* v = node_.input(i);
  if (v->is_constant()) return v->tensor();
  auto known = known_integers(i);
  if (!known) return std::nullopt;
  auto shape = constant_dims(v->type().shape());
  if (!shape) return std::nullopt;
  return from_int64s(*known, v->type().dtype(), *shape);
}

std::optional<std::vector<Dim>> Call::dims(int i) const {
  if (!has(i)) return std::nullopt;
  if (data_) {
    const Datum& d = (*data_)[static_cast<std::size_t>(i)];
    if (!d.is_tensor() || !is_shape_like(d.tensor())) return std::nullopt;
    return dims_of(d.tensor());
  }
  const Value* v = node_.input(i);
  if (v->contents()) return *v->contents();
  if (v->is_constant() && is_shape_like(v->tensor())) return dims_of(v->tensor());
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> Call::known_integers(int i) const {
  auto symbolic = dims(i);
  if (!symbolic) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Dim& d : *symbolic) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

Result<int> Call::axis(std::int64_t axis, int ndim) const {
  if (axis < -ndim || axis >= ndim)
    return invalid("{}: axis {} is outside of {} dims", op().name, axis, ndim);
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

Dim Call::fresh_dim(std::string_view stem) const {
  // Named after the node, so that inferring twice gives the same symbol.
  return Dim::symbol(fmt::format("{}_{}${}{}", op().name, stem,
                                 node_.graph() ? node_.graph()->symbol_scope() : "", node_.id()));
}

Dim Call::bytes_in() const {
  Dim total(0);
  for (int i = 0; i < num_inputs(); ++i)
    if (has(i)) total += bytes_of(*this, in(i), fmt::format("bytes_in{}", i));
  return total;
}

Dim Call::bytes_out() const {
  Dim total(0);
  for (int i = 0; i < num_outputs(); ++i)
    total += bytes_of(*this, out(i), fmt::format("bytes_out{}", i));
  return total;
}

void Call::assume(const Dim& left, const Dim& right, std::string_view what) const {
  if (!constraints_) return;
  constraints_->push_back({left, right, fmt::format("{}: {}", op().name, what), node_.place()});
}

Error expectation_failed(std::string_view what, std::initializer_list<Type> types) {
  std::string got;
  for (const Type& t : types) got += (got.empty() ? "" : ", ") + t.text();
  return got.empty() ? invalid("{} does not hold", what)
                     : invalid("{} does not hold for {}", what, got);
}

Error dims_differ(std::string_view what, const Dim& left, const Dim& right) {
  const auto at = what.find(" == ");
  if (at == std::string_view::npos)
    return invalid("{}: {} is not {}", what, left.text(), right.text());
  return invalid("{} is {} but {} is {}", what.substr(0, at), left.text(), what.substr(at + 4),
                 right.text());
}

}  // namespace tenon
