// The arithmetic of the answers; recipe_run.cpp gives them their words.
#include "tenon/dataset/decode.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::dataset {
namespace {

constexpr std::size_t kMaxCandidates = 5000;  // suppression is quadratic in them

// Outputs joined along the boxes, each as rows of `width` numbers (0: its last dim).
Result<Tensor> joined(const NamedTensors& outputs, const std::vector<std::string>& names,
                      std::int64_t width) {
  std::vector<float> values;
  for (const std::string& wanted : names) {
    const auto at = std::find_if(outputs.begin(), outputs.end(),
                                 [&](const auto& o) { return o.first == wanted; });
    if (at == outputs.end()) return not_found("the model has no output '{}'", wanted);
    const Tensor t = TENON_TRY(as_f32(at->second));
    if (width == 0) width = t.ndim() ? t.dim(-1) : 1;
    if (width == 0 || t.count() % width)
      return invalid("output '{}' of {} numbers is not in rows of {}", wanted, t.count(), width);
    const auto data = t.data<float>();
    values.insert(values.end(), data.begin(), data.end());
  }
  const auto rows = static_cast<std::int64_t>(values.size()) / std::max<std::int64_t>(width, 1);
  return Tensor::of<float>({rows, width}, values);
}

// Columns 0..3 of a row to corners.
Detection corners(const float* b, BoxFormat format) {
  switch (format) {
    case BoxFormat::xywh: return {b[0], b[1], b[0] + b[2], b[1] + b[3]};
    case BoxFormat::cxcywh:
    case BoxFormat::yolo:
    case BoxFormat::anchors:
      return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
    case BoxFormat::map:
    case BoxFormat::xyxy: break;
  }
  return {b[0], b[1], b[2], b[3]};
}

// Middles of the anchors, as shares of the picture, in the order of the boxes.
std::vector<std::pair<float, float>> anchor_middles(const std::vector<std::vector<int>>& grids) {
  std::vector<std::pair<float, float>> out;
  for (const auto& g : grids)
    for (int y = 0; y < g[0]; ++y)
      for (int x = 0; x < g[0]; ++x)
        for (int k = 0; k < g[1]; ++k)
          out.emplace_back((static_cast<float>(x) + 0.5f) / static_cast<float>(g[0]),
                           (static_cast<float>(y) + 0.5f) / static_cast<float>(g[0]));
  return out;
}

void keep_best(std::vector<Detection>& boxes) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  if (boxes.size() > kMaxCandidates) boxes.resize(kMaxCandidates);
}

// The label with the best score of one row, where it is above the threshold.
void add_best(std::vector<Detection>& out, Detection box, std::span<const float> scores,
              const RecipeOutput& recipe) {
  const Scored best = top_k(scores, 1).front();
  box.score = recipe.sigmoid ? sigmoid(best.score) : best.score;
  box.label = best.index;
  const bool finite = std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
                      std::isfinite(box.y2);
  if (box.score > recipe.threshold && finite) out.push_back(box);
}

// One output [1, 4 + classes, boxes] (or boxes before columns): middle, size, score of each class.
Result<std::vector<Detection>> read_yolo(const NamedTensors& outputs, const RecipeOutput& recipe) {
  const auto at = std::find_if(outputs.begin(), outputs.end(), [&](const auto& o) {
    return recipe.tensor.empty() || o.first == recipe.tensor;
  });
  if (at == outputs.end()) return not_found("the model has no output '{}'", recipe.tensor);
  const Tensor t = TENON_TRY(as_f32(at->second));
  if (t.ndim() < 2) return invalid("output '{}' has dims {}", at->first, to_text(t.dims()));
  const std::int64_t a = t.dim(-2), b = t.dim(-1), columns = std::min(a, b), rows = std::max(a, b);
  if (columns < 5 || a * b != t.count())
    return invalid("output '{}' with dims {} holds no boxes of one picture", at->first,
                   to_text(t.dims()));
  const auto data = t.data<float>();
  std::vector<Detection> out;
  std::vector<float> row(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < columns; ++c)
      row[static_cast<std::size_t>(c)] =
          data[static_cast<std::size_t>(a < b ? c * b + i : i * b + c)];
    for (int c = 0; c < 4; ++c)
      row[static_cast<std::size_t>(c)] /= static_cast<float>(recipe.box_scale);
    add_best(out, corners(row.data(), BoxFormat::yolo), std::span(row).subspan(4), recipe);
  }
  return out;
}

}  // namespace

std::vector<Scored> top_k(std::span<const float> scores, int k) {
  std::vector<Scored> all;
  all.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) all.push_back({static_cast<int>(i), scores[i]});
  const auto before = [](const Scored& a, const Scored& b) {
    if (std::isnan(a.score) || std::isnan(b.score))
      return !std::isnan(a.score) || (std::isnan(b.score) && a.index < b.index);
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  };
  const auto n = std::min<std::size_t>(static_cast<std::size_t>(std::max(k, 0)), all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(), before);
  all.resize(n);
  return all;
}

void softmax_in_place(std::span<float> row) {
  if (row.empty()) return;
  const float most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float& v : row) sum += v = std::exp(v - most);
  for (float& v : row) v = static_cast<float>(v / sum);
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

CtcText decode_ctc(std::span<const float> p, int steps, int classes,
                   const std::vector<std::string>& alphabet, int blank) {
  CtcText out;
  double sum = 0;
  int kept = 0, last = -1;
  for (int t = 0; t < steps; ++t) {
    const auto row = p.subspan(static_cast<std::size_t>(t) * static_cast<std::size_t>(classes),
                               static_cast<std::size_t>(classes));
    const int best = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
    if (best != last && best != blank) {
      if (static_cast<std::size_t>(best) < alphabet.size())
        out.text += alphabet[static_cast<std::size_t>(best)];
      sum += row[static_cast<std::size_t>(best)];
      ++kept;
    }
    last = best;
  }
  out.score = kept ? static_cast<float>(sum / kept) : 0;
  return out;
}

float overlap(const Detection& a, const Detection& b) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1),
              h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const float both = w * h,
              sum = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - both;
  return sum > 0 ? both / sum : 0;
}

std::vector<Detection> suppress(std::vector<Detection> boxes, double threshold, int max_boxes) {
  keep_best(boxes);
  std::vector<Detection> kept;
  for (const Detection& b : boxes) {
    if (static_cast<int>(kept.size()) >= max_boxes) break;
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](const Detection& k) {
      return k.label == b.label && overlap(k, b) > threshold;
    });
    if (!hidden) kept.push_back(b);
  }
  return kept;
}

Result<std::vector<Detection>> read_detections(const NamedTensors& outputs,
                                               const RecipeOutput& recipe) {
  if (recipe.format == BoxFormat::yolo) return read_yolo(outputs, recipe);
  const Tensor boxes =
      TENON_TRY(joined(outputs, recipe.boxes, recipe.format == BoxFormat::anchors ? 0 : 4));
  if (boxes.dim(1) < 4) return invalid("boxes of {} numbers", boxes.dim(1));
  const std::int64_t n = boxes.dim(0);
  std::vector<float> raw;
  const Tensor scores = TENON_TRY(joined(outputs, recipe.scores, 1));
  if (n == 0 || scores.count() % n) return invalid("{} scores for {} boxes", scores.count(), n);
  const auto classes = static_cast<std::size_t>(scores.count() / n);
  const auto anchors = anchor_middles(recipe.grids);
  if (recipe.format == BoxFormat::anchors && static_cast<std::int64_t>(anchors.size()) != n)
    return invalid("{} anchors for {} boxes", anchors.size(), n);
  std::vector<Detection> out;
  for (std::int64_t i = 0; i < n; ++i) {
    float b[4];
    for (int c = 0; c < 4; ++c)
      b[c] = boxes.data<float>()[static_cast<std::size_t>(i * boxes.dim(1) + c)] /
             static_cast<float>(recipe.box_scale);
    if (recipe.format == BoxFormat::anchors)
      b[0] += anchors[static_cast<std::size_t>(i)].first,
          b[1] += anchors[static_cast<std::size_t>(i)].second;
    add_best(out, corners(b, recipe.format),
             scores.data<float>().subspan(static_cast<std::size_t>(i) * classes, classes), recipe);
  }
  return out;
}

Result<Tensor> pool(const Tensor& tokens, const Tensor& mask, Pooling pooling, bool normalize) {
  Tensor t = TENON_TRY(as_f32(tokens));
  if (t.ndim() == 3 && pooling != Pooling::none) {
    const std::int64_t rows = t.dim(0), steps = t.dim(1), width = t.dim(2);
    if (mask.defined() && mask.count() != rows * steps)
      return invalid("a mask {} for tokens {}", to_text(mask.dims()), to_text(t.dims()));
    Tensor out = Tensor::zeros(DType::f32, {rows, width});
    for (std::int64_t r = 0; r < rows; ++r) {
      double count = 0;
      const auto to = out.data<float>().subspan(static_cast<std::size_t>(r * width),
                                                static_cast<std::size_t>(width));
      for (std::int64_t s = 0;
           s < (pooling == Pooling::cls ? std::min<std::int64_t>(1, steps) : steps); ++s) {
        if (pooling == Pooling::mean && mask.defined() && element(mask, r * steps + s) == 0)
          continue;
        ++count;
        for (std::int64_t i = 0; i < width; ++i)
          to[static_cast<std::size_t>(i)] +=
              t.data<float>()[static_cast<std::size_t>((r * steps + s) * width + i)];
      }
      for (float& v : to) v = static_cast<float>(v / std::max(count, 1e-9));
    }
    t = out;
  }
  if (t.ndim() != 2)
    return invalid("an embedding needs rows of vectors, not dims {}", to_text(t.dims()));
  if (!normalize) return t;
  t = t.clone();
  for (std::int64_t r = 0; r < t.dim(0); ++r) {
    const auto row = t.data<float>().subspan(static_cast<std::size_t>(r * t.dim(1)),
                                             static_cast<std::size_t>(t.dim(1)));
    double square = 0;
    for (float v : row) square += static_cast<double>(v) * v;
    for (float& v : row) v = static_cast<float>(v / std::max(std::sqrt(square), 1e-12));
  }
  return t;
}

float cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    ab += static_cast<double>(a[i]) * b[i], aa += static_cast<double>(a[i]) * a[i],
        bb += static_cast<double>(b[i]) * b[i];
  return static_cast<float>(ab / std::max(std::sqrt(aa) * std::sqrt(bb), 1e-12));
}

Result<Tensor> as_f32(const Tensor& t) {
  if (t.dtype() == DType::f32) return t;
  if (!t.defined() || t.dtype() == DType::string || is_complex(t.dtype()))
    return invalid("an output of type {} holds no scores", name(t.dtype()));
  return from_doubles(to_doubles(t), DType::f32, t.dims());
}

}  // namespace tenon::dataset
