// split(x, sizes; axis, num_outputs): x cut into pieces along an axis.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

std::int64_t num_pieces(const Call& c) {
  if (auto n = known_length(c, 1)) return *n;
  return c.has_attr("num_outputs") ? c.integer("num_outputs") : c.num_outputs();
}

// Sizes of the pieces. Without `sizes` all are equal but for the last ones, which hold what is
// left.
Result<Shape> piece_sizes(const Call& c, const Dim& whole) {
  const std::int64_t n = num_pieces(c);
  TENON_EXPECT(n >= 1, "at least one piece is asked for", c.in(0));
  Shape sizes;
  if (c.has(1)) {
    if (auto given = c.dims(1)) {
      Dim sum(0);
      for (const Dim& d : *given) {
        TENON_EXPECT(at_least(d, 0) != Truth::no, "sizes >= 0", c.in(0));
        sum += d;
      }
      TENON_EXPECT_SAME(whole, sum, "x.dim == sum of sizes");
      return *given;
    }
    for (std::int64_t i = 0; i < n; ++i) sizes.push_back(c.fresh_dim(fmt::format("piece{}", i)));
    return sizes;
  }
  const Dim width = ceil_div(whole, Dim(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const Dim left = whole - width * Dim(i);
    sizes.push_back(left.is_constant() ? max(Dim(0), min(width, left)) : i + 1 < n ? width : left);
  }
  return sizes;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked())
    return Types(static_cast<std::size_t>(std::max<std::int64_t>(1, num_pieces(c))),
                 Type::unranked(x.dtype()));
  const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  Types out;
  for (const Dim& d : TENON_TRY(piece_sizes(c, x.dim(axis)))) out.push_back(x.with_dim(axis, d));
  return out;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), x.ndim()));
  const Dims strides = row_major_strides(x.dims());
  Datums pieces;
  std::int64_t start = 0;
  for (const Dim& size : TENON_TRY(piece_sizes(e.call, Dim(x.dim(axis))))) {
    Dims dims = x.dims();
    dims[static_cast<std::size_t>(axis)] = size.value();
    pieces.emplace_back(
        copy_strided(x, dims, strides, start * strides[static_cast<std::size_t>(axis)]));
    start += size.value();
  }
  return pieces;
}

// The width of piece i as a 1-d value of one element.
Value* width_of(B g, const Call& c, int axis, std::int64_t i, const Dim& known) {
  if (known.is_constant()) return g.ints({known.value()});
  if (c.has(1)) return g.gather(g.cast_to(c.value(1), DType::i64), g.ints({i}));
  const std::int64_t n = num_pieces(c);
  Value *size = size_of_axis(g, c.value(0), axis),
        *width = g.div(g.add(size, g.ints({n - 1})), g.ints({n}));
  return i + 1 < n ? width : g.sub(size, g.mul(width, g.ints({n - 1})));
}

Values decompose(B g, const Call& c) {
  auto axis = c.axis(c.integer("axis"), c.in(0).ndim());
  Values pieces;
  Value* start = g.ints({0});
  for (int i = 0; i < c.num_outputs(); ++i) {
    Value* end = g.add(start, width_of(g, c, *axis, i, c.out(i).dim(*axis)));
    pieces.push_back(g.slice(c.value(0), start, end, g.ints({*axis})));
    start = end;
  }
  return pieces;
}

Values gradient(B g, const Call& c, const Values& dys) {
  Values parts;
  for (std::size_t i = 0; i < dys.size(); ++i)
    parts.push_back(dys[i] ? dys[i] : g.zeros_like(c.result(static_cast<int>(i))));
  return {g.concat(parts, Attrs{{"axis", c.integer("axis")}}), nullptr};
}

Result<Factors> sharding(const Call& c) {
  return axes_through(c, {TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()))});
}

}  // namespace

OpPage split() {
  OpPage p = movement("split",
                      "x cut along `axis` into pieces of `sizes`, or into `num_outputs` equal "
                      "pieces, the last ones smaller where that does not divide");
  p.inputs = {{"x", kAny}, maybe("sizes", kIndex, "I")};
  p.outputs = {"pieces"};
  p.attrs = {{"axis", 0}, AttrSpec::optional("num_outputs", Attr::Kind::integer)};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {sample({{6, 4}}).with({{"num_outputs", 3}}),
               sample({{4, 7}}).with({{"num_outputs", 3}, {"axis", -1}}),
               sample({{2, 5}, {2}}).known(1, i64s({1, 4})).with({{"axis", 1}}),
               sample({{2, 5}, {3}}).given(1, i64s({2, 0, 3})).with({{"axis", 1}}),
               sample({{4, 2}}).outputs(2),
               rejects({{2, 5}, {2}}, "x.dim is 5 but sum of sizes is 4")
                   .known(1, i64s({1, 3}))
                   .with({{"axis", 1}})};
  return p;
}

}  // namespace tenon::ops
