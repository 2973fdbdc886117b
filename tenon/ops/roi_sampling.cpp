// roi_align as gathers and arithmetic.
#include "tenon/ops/roi_sampling.h"

#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

// Samples of all regions along one axis, [r, cells, samples]: neighbours, weights (0 outside of x),
// and how many samples a cell of each region has, [r, 1, 1].
struct Taps {
  Value *low, *high;  // i64
  Value *low_weight, *high_weight;
  Value* exists;  // boolean; absent when all regions have the same number
  Value* per_cell;
};

class Sampling {
 public:
  Sampling(B g, const Call& c, Value* x, Value* rois) : g_(g), c_(c), x_(x), rois_(rois) {}

  // `first` and `last`: columns of rois; `axis`: of x
  Taps along(int first, int last, std::int64_t cells, int axis) {
    const bool half = c_.text("coordinate_transformation_mode") == "half_pixel";
    Value *start = bound(first, half), *length = g_.sub(bound(last, half), start);
    if (!half) length = g_.max(length, number(1));
    Value* cell = g_.div(length, number(static_cast<double>(cells)));
    Taps t{};
    Value* k = nullptr;  // number of the sample in its cell, [samples]
    if (const std::int64_t n = c_.integer("sampling_ratio"); n > 0) {
      t.per_cell = number(static_cast<double>(n));
      k = counting(g_, Dim(n), rois_, rois_->type().dtype());
    } else {
      t.per_cell = g_.max(g_.ceil(cell), number(0));
      Value* most = g_.cast_to(g_.reduce_max(t.per_cell, Attrs{{"keepdims", false}}), DType::i64);
      k = g_.cast_to(g_.range(g_.number(0, DType::i64), most, g_.number(1, DType::i64)),
                     rois_->type().dtype());
      t.exists = g_.less(k, t.per_cell);
    }
    Value* i = g_.unsqueeze(counting(g_, Dim(cells), rois_, rois_->type().dtype()), g_.ints({1}));
    Value* within = g_.div(g_.add(k, number(0.5)), g_.max(t.per_cell, number(1)));
    neighbours(t, g_.add(start, g_.mul(g_.add(i, within), cell)), axis);
    return t;
  }

 private:
  Value* number(double v) { return g_.number(v, rois_); }
  // One column of the regions in x's pixels, [r, 1, 1].
  Value* bound(int column, bool half) {
    Value* v = g_.mul(g_.unsqueeze(part_of(g_, rois_, 1, column, column + 1), g_.ints({2})),
                      number(c_.real("spatial_scale")));
    return half ? g_.sub(v, number(0.5)) : v;
  }

  void neighbours(Taps& t, Value* position, int axis) {
    Value *size = size_along(g_, x_, axis, rois_->type().dtype()), *last = g_.sub(size, number(1));
    Value* inside =
        g_.logical_and(g_.less_equal(number(-1), position), g_.less_equal(position, size));
    if (t.exists) inside = g_.logical_and(inside, t.exists);
    Value* p = g_.min(g_.max(position, number(0)), last);
    Value *low = g_.floor(p), *rest = g_.sub(p, low);
    t.low = g_.cast_to(low, DType::i64);
    t.high = g_.cast_to(g_.min(g_.add(low, number(1)), last), DType::i64);
    t.low_weight = g_.masked(inside, g_.sub(number(1), rest));
    t.high_weight = g_.masked(inside, rest);
  }

  B g_;
  const Call& c_;
  Value *x_, *rois_;
};

// From [r, cells, samples] to axes (0, 1, 2) or (0, 3, 4) of [r, rows, samples, cols, samples].
Value* spread(B g, Value* v, bool vertical) {
  return g.unsqueeze(v, vertical ? g.ints({3, 4}) : g.ints({1, 2}));
}

}  // namespace

Values roi_align_by_gathers(B g, const Call& c) {
  const DType dtype = c.in(0).dtype(), wide = wide_float(dtype);
  Value *x = g.cast_to(c.value(0), wide), *rois = g.cast_to(c.value(1), wide);
  Sampling sampling(g, c, x, rois);
  const Taps v = sampling.along(1, 3, c.integer("output_height"), 2),
             h = sampling.along(0, 2, c.integer("output_width"), 3);
  // Rows of channels, so that one gather serves all of them: [n * h * w, c].
  Value* table = g.reshape_to(g.transpose(x, Attrs{{"perm", Attr::Integers{0, 2, 3, 1}}}),
                              {Dim(-1), x->type().dim(1)});
  Value *height = size_along(g, x, 2, DType::i64), *width = size_along(g, x, 3, DType::i64);
  Value* picture =
      g.unsqueeze(g.mul(g.cast_to(c.value(2), DType::i64), height), g.ints({1, 2, 3, 4}));
  const bool take_max = c.text("mode") == "max";
  Value* samples = nullptr;
  for (const auto& [row, row_weight] :
       {std::pair(v.low, v.low_weight), std::pair(v.high, v.high_weight)})
    for (const auto& [col, col_weight] :
         {std::pair(h.low, h.low_weight), std::pair(h.high, h.high_weight)}) {
      Value* index =
          g.add(g.mul(g.add(picture, spread(g, row, true)), width), spread(g, col, false));
      Value* weight = g.mul(spread(g, row_weight, true), spread(g, col_weight, false));
      Value* part = g.mul(g.gather(table, index), g.unsqueeze(weight, g.ints({5})));
      samples = !samples ? part : take_max ? g.max(samples, part) : g.add(samples, part);
    }
  Value* y = nullptr;
  if (take_max) {
    if (v.exists)
      samples =
          g.where(g.unsqueeze(g.logical_and(spread(g, v.exists, true), spread(g, h.exists, false)),
                              g.ints({5})),
                  samples, g.number(-INFINITY, samples));
    y = g.reduce_max(samples, g.ints({2, 4}), Attrs{{"keepdims", false}});
  } else {
    Value* count = g.max(g.mul(v.per_cell, h.per_cell), g.number(1, rois));
    if (count->type().ndim() == 3) count = g.unsqueeze(count, g.ints({3}));
    y = g.div(g.reduce_sum(samples, g.ints({2, 4}), Attrs{{"keepdims", false}}), count);
  }
  return {g.cast_to(g.transpose(y, Attrs{{"perm", Attr::Integers{0, 3, 1, 2}}}), dtype)};
}

}  // namespace tenon::ops
