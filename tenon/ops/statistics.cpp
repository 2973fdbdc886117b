// Small compositions that normalisations, losses and attention are made of.
#include "tenon/ops/statistics.h"

#include <algorithm>
#include <numeric>

namespace tenon::ops {

std::vector<std::int64_t> axes_from(int from, int ndim) {
  std::vector<std::int64_t> axes;
  for (int i = from; i < ndim; ++i) axes.push_back(i);
  return axes;
}

Value* size_along(B g, Value* x, int axis, DType dtype) {
  if (auto n = x->type().dim(axis).known()) return g.number(static_cast<double>(*n), dtype);
  Value* size = g.shape(x, Attrs{{"start", axis}, {"end", axis + 1}});
  return g.cast_to(g.reshape(size, g.ints({})), dtype);
}

Value* count_along(B g, Value* x, const std::vector<std::int64_t>& axes) {
  const DType dtype = x->type().dtype();
  double known = 1;
  Value* rest = nullptr;
  for (std::int64_t a : axes) {
    if (auto n = x->type().dim(static_cast<int>(a)).known()) {
      known *= static_cast<double>(*n);
      continue;
    }
    Value* size = size_along(g, x, static_cast<int>(a), dtype);
    rest = rest ? g.mul(rest, size) : size;
  }
  if (!rest) return g.number(known, dtype);
  return known == 1 ? rest : g.mul(rest, g.number(known, dtype));
}

Value* counting(B g, const Dim& size, Value* source, DType dtype) {
  if (auto n = size.known()) {
    std::vector<std::int64_t> v(static_cast<std::size_t>(*n));
    std::iota(v.begin(), v.end(), 0);
    return g.constant(from_int64s(v, dtype, {*n}));
  }
  Value* dims = g.dims_value({size}, source);
  Value* line =
      g.range(g.number(0, DType::i64), g.reshape(dims, g.ints({})), g.number(1, DType::i64));
  return g.cast_to(g.reshape(line, dims), dtype);  // the size itself, not max(0, size)
}

Value* positions_along(B g, Value* x, int axis, DType dtype) {
  Value* line = counting(g, x->type().dim(axis), x, dtype);
  const auto behind = axes_from(1, x->type().ndim() - axis);
  return behind.empty() ? line : g.unsqueeze(line, g.ints(behind));
}

Value* per_channel(B g, Value* p, int ndim) {
  const auto behind = axes_from(1, ndim - 1);
  return behind.empty() ? p : g.unsqueeze(p, g.ints(behind));
}

Value* part_of(B g, Value* x, int axis, std::int64_t from, std::int64_t to) {
  return g.slice(x, g.ints({from}), g.ints({to}), g.ints({axis}));
}

Standardised standardise(B g, Value* x, const std::vector<std::int64_t>& axes, double epsilon) {
  Value* over = g.ints(axes);
  Value* mean = g.reduce_mean(x, over);
  Value* d = g.sub(x, mean);
  Value* variance = g.reduce_mean(g.mul(d, d), over);
  Value* inv_std = g.rsqrt(g.add(variance, g.number(epsilon, x)));
  return {g.mul(d, inv_std), mean, inv_std};
}

Value* standardise_adjoint(B g, Value* dn, Value* n, Value* inv_std,
                           const std::vector<std::int64_t>& axes) {
  Value* over = g.ints(axes);
  Value* along = g.mul(n, g.reduce_mean(g.mul(dn, n), over));
  return g.mul(inv_std, g.sub(g.sub(dn, g.reduce_mean(dn, over)), along));
}

Value* absolute_power(B g, Value* x, double p) {
  if (p == 1) return g.abs(x);
  if (p == 2) return g.mul(x, x);
  return g.pow(g.abs(x), g.number(p, x));
}

Value* root(B g, Value* s, double p) {
  if (p == 1) return s;
  Value *zero = g.number(0, s), *is_zero = g.equal(s, zero);
  Value* safe = g.where(is_zero, g.number(1, s), s);
  return g.where(is_zero, zero, p == 2 ? g.sqrt(safe) : g.pow(safe, g.number(1 / p, s)));
}

Result<Factors> sharding_except(const Call& c, const std::vector<std::int64_t>& whole) {
  const int ndim = c.in(0).ndim();
  const auto names = [&](const Type& t) {
    std::vector<std::string> out;
    for (int i = 0; i < t.ndim(); ++i) {
      const int axis = i + ndim - t.ndim();
      const bool stays = std::find(whole.begin(), whole.end(), axis) != whole.end() ||
                         (t.dim(i) == Dim(1) && !(c.in(0).dim(axis) == Dim(1)));
      out.push_back(stays ? "" : fmt::format("d{}", axis));
    }
    return out;
  };
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i)
    f.inputs.push_back(c.has(i) ? names(c.in(i)) : std::vector<std::string>{});
  for (int i = 0; i < c.num_outputs(); ++i) f.outputs.push_back(names(c.out(i)));
  return f;
}

}  // namespace tenon::ops
