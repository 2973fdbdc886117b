#include "tenon/dataset/decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tenon/dataset/text_boxes.h"

namespace tenon::dataset {
namespace {

TEST(TopK, OrdersTiesAndNans) {
  const std::vector<float> s = {1, NAN, 3, 3, -1};
  const auto top = top_k(s, 10);
  ASSERT_EQ(top.size(), 5u);
  EXPECT_EQ(top[0].index, 2);
  EXPECT_EQ(top[1].index, 3);
  EXPECT_EQ(top[4].index, 1);
  EXPECT_TRUE(top_k({}, 3).empty());
}

TEST(Softmax, SurvivesLargeValues) {
  std::vector<float> row = {1000, 1000, -1000};
  softmax_in_place(row);
  EXPECT_FLOAT_EQ(row[0], 0.5f);
  EXPECT_FLOAT_EQ(row[2], 0);
}

TEST(Ctc, JoinsRepeatsAndDropsBlanks) {
  const std::vector<std::string> alphabet = {"", "a", "b"};
  const auto text = [&](std::vector<int> path) {
    std::vector<float> p;
    for (int c : path)
      for (int k = 0; k < 3; ++k) p.push_back(k == c ? 0.8f : 0.1f);
    return decode_ctc(p, static_cast<int>(path.size()), 3, alphabet, 0);
  };
  EXPECT_EQ(text({1, 1, 0, 1, 2, 2, 0}).text, "aab");
  EXPECT_FLOAT_EQ(text({1, 1, 0, 1, 2, 2, 0}).score, 0.8f);
  EXPECT_EQ(text({0, 0}).text, "");
  EXPECT_EQ(text({0, 0}).score, 0);
  EXPECT_EQ(text({}).text, "");
}

TEST(Suppress, KeepsTheBestOfEachPlaceAndLabel) {
  const std::vector<Detection> boxes = {{0, 0, 10, 10, .5f, 0},
                                        {1, 1, 10, 10, .9f, 0},
                                        {0, 0, 10, 10, .4f, 1},
                                        {20, 20, 30, 30, .3f, 0}};
  const auto kept = suppress(boxes, 0.5, 10);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_FLOAT_EQ(kept[0].score, .9f);
  EXPECT_EQ(kept[1].label, 1);
  EXPECT_EQ(suppress(boxes, 0.5, 1).size(), 1u);
  EXPECT_FLOAT_EQ(overlap({0, 0, 2, 2}, {1, 0, 3, 2}), 1 / 3.f);
  EXPECT_EQ(overlap({0, 0, 1, 1}, {1, 0, 3, 2}), 0);
}

TEST(Detections, EveryFormatGivesTheSameBox) {
  RecipeOutput r;
  r.threshold = 0.5;
  r.boxes = {"b"};
  r.scores = {"s"};
  const auto read = [&](BoxFormat format, std::vector<float> box) {
    r.format = format;
    const auto d =
        read_detections({{"b", Tensor::of<float>({1, 1, 4}, box)},
                         {"s", Tensor::of<float>({1, 1, 2}, std::vector<float>{.1f, .9f})}},
                        r);
    TENON_CHECK(d.ok() && d->size() == 1, "{}", d.ok() ? "count" : d.error().text());
    return (*d)[0];
  };
  for (const Detection& d :
       {read(BoxFormat::xyxy, {1, 2, 5, 8}), read(BoxFormat::xywh, {1, 2, 4, 6}),
        read(BoxFormat::cxcywh, {3, 5, 4, 6})}) {
    EXPECT_EQ(d.x1, 1);
    EXPECT_EQ(d.y1, 2);
    EXPECT_EQ(d.x2, 5);
    EXPECT_EQ(d.y2, 8);
    EXPECT_EQ(d.label, 1);
  }
  r.format = BoxFormat::anchors;
  r.grids = {{2, 1}};
  r.box_scale = 100;
  std::vector<float> offsets(16, 0);
  offsets[4] = 10;  // the second anchor stands at (0.75, 0.25)
  const auto d =
      read_detections({{"b", Tensor::of<float>({1, 4, 4}, offsets)},
                       {"s", Tensor::of<float>({1, 4, 1}, std::vector<float>{0, 1, 0, 0})}},
                      r);
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_FLOAT_EQ((*d)[0].x1, 0.85f);
  EXPECT_FLOAT_EQ((*d)[0].y1, 0.25f);
  r.grids = {{3, 1}};
  EXPECT_FALSE(
      read_detections(
          {{"b", Tensor::zeros(DType::f32, {1, 4, 4})}, {"s", Tensor::zeros(DType::f32, {4})}}, r)
          .ok());
  EXPECT_EQ(read_detections({}, r).error().code, Code::not_found);
}

TEST(Detections, YoloBothWaysRound) {
  RecipeOutput r;
  r.format = BoxFormat::yolo;
  r.threshold = 0.5;
  std::vector<float> rows(6 * 8, 0), columns(6 * 8, 0);
  const float box[] = {10, 10, 4, 6, 0, .8f};
  for (int c = 0; c < 6; ++c)
    rows[static_cast<std::size_t>(3 * 6 + c)] = columns[static_cast<std::size_t>(c * 8 + 3)] =
        box[c];
  for (const Tensor& t :
       {Tensor::of<float>({1, 8, 6}, rows), Tensor::of<float>({1, 6, 8}, columns)}) {
    const auto d = read_detections({{"o", t}}, r);
    ASSERT_TRUE(d.ok());
    ASSERT_EQ(d->size(), 1u);
    EXPECT_EQ((*d)[0].x1, 8);
    EXPECT_EQ((*d)[0].label, 1);
  }
}

TEST(Geometry, SmallestRectangleOfATurnedOne) {
  for (double angle : {0.0, 0.1, 0.5, -0.3}) {
    std::vector<Point> points;
    const double c = std::cos(angle), s = std::sin(angle);
    for (double u = 0; u <= 60; u += 0.5)
      for (double v = 0; v <= 10; v += 0.5)
        points.push_back(
            {static_cast<float>(50 + u * c - v * s), static_cast<float>(50 + u * s + v * c)});
    const Quad q = smallest_rectangle(points);
    EXPECT_NEAR(width_of(q), 60, 0.1) << angle;
    EXPECT_NEAR(height_of(q), 10, 0.1) << angle;
    EXPECT_NEAR(q.corners[0].x, 50, 0.1) << angle;
    EXPECT_NEAR(width_of(grown(q, 2)), 64, 0.1);
    EXPECT_NEAR(height_of(grown(q, 2)), 14, 0.1);
  }
  EXPECT_EQ(width_of(smallest_rectangle({{3, 4}})), 0);
  EXPECT_EQ(width_of(smallest_rectangle({})), 0);
}

TEST(Geometry, CutOutIsUpright) {
  Image page = make_image(40, 30, 1);
  for (int y = 0; y < 30; ++y)
    for (int x = 0; x < 40; ++x) page.row(y)[x] = static_cast<std::uint8_t>(x * 5);
  const Image part = cut_out(page, {{{10, 5}, {30, 5}, {30, 15}, {10, 15}}, 0});
  ASSERT_EQ(part.width, 20);
  ASSERT_EQ(part.height, 10);
  for (int x = 0; x < 20; ++x) EXPECT_EQ(part.row(3)[x], (x + 10) * 5);
  const Image tall = cut_out(page, {{{10, 5}, {15, 5}, {15, 25}, {10, 25}}, 0});
  EXPECT_EQ(tall.width, 20);
  EXPECT_EQ(tall.height, 5);
}

TEST(TextBoxes, HandleNoiseEdgesAndEmptyMaps) {
  const Placement same{20, 10, 20, 10, 1, 1, 0, 0};
  std::vector<float> map(200, 0);
  EXPECT_TRUE(find_text_boxes(map, 20, 10, same, {}).empty());
  map[5 * 20 + 5] = 1;  // a lone pixel
  EXPECT_TRUE(find_text_boxes(map, 20, 10, same, {}).empty());
  std::fill(map.begin(), map.end(), 1.0f);
  const auto all = find_text_boxes(map, 20, 10, same, {});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].corners[0].x, 0);
  EXPECT_EQ(all[0].corners[2].x, 20);
  std::fill(map.begin(), map.end(), 0.5f);  // open pixels, but an unsure box
  EXPECT_TRUE(find_text_boxes(map, 20, 10, same, {}).empty());
  std::fill(map.begin(), map.end(), NAN);
  EXPECT_TRUE(find_text_boxes(map, 20, 10, same, {}).empty());
}

TEST(Pool, MeanCountsOnlyTheMask) {
  const Tensor t = Tensor::of<float>({1, 3, 2}, std::vector<float>{1, 0, 3, 0, 100, 100});
  const Tensor mask = Tensor::of<std::int64_t>({1, 3}, std::vector<std::int64_t>{1, 1, 0});
  EXPECT_EQ(to_doubles(*pool(t, mask, Pooling::mean, false)), (std::vector<double>{2, 0}));
  EXPECT_EQ(to_doubles(*pool(t, mask, Pooling::mean, true)), (std::vector<double>{1, 0}));
  EXPECT_EQ(to_doubles(*pool(t, {}, Pooling::cls, false)), (std::vector<double>{1, 0}));
  EXPECT_FALSE(pool(t, Tensor::zeros(DType::i64, {2}), Pooling::mean, false).ok());
  EXPECT_FALSE(pool(t, {}, Pooling::none, false).ok());
}

}  // namespace
}  // namespace tenon::dataset
