// Axes, shapes and sharding of reductions.
#include "tenon/ops/reductions.h"

#include <algorithm>

namespace tenon::ops {

Result<std::optional<std::vector<int>>> reduced_axes(const Call& c) {
  const int ndim = c.in(0).ndim();
  std::vector<int> axes;
  const bool has_axes = c.has(1);
  auto known = has_axes ? c.known_integers(1) : std::optional(std::vector<std::int64_t>{});
  if (!known) return std::optional<std::vector<int>>();
  for (std::int64_t a : *known) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  std::sort(axes.begin(), axes.end());
  TENON_EXPECT(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "every axis is named once", c.in(0));
  if (axes.empty() && !c.flag("noop_with_empty_axes"))
    for (int i = 0; i < ndim; ++i) axes.push_back(i);
  return std::optional(axes);
}

Result<Types> infer_reduction(const Call& c) {
  const Type& x = c.in(0);
  const bool keep = c.flag("keepdims");
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  auto axes = TENON_TRY(reduced_axes(c));
  if (!axes) {
    if (!keep) return Types{Type::unranked(x.dtype())};
    Shape unknown;
    for (int i = 0; i < x.ndim(); ++i) unknown.push_back(c.fresh_dim(fmt::format("d{}", i)));
    return Types{Type(x.dtype(), std::move(unknown))};
  }
  Shape out;
  for (int i = 0; i < x.ndim(); ++i) {
    if (!std::binary_search(axes->begin(), axes->end(), i)) out.push_back(x.dim(i));
    else if (keep) out.push_back(Dim(1));
  }
  return Types{Type(x.dtype(), std::move(out))};
}

Value* with_reduced_axes(B g, const Call& c, Value* y) {
  if (c.flag("keepdims") || !y) return y;
  auto axes = reduced_axes(c);
  if (!axes.ok() || !*axes) {
    g.builder().fail(unsupported("{}: the gradient needs axes that are known", c.op().name));
    return y;
  }
  std::vector<std::int64_t> wide_axes((*axes)->begin(), (*axes)->end());
  return wide_axes.empty() ? y : g.unsqueeze(y, g.ints(wide_axes));
}

Result<Factors> sharding_reduction(const Call& c, std::string_view how) {
  Factors f;
  auto axes = TENON_TRY(reduced_axes(c));
  std::vector<std::string> in, out;
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    const std::string name = fmt::format("d{}", i);
    const bool folded = !axes || std::binary_search(axes->begin(), axes->end(), i);
    in.push_back(folded && how.empty() ? "" : name);
    if (!folded) out.push_back(name);
    else if (c.flag("keepdims")) out.emplace_back("");
    if (folded && !how.empty()) f.reductions.emplace(name, how);
  }
  f.inputs = {in};
  if (c.num_inputs() > 1) f.inputs.emplace_back(c.has(1) ? 1 : 0, "");
  f.outputs = {out};
  return f;
}

Cost cost_reduction(const Call& c) { return {c.in(0).count(), c.bytes_in(), c.bytes_out()}; }

std::vector<InputSpec> reduction_inputs(TypeSet types) { return {{"x", types}, maybe("axes", kIndex, "I")}; }
std::vector<AttrSpec> reduction_attrs() { return {{"keepdims", true}, {"noop_with_empty_axes", false}}; }

}  // namespace tenon::ops
