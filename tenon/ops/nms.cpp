// nms(boxes, scores, max_boxes, iou_threshold, score_threshold): boxes that overlap no better box.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// boxes[batch, n, 4], scores[batch, class, n]
Result<Types> infer(const Call& c) {
  const Type &boxes = c.in(0), &scores = c.in(1);
  if (boxes.ranked() && scores.ranked()) {
    TENON_EXPECT(boxes.ndim() == 3 && scores.ndim() == 3, "boxes.ndim == 3 and scores.ndim == 3",
                 boxes, scores);
    TENON_EXPECT_SAME(boxes.dim(2), Dim(4), "boxes.last == numbers of a box");
    TENON_EXPECT_SAME(boxes.dim(0), scores.dim(0), "boxes.batch == scores.batch");
    TENON_EXPECT_SAME(boxes.dim(1), scores.dim(2), "boxes.count == scores.count");
  }
  return Types{Type(DType::i64, {c.fresh_dim("count"), Dim(3)})};
}

struct Box {
  double x0, y0, x1, y1;
};

Box box_of(const double* b, bool centre) {
  if (centre) return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}

double intersection_over_union(const Box& a, const Box& b) {
  const double w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0),
               h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (w <= 0 || h <= 0) return 0;
  const double shared = w * h,
               all = (a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - shared;
  return all > 0 ? shared / all : 0;
}

struct Limits {
  std::int64_t max_boxes;
  double iou;
  bool has_score;
  double score;
};

// Best first; of equal scores the earlier box.
std::vector<std::int64_t> kept(const std::vector<Box>& boxes, const double* scores,
                               const Limits& limits) {
  std::vector<std::int64_t> order, keep;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (!limits.has_score || scores[i] > limits.score)
      order.push_back(static_cast<std::int64_t>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  for (const std::int64_t i : order) {
    if (static_cast<std::int64_t>(keep.size()) >= limits.max_boxes) break;
    const bool hidden = std::any_of(keep.begin(), keep.end(), [&](std::int64_t k) {
      return intersection_over_union(boxes[static_cast<std::size_t>(i)],
                                     boxes[static_cast<std::size_t>(k)]) > limits.iou;
    });
    if (!hidden) keep.push_back(i);
  }
  return keep;
}

Result<Datums> eval(const EvalCall& e) {
  const auto boxes = to_doubles(e.in(0)), scores = to_doubles(e.in(1));
  const std::int64_t batches = e.in(1).dim(0), classes = e.in(1).dim(1), n = e.in(1).dim(2);
  const auto number = [&](int i) {
    return e.has(i) && e.in(i).count() > 0 ? element(e.in(i), 0) : 0;
  };
  // As an integer: "all boxes" is written as the largest int64, which no double holds.
  const std::int64_t max_boxes = e.has(2) && e.in(2).count() > 0 ? integer_element(e.in(2), 0) : 0;
  const Limits limits{max_boxes, number(3), e.has(4) && e.in(4).count() > 0, number(4)};
  const bool centre = e.call.flag("center_point_box");
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < batches; ++b) {
    std::vector<Box> of_batch;
    for (std::int64_t i = 0; i < n; ++i)
      of_batch.push_back(box_of(boxes.data() + (b * n + i) * 4, centre));
    for (std::int64_t k = 0; k < classes; ++k)
      for (const std::int64_t i : kept(of_batch, scores.data() + (b * classes + k) * n, limits))
        rows.insert(rows.end(), {b, k, i});
  }
  return Datums{
      Datum(Tensor::of<std::int64_t>({static_cast<std::int64_t>(rows.size()) / 3, 3}, rows))};
}

// Every box against every other one in the worst case, 12 operations a pair
Cost cost(const Call& c) {
  return {c.in(1).count() * c.in(1).dim(2) * Dim(12), c.bytes_in(), c.bytes_out()};
}

}  // namespace

OpPage nms() {
  const auto boxes = Tensor::of<float>(
      {1, 4, 4}, std::vector<float>{0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11, 1, 11, 0, 10.1F});
  const auto scores = Tensor::of<float>(
      {1, 2, 4}, std::vector<float>{0.9F, 0.75F, 0.6F, 0.95F, 0.1F, 0.8F, 0.8F, 0.3F});
  const auto call = [&](std::int64_t max, float iou, float score) {
    return sample({{}, {}, {}, {}, {}})
        .given(0, boxes)
        .given(1, scores)
        .given(2, Tensor::scalar(max))
        .given(3, Tensor::scalar(iou))
        .given(4, Tensor::scalar(score));
  };
  return {
      .name = "nms",
      .doc =
          "rows [batch, class, box]: for every batch and class the boxes in order of falling score "
          "whose intersection over union with no kept box is above iou_threshold, at most "
          "max_boxes "
          "(none without it) with scores above score_threshold; boxes are two corners [y, x, y, "
          "x], or centre, width and height [x, y, w, h]",
      .inputs = {{"boxes", kFloat},
                 {"scores", kFloat},
                 maybe("max_boxes", kIndex, "M"),
                 maybe("iou_threshold", kFloat, "P"),
                 maybe("score_threshold", kFloat, "Q")},
      .attrs = {{"center_point_box", false}},
      .traits = {Trait::data_dependent},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: the number of results depends on the data"),
      .gradient = none("integer result"),
      .cost = cost,
      .sharding = none(
          "the number of results depends on the data, so parts have no fixed place in the whole"),
      .samples = {call(3, 0.5F, 0.2F), call(1, 0.5F, 0), call(0, 0.5F, 0),
                  call(std::numeric_limits<std::int64_t>::max(), 0.5F, 0),
                  sample({{2, 5, 4}, {2, 3, 5}, {}})
                      .range(0, 1)
                      .given(2, Tensor::scalar<std::int64_t>(2))
                      .with({{"center_point_box", true}}),
                  rejects({{1, 4, 4}, {1, 1, 3}}, "boxes.count is 4 but scores.count is 3")}};
}

}  // namespace tenon::ops
