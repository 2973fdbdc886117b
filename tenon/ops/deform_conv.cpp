// deform_conv(x, w, offset, b, mask): a convolution whose taps read x at positions that are moved
// by offsets.
#include "tenon/ops/statistics.h"
#include "tenon/ops/windows.h"

namespace tenon::ops {
namespace {

std::int64_t entry(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t fallback) {
  return list.empty() ? fallback : list[i];
}

// n: batch, m: rows of w, K: taps; offset is [n, offset_group * K * axes, out...], mask [n,
// offset_group * K, out...]
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &w = c.in(1), &offset = c.in(2);
  if (!x.ranked() || !w.ranked() || !offset.ranked()) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() >= 3 && w.ndim() == x.ndim() && offset.ndim() == x.ndim(),
               "x, w and offset have the same rank, at least 3", x, w, offset);
  const std::int64_t group = c.integer("group"), offset_group = c.integer("offset_group");
  TENON_EXPECT(group >= 1 && offset_group >= 1, "group and offset_group are at least 1");
  TENON_EXPECT_SAME(x.dim(1), w.dim(1) * Dim(group), "x.channels == w.channels * group");
  for (const auto& [size, parts] : {std::pair(w.dim(0), group), std::pair(x.dim(1), offset_group)})
    if (size.is_constant() && size.value() % parts)
      return invalid("{} channels do not divide into {} groups", size.value(), parts);
  const Shape kernel = spatial(w), out = TENON_TRY(window_sizes(c, spatial(x), kernel));
  const Dim taps = num_elements(kernel) * Dim(offset_group);
  TENON_EXPECT_SAME(offset.dim(1), taps * Dim(x.ndim() - 2),
                    "offset.channels == offset_group * taps * axes");
  if (c.has(4)) TENON_EXPECT_SAME(c.in(4).dim(1), taps, "mask.channels == offset_group * taps");
  if (c.has(3)) TENON_EXPECT_SAME(c.in(3).dim(0), w.dim(0), "b.size == w.rows");
  Shape y = {x.dim(0), w.dim(0)};
  y.insert(y.end(), out.begin(), out.end());
  for (int i = 2; i < x.ndim(); ++i)
    TENON_EXPECT_SAME(offset.dim(i), y[static_cast<std::size_t>(i)], "offset.size == y.size");
  return Types{x.with_shape(y)};
}

// Bilinear samples of x for every tap, as [n, offset_group, K, out..., channels of an offset
// group].
class Samples {
 public:
  Samples(B g, const Call& c)
      : g_(g),
        c_(c),
        dtype_(wide_float(c.in(0).dtype())),
        axes_(c.in(0).ndim() - 2),
        groups_(c.integer("offset_group")) {
    for (int i = 0; i < axes_; ++i) kernel_.push_back(c.in(1).dim(i + 2).value());
    taps_ = num_elements(kernel_);
  }

  Value* build() {
    x_ = g_.cast_to(c_.value(0), dtype_);
    Value* table = channel_rows();
    offsets_ = grouped(g_.cast_to(c_.value(2), dtype_), taps_ * axes_);
    for (int a = 0; a < axes_; ++a) positions_.push_back(position(a));
    Value* sum = nullptr;
    for (int corner = 0; corner < (1 << axes_); ++corner) {
      auto [index, weight] = neighbour(corner);
      Value* part = g_.mul(g_.gather(table, index), g_.unsqueeze(weight, g_.ints({-1})));
      sum = sum ? g_.add(sum, part) : part;
    }
    if (!c_.has(4)) return sum;
    return g_.mul(sum,
                  g_.unsqueeze(grouped(g_.cast_to(c_.value(4), dtype_), taps_), g_.ints({-1})));
  }

 private:
  struct Position {
    Value *low, *rest, *last;
  };

  // [n, groups * per_group, out...] as [n, groups, per_group, out...]
  Value* grouped(Value* v, std::int64_t per_group) {
    Value* sizes = g_.concat(g_.shape(v, Attrs{{"end", 1}}), g_.ints({groups_, per_group}),
                             g_.shape(v, Attrs{{"start", 2}}), Attrs{{"axis", 0}});
    return g_.reshape(v, sizes);
  }

  // x as a table of [n * offset_group * positions, channels of an offset group]
  Value* channel_rows() {
    const std::int64_t channels = c_.in(0).dim(1).value() / groups_;
    Value* parts = g_.reshape(x_, g_.concat(g_.shape(x_, Attrs{{"end", 1}}),
                                            g_.ints({groups_, channels, -1}), Attrs{{"axis", 0}}));
    return g_.reshape(g_.transpose(parts, Attrs{{"perm", Attr::Integers{0, 1, 3, 2}}}),
                      g_.ints({-1, channels}));
  }

  // Where the taps read along axis a: o * stride - begin + k * dilation + offset, [n, groups, K,
  // out...].
  Position position(int a) {
    const auto i = static_cast<std::size_t>(a);
    std::vector<double> tap;
    std::int64_t inner = 1;
    for (std::size_t k = i + 1; k < kernel_.size(); ++k) inner *= kernel_[k];
    for (std::int64_t k = 0; k < taps_; ++k)
      tap.push_back(
          static_cast<double>(k / inner % kernel_[i] * entry(c_.integers("dilations"), i, 1) -
                              entry(c_.integers("pads"), i, 0)));
    Dims column(static_cast<std::size_t>(axes_) + 1, 1);
    column[0] = taps_;
    Value* taps = g_.constant(from_doubles(tap, dtype_, column));
    Value* out =
        g_.mul(positions_along(g_, c_.value(2), a + 2, dtype_),
               g_.number(static_cast<double>(entry(c_.integers("strides"), i, 1)), dtype_));
    // offset channels are ordered [tap, axis]: every axes_-th one
    Value* moved =
        g_.slice(offsets_, g_.ints({a}), g_.ints({taps_ * axes_}), g_.ints({2}), g_.ints({axes_}));
    Value *p = g_.add(moved, g_.add(taps, out)), *low = g_.floor(p);
    return {low, g_.sub(p, low), g_.sub(size_along(g_, x_, a + 2, dtype_), g_.number(1, dtype_))};
  }

  // Row of the table and weight of one corner around every position; weight 0 outside of x.
  std::pair<Value*, Value*> neighbour(int corner) {
    Value *index = nullptr, *weight = nullptr;
    for (int a = 0; a < axes_; ++a) {
      const Position& p = positions_[static_cast<std::size_t>(a)];
      const bool upper = (corner >> a) & 1;
      Value *zero = g_.number(0, dtype_), *at = upper ? g_.add(p.low, g_.number(1, dtype_)) : p.low;
      Value* share = g_.masked(g_.logical_and(g_.less_equal(zero, at), g_.less_equal(at, p.last)),
                               upper ? p.rest : g_.sub(g_.number(1, dtype_), p.rest));
      Value* row = g_.cast_to(g_.min(g_.max(at, zero), p.last), DType::i64);
      weight = weight ? g_.mul(weight, share) : share;
      index = index ? g_.add(g_.mul(index, size_along(g_, x_, a + 2, DType::i64)), row) : row;
    }
    // blocks of the table: n * offset_group + group
    Value* pictures = g_.mul(counting(g_, x_->type().dim(0), x_),
                             g_.number(static_cast<double>(groups_), DType::i64));
    Value* block = g_.add(g_.unsqueeze(pictures, g_.ints({1})), counting(g_, Dim(groups_), x_));
    for (int a = 0; a < axes_; ++a) block = g_.mul(block, size_along(g_, x_, a + 2, DType::i64));
    return {g_.add(g_.unsqueeze(block, g_.ints(axes_from(2, 3 + axes_))), index), weight};
  }

  B g_;
  const Call& c_;
  DType dtype_;
  int axes_;
  std::int64_t groups_, taps_ = 1;
  Dims kernel_;
  Value *x_ = nullptr, *offsets_ = nullptr;
  std::vector<Position> positions_;
};

// y[n, m] = sum over channels and taps of the samples times w: one matrix product for each group.
Values decompose(B g, const Call& c) {
  const Type &x = c.in(0), &w = c.in(1);
  if (!x.dim(1).is_constant() || !constant_dims(w.shape())) {
    g.builder().fail(unsupported("deform_conv: channels and kernel must be known"));
    return {c.value(0)};
  }
  const std::int64_t group = c.integer("group"), rows = w.dim(0).value(),
                     inner = num_elements(*constant_dims(w.shape())) / rows;
  Value* samples = Samples(g, c).build();
  Attr::Integers perm = {0, 1,
                         samples->type().ndim() - 1};  // [n, offset_group, channels, K, out...]
  for (int i = 2; i < samples->type().ndim() - 1; ++i) perm.push_back(i);
  Value* n = g.shape(c.value(0), Attrs{{"end", 1}});
  Value* columns = g.reshape(g.transpose(samples, Attrs{{"perm", perm}}),
                             g.concat(n, g.ints({group, inner, -1}), Attrs{{"axis", 0}}));
  Value* weights =
      g.reshape(g.cast_to(c.value(1), wide_float(x.dtype())), g.ints({group, rows / group, inner}));
  Value* sizes =
      g.concat(n, g.ints({rows}), g.shape(c.value(2), Attrs{{"start", 2}}), Attrs{{"axis", 0}});
  Value* y = g.reshape(g.matmul(weights, columns), sizes);
  if (c.has(3))
    y = g.add(y, per_channel(g, g.cast_to(c.value(3), wide_float(x.dtype())), x.ndim()));
  return {g.cast_to(y, x.dtype())};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

// Each tap samples 2^axes neighbours, then multiplies.
Cost cost(const Call& c) {
  const Dim taps = num_elements(spatial(c.in(1))),
            out = num_elements(spatial(c.out(0))) * c.out(0).dim(0);
  const Dim sampling = out * c.in(0).dim(1) * taps * Dim(std::int64_t{4} << (c.in(0).ndim() - 2));
  return {sampling + Dim(2) * c.out(0).count() * taps * c.in(1).dim(1), c.bytes_in(),
          c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  Factors f;
  const auto pad = [&](std::vector<std::string> names) {
    names.resize(static_cast<std::size_t>(c.in(0).ndim()), "");
    return names;
  };
  const std::string m = c.integer("group") == 1 ? "m" : "";
  f.inputs = {pad({"n"}), pad({m}), pad({"n"})};
  if (c.num_inputs() > 3)
    f.inputs.push_back(c.has(3) ? std::vector<std::string>{m} : std::vector<std::string>{});
  if (c.num_inputs() > 4) f.inputs.push_back(c.has(4) ? pad({"n"}) : std::vector<std::string>{});
  f.outputs = {pad({"n", m})};
  return f;
}

}  // namespace

OpPage deform_conv() {
  auto attrs = window_attrs();
  attrs.emplace_back("group", 1);
  attrs.emplace_back("offset_group", 1);
  return {.name = "deform_conv",
          .doc =
              "y[n, m, o] = b[m] + sum over c, k of w[m, c, k] * mask[n, k, o] * x[n, c] at o * "
              "stride - begin + k * dilation + offset[n, k, o], linearly interpolated, "
              "zeros outside of x; channels share offsets within each of `offset_group` groups",
          .inputs = {{"x", kFloat},
                     {"w", kFloat},
                     {"offset", kFloat},
                     maybe("b", kFloat),
                     maybe("mask", kFloat)},
          .attrs = attrs,
          .traits = {Trait::contraction},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost,
          .sharding = sharding,
          .samples = {sample({{2, 2, 4, 3}, {4, 2, 2, 2}, {2, 8, 3, 2}, {4}, {2, 4, 3, 2}})
                          .range_of(2, 0.1, 0.9),
                      sample({{1, 4, 4, 4}, {2, 2, 2, 2}, {1, 16, 3, 3}})
                          .range_of(2, -0.9, -0.1)
                          .with({{"group", 2},
                                 {"offset_group", 2},
                                 {"strides", Attr::Integers{2, 2}},
                                 {"pads", Attr::Integers{1, 1, 1, 1}}}),
                      sample({{1, 2, 6}, {2, 2, 3}, {1, 3, 2}})
                          .range_of(2, 0.2, 0.8)
                          .with({{"dilations", Attr::Integers{2}}}),
                      rejects({{1, 2, 4, 4}, {2, 2, 2, 2}, {1, 4, 3, 3}}, "offset.channels is 4"),
                      rejects({{1, 3, 4, 4}, {2, 2, 2, 2}, {1, 8, 3, 3}}, "x.channels is 3"),
                      rejects({{1, 2, 4, 4}, {2, 2, 2, 2}, {1, 8, 2, 3}},
                              "offset.size is 2 but y.size is 3")}};
}

}  // namespace tenon::ops
