// Granularity, centring and saturation.
#include "tenon/ops/quantization.h"

#include <algorithm>

namespace tenon::ops {
namespace {

struct Range {
  double low, high;
};
Range range_of(DType t) {
  const int bits = bits_of(t);
  const bool is_signed = class_of(t) == DTypeClass::signed_integer;
  return {is_signed ? -std::ldexp(1.0, bits - 1) : 0.0,
          std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1};
}

bool is_per_tensor(const Type& p) { return p.ndim() == 0 || (p.ndim() == 1 && p.dim(0) == Dim(1)); }

// A vector has no axis 1: its only axis is meant.
Result<int> axis_of(const Call& c) {
  return c.axis(c.in(0).ndim() == 1 && c.integer("axis") == 1 ? 0 : c.integer("axis"),
                c.in(0).ndim());
}

}  // namespace

std::vector<AttrSpec> quantization_attrs() { return {{"axis", 1}, {"block_size", 0}}; }

Result<bool> check_granularity(const Call& c) {
  const Type &x = c.in(0), &scale = c.in(1);
  if (!x.ranked() || !scale.ranked()) return true;
  if (c.has(2) && c.in(2).ranked() && !(is_per_tensor(scale) && is_per_tensor(c.in(2)))) {
    TENON_EXPECT(c.in(2).ndim() == scale.ndim(), "zero_point has the shape of scale", scale,
                 c.in(2));
    for (int i = 0; i < scale.ndim(); ++i)
      TENON_EXPECT_SAME(c.in(2).dim(i), scale.dim(i), "zero_point.size == scale.size");
  }
  if (is_per_tensor(scale)) return true;
  const int axis = TENON_TRY(axis_of(c));
  const std::int64_t block = c.integer("block_size");
  if (block < 0) return invalid("block_size is not negative but {} is given", block);
  if (block == 0) {
    TENON_EXPECT(scale.ndim() == 1,
                 "scale is a scalar or has one element for each position of the axis", x, scale);
    TENON_EXPECT_SAME(scale.dim(0), x.dim(axis), "scale.size == x.size along axis");
    return true;
  }
  TENON_EXPECT(scale.ndim() == x.ndim(), "a scale of blocks has x's rank", x, scale);
  for (int i = 0; i < x.ndim(); ++i)
    TENON_EXPECT_SAME(scale.dim(i), i == axis ? ceil_div(x.dim(i), Dim(block)) : x.dim(i),
                      "scale.size == x.size in blocks");
  return true;
}

Value* spread_parameter(B g, const Call& c, Value* p) {
  if (!p) return nullptr;
  if (is_per_tensor(p->type())) return p->type().ndim() == 0 ? p : g.reshape(p, g.ints({}));
  const int axis = *axis_of(c), ndim = c.in(0).ndim();
  if (const std::int64_t block = c.integer("block_size"); block > 0) {
    Value* position = counting(g, c.in(0).dim(axis), c.value(0));
    return g.gather(p, g.div(position, g.number(static_cast<double>(block), DType::i64)),
                    Attrs{{"axis", axis}});
  }
  const auto behind = axes_from(1, ndim - axis);
  return behind.empty() ? p : g.unsqueeze(p, g.ints(behind));
}

Result<Factors> sharding_quantization(const Call& c) {
  std::vector<std::string> x, parameter;
  const int ndim = c.in(0).ndim();
  for (int i = 0; i < ndim; ++i) x.push_back(fmt::format("d{}", i));
  if (!is_per_tensor(c.in(1))) {
    const int axis = TENON_TRY(axis_of(c));
    if (c.integer("block_size") > 0) {
      parameter = x;
      x[static_cast<std::size_t>(axis)] = parameter[static_cast<std::size_t>(axis)] = "";
    } else {
      parameter = {x[static_cast<std::size_t>(axis)]};
    }
  }
  Factors f;
  f.inputs = {x, parameter};
  if (c.num_inputs() > 2) f.inputs.push_back(c.has(2) ? parameter : std::vector<std::string>{});
  if (is_per_tensor(
          c.in(1)))  // a scale of no axes or of one may meet a zero point of the other kind
    for (int i = 1; i < c.num_inputs(); ++i)
      f.inputs[static_cast<std::size_t>(i)].assign(
          c.has(i) ? static_cast<std::size_t>(c.in(i).ndim()) : 0, "");
  f.outputs = {x};
  return f;
}

Value* to_quantized(B g, Value* x, Value* zero, DType to, bool saturate) {
  if (is_floating(to)) {
    if (to == DType::f4e2m1 && zero) x = g.add(x, g.cast_to(zero, x->type().dtype()));
    return g.cast(x, Attrs{{"to", to}, {"saturate", saturate}});
  }
  const DType wide = wide_float(x->type().dtype());
  const Range range = range_of(to);
  Value* y = g.cast_to(g.round(x), wide);  // a sum with a 16-bit zero point needs more than 11 bits
  if (zero) y = g.add(y, g.cast_to(zero, wide));
  return g.cast_to(g.clip(y, g.number(range.low, wide), g.number(range.high, wide)), to);
}

Value* centred(B g, Value* x, Value* zero) {
  const DType wide = is_floating(x->type().dtype()) ? DType::f32 : DType::i32;
  Value* y = g.cast_to(x, wide);
  return zero ? g.sub(y, g.cast_to(zero, wide)) : y;
}

Value* row_parameter(B g, Value* p) {
  if (!p || p->type().ndim() != 1 || p->type().dim(0) == Dim(1)) return p;
  return g.unsqueeze(p, g.ints({1}));
}

Value* channel_parameter(B g, Value* p, int ndim, int axis) {
  if (!p || p->type().ndim() == 0) return p;
  if (p->type().dim(0) == Dim(1)) return g.reshape(p, g.ints({}));
  const auto behind = axes_from(1, ndim - axis);
  return behind.empty() ? p : g.unsqueeze(p, g.ints(behind));
}

}  // namespace tenon::ops
