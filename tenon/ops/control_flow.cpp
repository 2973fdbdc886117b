// Types over all paths and iterations, and stacks of slices.
#include "tenon/ops/control_flow.h"

#include <algorithm>

namespace tenon::ops {
namespace {

// Beyond this depth of nesting an earlier answer is the starting point, so that the work does not
// double with every level.
constexpr std::ptrdiff_t kExactDepth = 4;

Type cover_tensors(const Call& c, const Type& a, const Type& b, const std::string& stem) {
  if (!a.ranked() || !b.ranked() || a.ndim() != b.ndim()) return Type::unranked(a.dtype());
  Type out = a;
  for (int i = 0; i < a.ndim(); ++i)
    if (!(a.dim(i) == b.dim(i))) out = out.with_dim(i, c.fresh_dim(fmt::format("{}_d{}", stem, i)));
  return out;
}

bool has_contents(const Value& v, const std::optional<std::vector<Dim>>& wanted) {
  if (!v.contents() || !wanted) return !v.contents() && !wanted;
  return *v.contents() == *wanted;
}

}  // namespace

Result<Type> cover(const Call& c, const Type& a, const Type& b, const std::string& stem) {
  if (a == b) return a;
  // What is there on one path and may be absent on the other may be absent.
  if (a.is_optional() && !b.is_optional())
    return Type::optional(TENON_TRY(cover(c, a.element(), b, stem)));
  if (b.is_optional() && !a.is_optional())
    return Type::optional(TENON_TRY(cover(c, a, b.element(), stem)));
  if (a.kind() != b.kind() || a.dtype() != b.dtype())
    return invalid("{} is {} on one path and {} on another", stem, a.text(), b.text());
  if (a.is_sequence()) return Type::sequence(TENON_TRY(cover(c, a.element(), b.element(), stem)));
  if (a.is_optional()) return Type::optional(TENON_TRY(cover(c, a.element(), b.element(), stem)));
  return cover_tensors(c, a, b, stem);
}

Status infer_region(const Call& c, int index, const Types& types, const std::vector<int>& handed) {
  Graph& region = *c.node().regions()[static_cast<std::size_t>(index)];
  if (region.inputs().size() != types.size())
    return invalid("region {} takes {} inputs but {} are handed in", region.name(),
                   region.inputs().size(), types.size());
  const std::string scope = fmt::format(
      "{}{}r{}$", c.node().graph() ? c.node().graph()->symbol_scope() : "", c.node().id(), index);
  bool same = region.symbol_scope() == scope;
  region.set_symbol_scope(scope);
  for (std::size_t i = 0; i < types.size(); ++i) {
    Value& v = *region.inputs()[i];
    auto contents = handed[i] >= 0 && c.has(handed[i]) && types[i].is_tensor() ? c.dims(handed[i])
                                                                               : std::nullopt;
    if (v.type() == types[i] && has_contents(v, contents)) continue;
    v.set_type(types[i]);
    v.set_contents(std::move(contents));
    same = false;
  }
  for (const Value* v : region.outputs()) same = same && v->type().defined();
  if (same) return {};
  return infer_all(region);
}

Result<Types> carried_types(const Call& c, const Types& before, const Types& initial,
                            const Types& after, const std::vector<int>& handed, int first_output) {
  const Graph& region = c.region(0);
  Types carried = initial;
  std::vector<int> numbers(before.size() + initial.size(), -1);
  numbers.insert(numbers.end(), handed.begin(), handed.end());
  const std::string& scope = region.symbol_scope();
  if (std::count(scope.begin(), scope.end(), '$') > kExactDepth &&
      region.inputs().size() == numbers.size())
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Type& known = region.inputs()[before.size() + i]->type();
      if (auto both = cover(c, carried[i], known, fmt::format("carried{}", i));
          both.ok() && *both == known)
        carried[i] = known;
    }
  if (region.outputs().size() < static_cast<std::size_t>(first_output) + carried.size())
    return invalid("region {} gives {} outputs but {} values are carried", region.name(),
                   region.outputs().size(), carried.size());
  while (true) {  // ends: a size changes once, to its own symbol; a rank once, to none
    Types all = before;
    all.insert(all.end(), carried.begin(), carried.end());
    all.insert(all.end(), after.begin(), after.end());
    TENON_TRY(infer_region(c, 0, all, numbers));
    Types next;
    for (std::size_t i = 0; i < carried.size(); ++i)
      next.push_back(TENON_TRY(
          cover(c, carried[i], region.outputs()[static_cast<std::size_t>(first_output) + i]->type(),
                fmt::format("carried{}", i))));
    if (next == carried) return carried;
    carried = std::move(next);
  }
}

Types input_types(const Call& c, int begin, int end) {
  Types types;
  for (int i = begin; i < end; ++i) types.push_back(c.has(i) ? c.in(i) : Type());
  return types;
}

std::vector<int> input_numbers(int begin, int end) {
  std::vector<int> numbers;
  for (int i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

Tensor slice_at(const Tensor& x, int axis, std::int64_t i) {
  Dims dims = x.dims(), strides = row_major_strides(dims);
  const std::int64_t offset = i * strides[static_cast<std::size_t>(axis)];
  dims.erase(dims.begin() + axis);
  strides.erase(strides.begin() + axis);
  return copy_strided(x, dims, strides, offset);
}

Result<Tensor> stack(const std::vector<Tensor>& parts, int axis, bool reversed, const Type& type) {
  const auto n = static_cast<std::int64_t>(parts.size());
  if (parts.empty()) {
    Dims dims;
    for (const Dim& d : type.shape()) dims.push_back(d.known().value_or(0));
    if (axis > static_cast<int>(dims.size()))
      return invalid("axis {} is outside of a stack of {}", axis, type.text());
    dims.insert(dims.begin() + axis, 0);
    return Tensor(type.dtype(), dims);
  }
  for (const Tensor& p : parts)
    if (p.dims() != parts[0].dims())
      return invalid("outputs of iterations differ in size, {} and {}, and cannot be stacked",
                     to_text(parts[0].dims()), to_text(p.dims()));
  Dims dims = parts[0].dims();
  if (axis > static_cast<int>(dims.size()))
    return invalid("axis {} is outside of a stack of {}", axis, to_text(dims));
  const std::int64_t inner = num_elements(Dims(dims.begin() + axis, dims.end())),
                     outer = num_elements(Dims(dims.begin(), dims.begin() + axis));
  dims.insert(dims.begin() + axis, n);
  Tensor out(parts[0].dtype(), dims);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < n; ++k)
      copy_run(parts[static_cast<std::size_t>(reversed ? n - 1 - k : k)], o * inner, out,
               (o * n + k) * inner, inner);
  return out;
}

Dim flops_of(const Graph& region) {
  Dim flops(0);
  for (const Node* n : region.nodes())
    if (n->op().cost) flops += n->op().cost(Call(*n)).flops;
  return flops;
}

}  // namespace tenon::ops
