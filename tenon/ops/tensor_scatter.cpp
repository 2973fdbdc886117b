// tensor_scatter(past, update, write_indices; axis, mode): new positions written into a cache.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<int> cache_axis(const Call& c) {
  const int axis = TENON_TRY(c.axis(c.integer("axis"), c.in(0).ndim()));
  TENON_EXPECT(axis >= 1, "axis is not the batch's", c.in(0));
  return axis;
}

Result<Types> infer(const Call& c) {
  const Type &past = c.in(0), &update = c.in(1);
  TENON_EXPECT(c.text("mode") == "linear" || c.text("mode") == "circular",
               "mode is linear or circular");
  if (!past.ranked() || !update.ranked()) return Types{past};
  TENON_EXPECT(past.ndim() == update.ndim(), "past.ndim == update.ndim", past, update);
  const int axis = TENON_TRY(cache_axis(c));
  for (int i = 0; i < past.ndim(); ++i)
    if (i != axis) TENON_EXPECT_SAME(past.dim(i), update.dim(i), "past.dim == update.dim");
  TENON_EXPECT(at_least(past.dim(axis), update.dim(axis)) != Truth::no,
               "update is no longer than the cache", past, update);
  if (c.has(2)) {
    TENON_EXPECT(!c.in(2).ranked() || c.in(2).ndim() == 1, "write_indices.ndim == 1", c.in(2));
    if (c.in(2).ranked())
      TENON_EXPECT_SAME(past.dim(0), c.in(2).dim(0), "past.batch == write_indices.size");
  }
  return Types{past};
}

// y = past; then y[b, ..., write_indices[b] + s, ...] = update[b, ..., s, ...]
Result<Datums> eval(const EvalCall& e) {
  const Tensor &past = e.in(0), &update = e.in(1);
  const auto axis = static_cast<std::size_t>(TENON_TRY(cache_axis(e.call)));
  const std::int64_t room = past.dims()[axis], steps = update.dims()[axis];
  const bool circular = e.call.text("mode") == "circular";
  const auto starts = e.has(2)
                          ? integers(e.in(2))
                          : std::vector<std::int64_t>(static_cast<std::size_t>(past.dim(0)), 0);
  for (std::int64_t s : starts)
    if (s < 0 || (!circular && s + steps > room))
      return invalid("tensor_scatter: {} positions from {} on do not fit into {}", steps, s, room);
  const std::int64_t inner = num_elements(
      Dims(past.dims().begin() + static_cast<std::ptrdiff_t>(axis) + 1, past.dims().end()));
  const std::int64_t outer = num_elements(
      Dims(past.dims().begin(), past.dims().begin() + static_cast<std::ptrdiff_t>(axis)));
  const std::int64_t per_batch = past.dim(0) == 0 ? 1 : outer / past.dim(0);
  Tensor y = past.clone();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t at = starts[static_cast<std::size_t>(o / per_batch)] + s;
      copy_run(update, (o * steps + s) * inner, y, (o * room + (circular ? at % room : at)) * inner,
               inner);
    }
  return Datums{Datum(y)};
}

// The positions written, in the shape of update: write_indices[b] + s (mod room).
Value* positions(B g, const Call& c, int axis) {
  const int n = c.in(0).ndim();
  Value* at = iota_along(g, size_of_axis(g, c.value(1), axis), axis, n);
  if (c.has(2)) {
    std::vector<std::int64_t> rest;
    for (int i = 1; i < n; ++i) rest.push_back(i);
    at = g.add(at, g.unsqueeze(g.cast_to(c.value(2), DType::i64), g.ints(rest)));
  }
  if (c.text("mode") == "circular") {
    Value* room = g.reshape(size_of_axis(g, c.value(0), axis), g.ints({}));
    at = g.sub(at, g.mul(g.div(at, room), room));
  }
  return g.expand(at, g.shape(c.value(1)));
}

Values decompose(B g, const Call& c) {
  const int axis = *cache_axis(c);
  return {g.scatter_elements(c.value(0), positions(g, c, axis), c.value(1), Attrs{{"axis", axis}})};
}

// dupdate is read where update was written; dpast is dy with zeros written there.
Values gradient(B g, const Call& c, const Values& dys) {
  const int axis = *cache_axis(c);
  Values args = {dys[0], g.zeros_like(c.value(1))};
  if (c.has(2)) args.push_back(c.value(2));
  return {g.tensor_scatter(args, c.node().attrs()),
          g.gather_elements(dys[0], positions(g, c, axis), Attrs{{"axis", axis}}), nullptr};
}

Result<Factors> sharding(const Call& c) {
  Factors f = axes_through(c, {TENON_TRY(cache_axis(c))});
  f.inputs[1] = f.inputs[0];
  if (c.has(2)) f.inputs[2] = {f.inputs[0][0]};
  return f;
}

}  // namespace

OpPage tensor_scatter() {
  OpPage p = movement("tensor_scatter",
                      "past with update written along `axis` from position write_indices[batch] on "
                      "(0 without them); mode circular wraps around at the end, linear must fit");
  p.inputs = {{"past", kAny}, {"update", kAny}, maybe("write_indices", kIndex, "I")};
  p.attrs = {{"axis", -2}, {"mode", "linear"}};
  p.infer = infer;
  p.eval = eval;
  p.decompose = decompose;
  p.gradient = gradient;
  p.sharding = sharding;
  p.samples = {
      sample({{2, 4, 3}, {2, 2, 3}, {2}}).given(2, i64s({1, 2})),
      sample({{2, 2, 4, 3}, {2, 2, 3, 3}, {2}}).given(2, i64s({3, 6})).with({{"mode", "circular"}}),
      sample({{4, 5, 2}, {4, 3, 2}}),
      sample({{2, 3, 4}, {2, 3, 1}, {2}}).given(2, i64s({3, 0})).with({{"axis", -1}}),
      rejects({{2, 4, 3}, {2, 5, 3}}, "no longer than the cache"),
      rejects({{2, 4}, {2, 1}}, "not the batch's").with({{"axis", 0}})};
  return p;
}

}  // namespace tenon::ops
