// split_to_sequence(x, sizes; axis, keepdims): a tensor cut into a sequence.
#include "tenon/ops/movements.h"
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

// A scalar is the size of every piece but the last; without sizes every piece is one slice.
Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{Type::sequence(x)};
  const int axis = TENON_TRY(c.axis(c.integer("axis"), x.ndim()));
  if (!c.has(1) && !c.flag("keepdims")) {
    Shape shape = x.shape();
    shape.erase(shape.begin() + axis);
    return Types{Type::sequence(x.with_shape(shape))};
  }
  if (auto sizes = c.dims(1); sizes && c.in(1).ndim() == 1) {
    Dim sum(0);
    for (const Dim& d : *sizes) sum += d;
    TENON_EXPECT_SAME(x.dim(axis), sum, "x.dim == sum of sizes");
  }
  return Types{Type::sequence(x.with_dim(axis, c.has(1) ? c.fresh_dim("piece") : Dim(1)))};
}

Result<std::vector<std::int64_t>> widths(const EvalCall& e, std::int64_t size) {
  if (e.has(1) && e.in(1).ndim() == 1) {
    auto given = integers(e.in(1));
    std::int64_t sum = 0;
    for (std::int64_t w : given) {
      if (w < 0) return invalid("split_to_sequence: size {} is negative", w);
      sum += w;
    }
    if (sum != size)
      return invalid("split_to_sequence: sizes sum to {} but the axis has {}", sum, size);
    return given;
  }
  const std::int64_t width = e.has(1) ? integer_element(e.in(1), 0) : 1;
  if (width < 1) return invalid("split_to_sequence: size {} is not positive", width);
  std::vector<std::int64_t> all(static_cast<std::size_t>(size / width), width);
  if (size % width) all.push_back(size % width);
  return all;
}

Result<Datums> eval(const EvalCall& e) {
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), e.in(0).ndim()));
  return Datums{pieces(e.in(0), axis, TENON_TRY(widths(e, e.in(0).dim(axis))),
                       e.has(1) || e.call.flag("keepdims"))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  const bool slices = !c.has(1) && !c.flag("keepdims");
  return {g.reshape_like(g.concat_from_sequence(
                             dys[0], Attrs{{"axis", c.integer("axis")}, {"new_axis", slices}}),
                         c.value(0)),
          nullptr};
}

}  // namespace

OpPage split_to_sequence() {
  OpPage p = sequence_page(
      "split_to_sequence",
      "x cut along `axis` into pieces of `sizes`, one number for each, or one for all but a "
      "smaller last one; without sizes into slices, whose axis keepdims = false drops");
  p.inputs = {{"x", kAny}, maybe("sizes", kIndex, "I")};
  p.attrs = {{"axis", 0}, {"keepdims", true}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.samples = {sample({{3, 5}, {}}).given(1, Tensor::scalar<std::int64_t>(2)).with({{"axis", 1}}),
               sample({{3, 5}, {2}}).known(1, i64s({1, 2})), sample({{2, 3}}),
               sample({{2, 3}}).with({{"axis", -1}, {"keepdims", false}}),
               rejects({{3, 5}, {2}}, "x.dim is 3 but sum of sizes is 4").known(1, i64s({2, 2}))};
  return p;
}

}  // namespace tenon::ops
