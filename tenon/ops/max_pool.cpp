// max_pool(x): the largest element of each window, and where it stands.
#include <limits>

#include "tenon/ops/pooling.h"

namespace tenon::ops {
namespace {

// The positions are a second output for those who ask for it.
Result<Types> infer(const Call& c) {
  Type y = TENON_TRY(infer_pool(c));
  Types out = {y};
  if (c.num_outputs() > 1) out.push_back(y.with_dtype(DType::i64));
  return out;
}

// The number of a position in the plane, row-major or (storage_order 1) column-major.
std::int64_t ordered(const Window& w, std::int64_t at, bool column_major) {
  if (!column_major) return at;
  const std::int64_t p2 = at % w[2].x, p1 = at / w[2].x % w[1].x, p0 = at / w[2].x / w[1].x;
  return p0 + w[0].x * (p1 + w[1].x * p2);
}

template <class W>
Datums pool(const EvalCall& e, const Window& w, const Dims& out) {
  const Tensor& x = e.in(0);
  const bool column_major = e.call.integer("storage_order") == 1,
             wants_indices = e.call.num_outputs() > 1;
  const auto values = wide<W>(x);
  const auto n = static_cast<std::size_t>(num_elements(out));
  std::vector<W> y(n);
  std::vector<std::int64_t> indices(n);
  const W lowest = std::numeric_limits<W>::has_infinity ? -std::numeric_limits<W>::infinity()
                                                        : std::numeric_limits<W>::lowest();
  for (std::int64_t plane = 0; plane < x.dim(0) * x.dim(1); ++plane)
    for_each_output(w, [&](std::int64_t y0, std::int64_t y1, std::int64_t y2, std::int64_t k) {
      const W* from = values.data() + plane * x_plane(w);
      const std::int64_t best = largest_in_window(w, from, y0, y1, y2);
      const auto to = static_cast<std::size_t>(plane * y_plane(w) + k);
      y[to] = best < 0 ? lowest : from[best];
      indices[to] = best < 0 ? -1 : plane * x_plane(w) + ordered(w, best, column_major);
    });
  Datums results = {Datum(narrow(y, x.dtype(), out))};
  if (wants_indices) results.emplace_back(from_int64s(indices, DType::i64, out));
  return results;
}

Result<Datums> eval(const EvalCall& e) {
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const Window w = TENON_TRY(pool_window(e.call, spatial(e.in(0))));
  return visit_real(e.in(0).dtype(), [&](auto t) {
    return pool<decltype(t)>(e, w, *constant_dims(types[0].shape()));
  });
}

// dy goes to where the largest element stood.
Values gradient(B g, const Call& c, const Values& dys) {
  return {g.max_pool_adjoint(dys[0], c.value(0), copied_pool_attrs(c))};
}

Cost cost(const Call& c) { return cost_pool(c, c.out(0).count()); }

// Positions count through the whole of x: with them asked for, nothing can be split.
Result<Factors> sharding(const Call& c) {
  Factors f = TENON_TRY(sharding_planes(c));
  if (c.num_outputs() > 1) f.whole_factors = {"n", "c"};
  return f;
}

}  // namespace

OpPage max_pool() {
  auto attrs = pool_attrs();
  attrs.emplace_back("storage_order", 0);
  return {
      .name = "max_pool",
      .doc =
          "largest element of each window, pads left out; on demand also its position in all of x "
          "(row-major, or column-major within the plane for storage_order 1). "
          "The first one wins a tie; NaN wins over numbers",
      .inputs = {{"x", kNumeric}},
      .outputs = {"y", "indices"},
      .attrs = attrs,
      .infer = infer,
      .eval = eval,
      .decompose = none("core"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {
          sample({{2, 4, 5, 4}})
              .distinct()
              .with({{"kernel", Attr::Integers{2, 3}}, {"strides", Attr::Integers{2, 1}}}),
          sample({{1, 2, 7}})
              .distinct()
              .with({{"kernel", Attr::Integers{3}},
                     {"strides", Attr::Integers{2}},
                     {"pads", Attr::Integers{1, 1}},
                     {"ceil_mode", true}}),
          sample({{1, 2, 5, 5}})
              .distinct()
              .outputs(2)
              .with({{"kernel", Attr::Integers{2, 2}},
                     {"dilations", Attr::Integers{2, 1}},
                     {"storage_order", 1}}),
          sample({{1, 1, 4, 3, 4}})
              .distinct()
              .outputs(2)
              .with({{"kernel", Attr::Integers{2, 2, 2}},
                     {"auto_pad", "SAME_UPPER"},
                     {"strides", Attr::Integers{2, 2, 1}}}),
          sample({{1, 2, 6}}).all(DType::i8).range(-9, 9).with({{"kernel", Attr::Integers{2}}}),
          rejects({{2, 3}}, "x is [n, c, spatial...]").with({{"kernel", Attr::Integers{2}}}),
          rejects({{1, 2, 3}}, "larger than the padded size").with({{"kernel", Attr::Integers{4}}}),
          rejects({{1, 2, 3}}, "kernel has 2 spatial axes")
              .with({{"kernel", Attr::Integers{2, 2}}})}};
}

}  // namespace tenon::ops
