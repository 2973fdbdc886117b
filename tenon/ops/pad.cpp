// pad(x, pads, value, axes; mode): x with a margin; negative margins cut off.
#include <algorithm>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// The axes that pads speak of; nullopt when they are computed.
Result<std::optional<std::vector<int>>> padded_axes(const Call& c, int ndim) {
  std::vector<int> axes;
  if (!c.has(3)) {
    for (int i = 0; i < ndim; ++i) axes.push_back(i);
    return std::optional(axes);
  }
  auto known = c.known_integers(3);
  if (!known) return std::optional<std::vector<int>>();
  for (std::int64_t a : *known) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  return std::optional(axes);
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  const std::string& mode = c.text("mode");
  TENON_EXPECT(mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap",
               "mode is constant, edge, reflect or wrap");
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  auto axes = TENON_TRY(padded_axes(c, x.ndim()));
  auto pads = c.dims(1);
  if (!axes || (!pads && !c.has(3))) return Types{x.with_shape(unknown_shape(c, x.ndim()))};
  const std::size_t n = axes->size();
  if (auto length = known_length(c, 1))
    TENON_EXPECT(*length == static_cast<std::int64_t>(2 * n), "pads has two numbers for each axis",
                 x, c.in(1));
  Type out = x;
  for (std::size_t i = 0; i < n; ++i) {
    const int a = (*axes)[i];
    out = out.with_dim(
        a, pads ? x.dim(a) + (*pads)[i] + (*pads)[i + n] : c.fresh_dim(fmt::format("d{}", a)));
    TENON_EXPECT(at_least(out.dim(a), 0) != Truth::no,
                 "a negative margin cuts no more than there is", x);
  }
  return Types{out};
}

// The position that output position 0, 1, ... of one axis reads; -1 is the fill value.
std::vector<std::int64_t> positions(std::int64_t size, std::int64_t begin, std::int64_t end,
                                    const std::string& mode) {
  std::vector<std::int64_t> from;
  const std::int64_t period = mode == "wrap" ? size : std::max<std::int64_t>(1, 2 * (size - 1));
  for (std::int64_t p = -begin; p < size + end; ++p) {
    if (p >= 0 && p < size) {
      from.push_back(p);
      continue;
    }
    if (mode == "constant" || size == 0) {
      from.push_back(-1);
      continue;
    }
    if (mode == "edge") {
      from.push_back(std::clamp<std::int64_t>(p, 0, size - 1));
      continue;
    }
    const std::int64_t turn = (p % period + period) % period;
    from.push_back(mode == "wrap" || turn < size ? turn : period - turn);
  }
  return from;
}

Tensor read_at(const Tensor& x, const std::vector<std::vector<std::int64_t>>& from,
               const Tensor* fill) {
  Dims dims;
  for (const auto& f : from) dims.push_back(static_cast<std::int64_t>(f.size()));
  Tensor out(x.dtype(), dims);
  const Dims strides = row_major_strides(x.dims()), outer(dims.begin(), dims.end() - 1);
  visit_storage(x.dtype(), [&]<class T>(T*) {
    const T* source = reinterpret_cast<const T*>(x.raw());
    T* to = reinterpret_cast<T*>(out.raw());
    const T other = fill ? *reinterpret_cast<const T*>(fill->raw()) : T{};
    for_each_index(outer, [&](const Dims& at, std::int64_t) {
      std::int64_t base = 0;
      for (std::size_t i = 0; i < at.size() && base >= 0; ++i) {
        const std::int64_t p = from[i][static_cast<std::size_t>(at[i])];
        base = p < 0 ? -1 : base + p * strides[i];
      }
      for (const std::int64_t p : from.back()) *to++ = base < 0 || p < 0 ? other : source[base + p];
    });
  });
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  if (x.ndim() == 0) return Datums{Datum(x)};
  const std::string& mode = e.call.text("mode");
  const auto pads = integers(e.in(1));
  const auto axes = *TENON_TRY(padded_axes(e.call, x.ndim()));
  TENON_EXPECT(pads.size() == 2 * axes.size(), "pads has two numbers for each axis", Type::of(x));
  Dims begin(x.dims().size(), 0), end = begin;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    begin[static_cast<std::size_t>(axes[i])] = pads[i];
    end[static_cast<std::size_t>(axes[i])] = pads[i + axes.size()];
  }
  std::vector<std::vector<std::int64_t>> from;
  for (std::size_t i = 0; i < begin.size(); ++i)
    from.push_back(positions(x.dims()[i], begin[i], end[i], mode));
  return Datums{Datum(read_at(x, from, e.has(2) ? &e.in(2) : nullptr))};
}

// Margins of zeros are cut off again, cut margins filled with zeros. The fill value gets what no
// element of x got.
Values gradient_of_constant(B g, const Call& c, Value* dy) {
  Value* back = g.neg(c.value(1));
  Value* dx = c.has(3) ? g.pad(dy, back, nullptr, c.value(3)) : g.pad(dy, back);
  Value* dvalue = nullptr;
  if (c.has(2))
    dvalue = g.reshape_like(g.sub(g.reduce_sum(dy, Attrs{{"keepdims", false}}),
                                  g.reduce_sum(dx, Attrs{{"keepdims", false}})),
                            c.value(2));
  return {dx, dvalue, nullptr, nullptr};
}

// Every axis is a gather at padded positions 0, 1, ...; its adjoint adds the rows back.
Values gradient(B g, const Call& c, const Values& dys) {
  Values found;
  if (c.text("mode") == "constant") {
    found = gradient_of_constant(g, c, dys[0]);
    return {found[0], nullptr, found[1], nullptr};
  }
  auto axes = padded_axes(c, c.in(0).ndim());
  if (!axes.ok() || !*axes) {
    g.builder().fail(
        unsupported("pad: the gradient of mode {} needs axes that are known", c.text("mode")));
    return {nullptr};
  }
  const auto n = static_cast<std::int64_t>((*axes)->size());
  Value *dx = dys[0], *pads = g.cast_to(c.value(1), DType::i64);
  for (std::int64_t i = 0; i < n; ++i) {
    const int axis = (**axes)[static_cast<std::size_t>(i)];
    Value *size = size_of_axis(g, c.value(0), axis), *margins = g.gather(pads, g.ints({i, i + n}));
    Value* from = g.pad(iota_along(g, size, 0, 1), margins, Attrs{{"mode", c.text("mode")}});
    Values sizes;
    for (int k = 0; k < c.in(0).ndim(); ++k)
      sizes.push_back(k == axis ? size : size_of_axis(g, dx, k));
    dx = g.gather_adjoint(dx, from, g.concat(sizes, Attrs{{"axis", 0}}), Attrs{{"axis", axis}});
  }
  return {dx, nullptr, nullptr, nullptr};
}

// Axes without a margin go through.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  auto axes = TENON_TRY(padded_axes(c, c.in(0).ndim()));
  auto pads = c.known_integers(1);
  if (!axes || !pads) return f;
  std::vector<int> whole;
  for (std::size_t i = 0; i < axes->size(); ++i)
    if ((*pads)[i] != 0 || (*pads)[i + axes->size()] != 0) whole.push_back((*axes)[i]);
  f.inputs[0] = f.outputs[0] = axis_names(c.in(0).ndim(), whole);
  return f;
}

}  // namespace

OpPage pad() {
  OpPage p =
      movement("pad",
               "x with margins: pads holds the sizes before each of `axes` (all by default), then "
               "those after; negative sizes cut off. mode constant fills with `value` "
               "(zero by default), edge repeats the border, reflect mirrors at it without "
               "repeating it, wrap continues from the other side");
  p.inputs = {{"x", kAny}, {"pads", kIndex, "I"}, maybe("value", kAny), maybe("axes", kIndex, "A")};
  p.attrs = {{"mode", "constant"}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{2, 3}, {4}}).known(1, i64s({0, 2, 1, 0})),
      sample({{4, 3}, {4}, {}}).known(1, i64s({0, 1, 0, 2})),
      sample({{2, 4}, {4}, {}}).known(1, i64s({1, -1, 0, -2})),
      sample({{2, 4, 3}, {2}, {}, {1}}).known(1, i64s({1, 2})).absent(2).known(3, i64s({-2})),
      sample({{2, 3}, {4}}).known(1, i64s({1, 2, 0, 2})).with({{"mode", "reflect"}}),
      sample({{2, 3}, {4}}).known(1, i64s({1, 2, 0, 2})).with({{"mode", "edge"}}),
      sample({{2, 3}, {4}}).known(1, i64s({3, 2, 0, 4})).with({{"mode", "wrap"}}),
      sample({{3}, {2}}).given(1, i64s({5, 4})).with({{"mode", "reflect"}}),
      rejects({{2, 3}, {3}}, "two numbers for each axis").known(1, i64s({1, 1, 1})),
      rejects({{2}, {2}}, "mode is constant").known(1, i64s({1, 1})).with({{"mode", "mirror"}}),
      rejects({{2}, {2}}, "no more than there is").known(1, i64s({-2, -1}))};
  return p;
}

}  // namespace tenon::ops
