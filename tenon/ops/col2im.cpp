// col2im(columns, image_shape, block_shape; strides, pads, dilations): blocks added into an image.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// Where blocks lie in the image, margins included.
struct Layout {
  Dims image, padded, block, strides, dilations, begin, end,
      steps;  // steps: how many blocks along each axis
  std::int64_t block_count() const { return num_elements(steps); }
};

Result<Layout> layout_of(const Call& c) {
  Layout l;
  auto image = c.known_integers(1), block = c.known_integers(2);
  TENON_EXPECT(image && block, "image_shape and block_shape are known");
  l.image = *image;
  l.block = *block;
  const std::size_t n = l.image.size();
  TENON_EXPECT(l.block.size() == n, "image_shape and block_shape have one length");
  const auto ints = [&](const char* name, std::size_t length, std::int64_t other) {
    return c.has_attr(name) ? c.integers(name) : Dims(length, other);
  };
  l.strides = ints("strides", n, 1);
  l.dilations = ints("dilations", n, 1);
  const Dims pads = ints("pads", 2 * n, 0);
  TENON_EXPECT(l.strides.size() == n && l.dilations.size() == n && pads.size() == 2 * n,
               "strides, dilations and pads fit the image's axes");
  for (std::size_t i = 0; i < n; ++i) {
    TENON_EXPECT(l.strides[i] > 0 && l.dilations[i] > 0 && l.block[i] > 0 && l.image[i] >= 0,
                 "strides, dilations and block sizes are positive");
    l.begin.push_back(pads[i]);
    l.end.push_back(pads[i + n]);
    l.padded.push_back(l.image[i] + pads[i] + pads[i + n]);
    const std::int64_t span = l.padded[i] - (l.dilations[i] * (l.block[i] - 1) + 1);
    TENON_EXPECT(span >= 0, "a block fits into the image");
    l.steps.push_back(span / l.strides[i] + 1);
  }
  return l;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  auto length = known_length(c, 1);
  if (!length) length = known_length(c, 2);
  if (!x.ranked() || !length) return Types{Type::unranked(x.dtype())};
  TENON_EXPECT(x.ndim() == 3, "columns.ndim == 3", x);
  Shape out = {x.dim(0)};
  if (auto block = c.known_integers(2)) {
    const std::int64_t n = num_elements(*block);
    if (auto rows = x.dim(1).known())
      TENON_EXPECT(n > 0 && *rows % n == 0, "columns.rows divide by the block's size", x);
    out.push_back(floor_div(x.dim(1), Dim(n)));
  } else {
    out.push_back(c.fresh_dim("channels"));
  }
  auto image = c.dims(1);
  for (std::int64_t i = 0; i < *length; ++i)
    out.push_back(image ? (*image)[static_cast<std::size_t>(i)]
                        : c.fresh_dim(fmt::format("d{}", i)));
  if (c.known_integers(1) && c.known_integers(2)) {
    const Layout l = TENON_TRY(layout_of(c));
    TENON_EXPECT_SAME(x.dim(2), Dim(l.block_count()), "columns.last == number of blocks");
  }
  return Types{x.with_shape(out)};
}

// The position in the padded image that element k of block l goes to, at [k * blocks + l].
std::vector<std::int64_t> positions(const Layout& l) {
  std::vector<std::int64_t> to;
  const Dims strides = row_major_strides(l.padded);
  for_each_index(l.block, [&](const Dims& in_block, std::int64_t) {
    for_each_index(l.steps, [&](const Dims& step, std::int64_t) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < l.block.size(); ++i)
        at += (step[i] * l.strides[i] + in_block[i] * l.dilations[i]) * strides[i];
      to.push_back(at);
    });
  });
  return to;
}

Values with_layout(B g, const Call& c,
                   const std::function<Value*(const Layout&, Value* to)>& build) {
  auto l = layout_of(c);
  if (!l.ok()) {
    g.builder().fail(std::move(l).error());
    return {nullptr};
  }
  return {build(*l, g.ints(positions(*l)))};
}

Dims margins(const Layout& l, std::int64_t sign) {
  Dims pads;
  for (std::int64_t p : l.begin) pads.push_back(sign * p);
  for (std::int64_t p : l.end) pads.push_back(sign * p);
  return pads;
}

// Columns are rows of a flat padded image that are added up: the adjoint of a gather; then margins
// go.
Values decompose(B g, const Call& c) {
  return with_layout(g, c, [&](const Layout& l, Value* to) {
    const auto size = static_cast<std::int64_t>(to->type().dim(0).value()),
               pixels = num_elements(l.padded);
    Value *n = size_of_axis(g, c.value(0), 0),
          *channels = g.div(size_of_axis(g, c.value(0), 1), g.ints({num_elements(l.block)}));
    const auto shape = [&](Dims rest) {
      return g.concat(n, channels, g.ints(rest), Attrs{{"axis", 0}});
    };
    Value* flat =
        g.gather_adjoint(g.reshape(c.value(0), shape({size}), Attrs{{"allow_zero", true}}), to,
                         shape({pixels}), Attrs{{"axis", 2}});
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < l.image.size(); ++i)
      axes.push_back(static_cast<std::int64_t>(i) + 2);
    return g.pad(g.reshape(flat, shape(l.padded), Attrs{{"allow_zero", true}}),
                 g.ints(margins(l, -1)), nullptr, g.ints(axes));
  });
}

// dx reads the padded dy where the columns went.
Values gradient(B g, const Call& c, const Values& dys) {
  Values dx = with_layout(g, c, [&](const Layout& l, Value* to) {
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < l.image.size(); ++i)
      axes.push_back(static_cast<std::int64_t>(i) + 2);
    Value *padded = g.pad(dys[0], g.ints(margins(l, 1)), nullptr, g.ints(axes)), *x = c.value(0);
    Value* flat = g.reshape(padded,
                            g.concat(g.shape(dys[0], Attrs{{"end", 2}}),
                                     g.ints({num_elements(l.padded)}), Attrs{{"axis", 0}}),
                            Attrs{{"allow_zero", true}});
    return g.reshape_like(g.gather(flat, to, Attrs{{"axis", 2}}), x);
  });
  return {dx[0], nullptr, nullptr};
}

// Only the batch is split: the channels hide in the rows.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  f.inputs[0][0] = f.outputs[0][0] = "n";
  return f;
}

}  // namespace

OpPage col2im() {
  return {
      .name = "col2im",
      .doc =
          "x[n, (c, k), l]: element k of block l of channel c is added to the image pixel it "
          "covers; blocks of block_shape lie `strides` apart, their elements `dilations` apart, "
          "on an image of image_shape with margins `pads` (all begins, then all ends)",
      .inputs = {{"x", kNumeric}, {"image_shape", kIndex, "I"}, {"block_shape", kIndex, "K"}},
      .attrs = {AttrSpec::optional("strides", Attr::Kind::integers),
                AttrSpec::optional("pads", Attr::Kind::integers),
                AttrSpec::optional("dilations", Attr::Kind::integers)},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {sample({{2, 4, 12}, {2}, {2}}).known(1, i64s({4, 5})).known(2, i64s({2, 2})),
                  sample({{4, 8, 2}, {2}, {2}})
                      .known(1, i64s({4, 5}))
                      .known(2, i64s({2, 2}))
                      .with({{"strides", Dims{2, 3}}, {"dilations", Dims{1, 2}}}),
                  sample({{1, 3, 5}, {1}, {1}})
                      .known(1, i64s({4}))
                      .known(2, i64s({3}))
                      .with({{"pads", Dims{1, 2}}}),
                  rejects({{1, 4, 9}, {2}, {2}}, "columns.last is 9 but number of blocks is 12")
                      .known(1, i64s({4, 5}))
                      .known(2, i64s({2, 2}))}};
}

}  // namespace tenon::ops
