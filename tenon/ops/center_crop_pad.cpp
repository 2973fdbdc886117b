// center_crop_pad(x, shape; axes): the middle of x, cut or padded to given sizes.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<std::vector<int>> sized_axes(const Call& c, int ndim) {
  std::vector<int> axes;
  if (c.has_attr("axes"))
    for (std::int64_t a : c.integers("axes")) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  else
    for (int i = 0; i < ndim; ++i) axes.push_back(i);
  return axes;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::unranked(x.dtype())};
  const auto axes = TENON_TRY(sized_axes(c, x.ndim()));
  if (auto n = known_length(c, 1))
    TENON_EXPECT(*n == static_cast<std::int64_t>(axes.size()), "shape has one size for each axis",
                 x, c.in(1));
  auto sizes = c.dims(1);
  Type out = x;
  for (std::size_t i = 0; i < axes.size(); ++i)
    out = out.with_dim(axes[i], sizes ? (*sizes)[i] : c.fresh_dim(fmt::format("d{}", axes[i])));
  return Types{out};
}

// A margin of (wanted - size) / 2 in front, rounded toward zero: negative ones cut.
Values decompose(B g, const Call& c) {
  const auto sized = sized_axes(c, c.in(0).ndim());
  const std::vector<std::int64_t> axes(sized->begin(), sized->end());
  if (axes.empty()) return {g.reshape_like(c.value(0), c.value(0))};
  Value *wanted = g.cast_to(c.value(1), DType::i64),
        *sizes = g.gather(g.shape(c.value(0)), g.ints(axes));
  Value *more = g.sub(wanted, sizes), *front = g.div(more, g.ints({2}));
  return {g.pad(c.value(0), g.concat(front, g.sub(more, front), Attrs{{"axis", 0}}), nullptr,
                g.ints(axes))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Result<Factors> sharding(const Call& c) {
  return axes_through(c, TENON_TRY(sized_axes(c, c.in(0).ndim())));
}

}  // namespace

OpPage center_crop_pad() {
  return {.name = "center_crop_pad",
          .doc =
              "x cut or padded with zeros to the sizes `shape` along `axes` (all by default), "
              "keeping the middle; of an odd difference the larger half is at the end",
          .inputs = {{"x", kNumeric | kBool}, {"shape", kIndex, "I"}},
          .attrs = {AttrSpec::optional("axes", Attr::Kind::integers)},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{5, 4}, {2}}).known(1, i64s({2, 7})),
                      sample({{4, 6, 5}, {2}}).known(1, i64s({3, 8})).with({{"axes", Dims{1, -1}}}),
                      sample({{3}, {1}}).given(1, i64s({6})),
                      rejects({{5, 4}, {1}}, "one size for each axis").known(1, i64s({2}))}};
}

}  // namespace tenon::ops
