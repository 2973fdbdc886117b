// The words of an answer for each decoder.
#include <algorithm>
#include <cmath>

#include "tenon/dataset/answer_internal.h"
#include "tenon/dataset/decode.h"
#include "tenon/dataset/text_boxes.h"

namespace tenon::dataset {
namespace {

Result<Tensor> chosen(const RecipeOutput& recipe, const NamedTensors& outputs) {
  for (const auto& [key, tensor] : outputs)
    if (recipe.tensor.empty() || key == recipe.tensor) return tensor;
  return not_found("the model has no output '{}'", recipe.tensor);
}

std::string label_of(const RecipeOutput& recipe, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < recipe.labels.size()
             ? recipe.labels[static_cast<std::size_t>(index)]
             : fmt::format("class {}", index);
}

// Scores as rows [n, classes], made probabilities where the recipe says so.
Result<Tensor> class_rows(const RecipeOutput& recipe, const NamedTensors& outputs) {
  const Tensor t = TENON_TRY(as_f32(TENON_TRY(chosen(recipe, outputs)))).clone();
  const std::int64_t classes = t.ndim() ? t.dim(-1) : 1;
  if (t.count() == 0) return invalid("the output holds no scores");
  Tensor rows = t.reshaped({t.count() / classes, classes});
  for (std::int64_t r = 0; r < rows.dim(0); ++r) {
    const auto row = rows.data<float>().subspan(static_cast<std::size_t>(r * classes),
                                                static_cast<std::size_t>(classes));
    if (recipe.softmax) softmax_in_place(row);
    if (recipe.sigmoid) std::transform(row.begin(), row.end(), row.begin(), sigmoid);
  }
  return rows;
}

std::vector<Scored> best_of(const RecipeOutput& recipe, std::span<const float> row) {
  // One score and two labels: the second label with this probability, the first with the rest.
  if (row.size() == 1 && recipe.labels.size() == 2) {
    const double threshold = recipe.threshold > 0 ? recipe.threshold : 0.5;
    return {row[0] > threshold ? Scored{1, row[0]} : Scored{0, 1 - row[0]}};
  }
  std::vector<Scored> best = top_k(row, recipe.top_k);
  std::erase_if(
      best, [&](const Scored& s) { return recipe.threshold > 0 && !(s.score > recipe.threshold); });
  return best;
}

// Windows of a sound: neighbours with the same label become one stretch of time.
void describe_windows(const RecipeOutput& recipe, const Tensor& rows, const Source& source,
                      Answer& answer) {
  Json stretches = Json::array(), counts = Json::object();
  const auto classes = static_cast<std::size_t>(rows.dim(1));
  const auto windows = static_cast<std::size_t>(rows.dim(0));
  const auto seconds = [&](std::size_t w) {
    const std::int64_t start =
        w < source.starts.size() ? source.starts[w] : source.starts.back() + source.hop;
    return static_cast<double>(start) / source.sample_rate;
  };
  std::size_t first = 0;
  int current = -1;
  const auto close = [&](std::size_t end) {
    if (current < 0) return;
    stretches.push_back({{"label", label_of(recipe, current)},
                         {"from_seconds", seconds(first)},
                         {"to_seconds", seconds(end)},
                         {"windows", end - first}});
    answer.lines.push_back(fmt::format("{:8.2f} - {:8.2f} s  {}", seconds(first), seconds(end),
                                       label_of(recipe, current)));
  };
  for (std::size_t w = 0; w < windows; ++w) {
    const auto best = best_of(recipe, rows.data<float>().subspan(w * classes, classes));
    const int label = best.empty() ? -1 : best[0].index;
    if (label >= 0) counts[label_of(recipe, label)] = counts.value(label_of(recipe, label), 0) + 1;
    if (label == current) continue;
    close(w);
    first = w;
    current = label;
  }
  close(windows);
  std::string total;
  for (const auto& [label, count] : counts.items())
    total += fmt::format("{}{} {}", total.empty() ? "" : ", ", label, count.get<int>());
  answer.lines.push_back(fmt::format("{} windows: {}", windows, total));
  answer.json = {{"windows", windows}, {"counts", counts}, {"stretches", stretches}};
}

Result<Answer> classes(const RecipeOutput& recipe, const NamedTensors& outputs,
                       const Source& source) {
  const Tensor rows = TENON_TRY(class_rows(recipe, outputs));
  Answer answer;
  if (source.starts.size() > 1 && static_cast<std::size_t>(rows.dim(0)) == source.starts.size()) {
    describe_windows(recipe, rows, source, answer);
    return answer;
  }
  Json list = Json::array();
  const auto width = static_cast<std::size_t>(rows.dim(1));
  for (std::int64_t r = 0; r < rows.dim(0); ++r) {
    Json one = Json::array();
    for (const Scored& s :
         best_of(recipe, rows.data<float>().subspan(static_cast<std::size_t>(r) * width, width))) {
      answer.lines.push_back(fmt::format("{:.4f}  {}", s.score, label_of(recipe, s.index)));
      one.push_back({{"label", label_of(recipe, s.index)},
                     {"index", s.index},
                     {"score", json_number(s.score)}});
    }
    list.push_back(std::move(one));
  }
  answer.json = {{"classes", rows.dim(0) == 1 ? list[0] : list}};
  return answer;
}

Result<std::vector<Quad>> map_boxes(const RecipeOutput& recipe, const NamedTensors& outputs,
                                    const Source& source) {
  const Tensor t = TENON_TRY(as_f32(TENON_TRY(chosen(recipe, outputs))));
  if (t.ndim() < 2 || t.count() == 0 || t.dim(-1) * t.dim(-2) != t.count() || t.count() > (1 << 30))
    return invalid("a map of one picture cannot have dims {}", to_text(t.dims()));
  const int width = static_cast<int>(t.dim(-1)), height = static_cast<int>(t.dim(-2));
  return find_text_boxes(t.data<float>(), width, height, source.placement,
                         {.threshold = recipe.threshold,
                          .box_threshold = recipe.box_threshold,
                          .unclip = recipe.unclip,
                          .max_boxes = recipe.max_boxes});
}

// Detections of the prepared picture, as corners in the source picture.
Quad to_quad(Detection d, const RecipeOutput& recipe, const Placement& p) {
  if (recipe.relative) {
    const auto width = static_cast<float>(p.prepared_width),
               height = static_cast<float>(p.prepared_height);
    d.x1 *= width, d.x2 *= width, d.y1 *= height, d.y2 *= height;
  }
  const Point a = p.to_source({d.x1, d.y1}), b = p.to_source({d.x2, d.y2});
  return {{a, {b.x, a.y}, b, {a.x, b.y}}, d.score};
}

Result<Answer> boxes(const RecipeOutput& recipe, const NamedTensors& outputs, const Source& source,
                     std::vector<Quad>* found) {
  if (source.placement.width == 0) return invalid("boxes need a picture as input");
  std::vector<Quad> quads;
  std::vector<int> labels;
  if (recipe.format == BoxFormat::map) {
    quads = TENON_TRY(map_boxes(recipe, outputs, source));
  } else {
    for (const Detection& d :
         suppress(TENON_TRY(read_detections(outputs, recipe)), recipe.nms, recipe.max_boxes)) {
      quads.push_back(to_quad(d, recipe, source.placement));
      labels.push_back(d.label);
    }
  }
  Answer answer;
  answer.json = {{"boxes", Json::array()}};
  for (std::size_t i = 0; i < quads.size(); ++i) {
    Json one = {{"box", box_json(quads[i])}, {"score", json_number(quads[i].score)}};
    const std::string label = labels.empty() ? "" : label_of(recipe, labels[i]);
    if (!labels.empty()) one["label"] = label;
    const Point a = quads[i].corners[0], b = quads[i].corners[2];
    answer.lines.push_back(fmt::format("{:.3f}  ({:.0f}, {:.0f}) to ({:.0f}, {:.0f})  {}",
                                       quads[i].score, a.x, a.y, b.x, b.y, label));
    answer.json["boxes"].push_back(std::move(one));
  }
  if (found) *found = std::move(quads);
  return answer;
}

Result<Answer> ctc(const RecipeOutput& recipe, const NamedTensors& outputs) {
  Tensor t = TENON_TRY(as_f32(TENON_TRY(chosen(recipe, outputs))));
  if (t.ndim() == 2) t = t.reshaped({1, t.dim(0), t.dim(1)});
  if (t.ndim() != 3 || t.dim(2) == 0)
    return invalid("a text needs steps of classes, not dims {}", to_text(t.dims()));
  // Class 0 is usually the blank and the labels follow it.
  std::vector<std::string> alphabet = recipe.labels;
  alphabet.insert(
      alphabet.begin() +
          std::min<std::ptrdiff_t>(recipe.blank, static_cast<std::ptrdiff_t>(alphabet.size())),
      std::string());
  if (recipe.space) alphabet.emplace_back(" ");
  if (static_cast<std::int64_t>(alphabet.size()) != t.dim(2))
    return invalid("the model tells {} classes apart but the labels with the blank{} are {}",
                   t.dim(2), recipe.space ? " and the space" : "", alphabet.size());
  Answer answer;
  Json list = Json::array();
  const auto one = static_cast<std::size_t>(t.dim(1) * t.dim(2));
  for (std::int64_t r = 0; r < t.dim(0); ++r) {
    const CtcText text =
        decode_ctc(t.data<float>().subspan(static_cast<std::size_t>(r) * one, one),
                   static_cast<int>(t.dim(1)), static_cast<int>(t.dim(2)), alphabet, recipe.blank);
    const bool sure = text.score >= recipe.threshold;
    answer.lines.push_back(sure ? text.text : std::string());
    list.push_back({{"text", text.text}, {"score", json_number(text.score)}});
  }
  answer.json = list.size() == 1 ? list[0] : Json{{"texts", list}};
  return answer;
}

Result<Answer> text(const RecipeOutput& recipe, const NamedTensors& outputs) {
  Tensor t = TENON_TRY(chosen(recipe, outputs));
  const auto tokenizer = TENON_TRY(load_tokenizer(recipe.tokenizer));
  if (!is_integer(t.dtype())) {  // scores of every token: the best one
    const Tensor scores = TENON_TRY(as_f32(t));
    if (scores.ndim() < 1 || scores.dim(-1) == 0) return invalid("the output holds no tokens");
    const std::int64_t classes = scores.dim(-1);
    std::vector<std::int64_t> ids;
    for (std::int64_t at = 0; at < scores.count(); at += classes) {
      const auto row = scores.data<float>().subspan(static_cast<std::size_t>(at),
                                                    static_cast<std::size_t>(classes));
      ids.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    }
    Dims dims = scores.dims();
    dims.pop_back();
    t = from_int64s(ids, DType::i64, dims);
  }
  const std::int64_t width = t.ndim() ? t.dim(-1) : 1;
  const auto all = to_int64s(t);
  Answer answer;
  Json list = Json::array();
  for (std::int64_t at = 0; width > 0 && at < t.count(); at += width) {
    const std::vector<TokenId> ids(all.begin() + at, all.begin() + at + width);
    answer.lines.push_back(tokenizer->decode(ids));
    list.push_back(answer.lines.back());
  }
  answer.json = {{"texts", list}};
  return answer;
}

Result<Answer> embedding(const RecipeOutput& recipe, const NamedTensors& outputs,
                         const Source& source) {
  const Tensor rows = TENON_TRY(pool(TENON_TRY(chosen(recipe, outputs)), source.token_mask,
                                     recipe.pooling, recipe.normalize));
  Answer answer;
  answer.json = {{"embeddings", Json::array()}, {"similarities", Json::array()}};
  const auto width = static_cast<std::size_t>(rows.dim(1));
  const auto row = [&](std::size_t r) { return rows.data<float>().subspan(r * width, width); };
  const auto shown = [&](std::size_t r) {
    return r < source.texts.size() ? source.texts[r] : fmt::format("row {}", r);
  };
  const auto n = static_cast<std::size_t>(rows.dim(0));
  for (std::size_t r = 0; r < n; ++r) {
    Json values = Json::array();
    for (float v : row(r)) values.push_back(json_number(v));
    answer.json["embeddings"].push_back(std::move(values));
  }
  std::vector<std::pair<float, std::string>> pairs;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const float c = cosine(row(a), row(b));
      answer.json["similarities"].push_back({{"a", a}, {"b", b}, {"cosine", json_number(c)}});
      pairs.emplace_back(c, fmt::format("{:7.4f}  {} | {}", c, shown(a), shown(b)));
    }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [score, line] : pairs) answer.lines.push_back(std::move(line));
  if (n == 1) answer.lines.push_back(fmt::format("one vector of {} numbers", width));
  return answer;
}

Result<Answer> mask(const RecipeOutput& recipe, const NamedTensors& outputs, const Source& source) {
  const Tensor t = TENON_TRY(as_f32(TENON_TRY(chosen(recipe, outputs)))).clone();
  const Placement& p = source.placement;
  if (p.width == 0) return invalid("a mask needs a picture as input");
  if (p.offset_x < 0 || p.offset_y < 0) return unsupported("a mask for a picture that was cropped");
  if (t.ndim() < 2 || t.count() == 0 || t.count() > (1 << 28))
    return invalid("a mask cannot have dims {}", to_text(t.dims()));
  const int width = static_cast<int>(t.dim(-1)), height = static_cast<int>(t.dim(-2));
  const auto values = t.data<float>().first(static_cast<std::size_t>(width) *
                                            static_cast<std::size_t>(height));  // the first plane
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float from = recipe.stretch_values ? *low : 0,
              range = recipe.stretch_values && *high > *low ? *high - *low : 1;
  Image small = make_image(width, height, 1);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    float v = recipe.sigmoid ? sigmoid(values[i]) : (values[i] - from) / range;
    v = std::isnan(v) ? 0 : std::clamp(v, 0.0f, 1.0f);
    if (recipe.threshold > 0) v = v > recipe.threshold ? 1.0f : 0.0f;
    sum += v;
    small.pixels[i] = static_cast<std::uint8_t>(std::lround(v * 255));
  }
  // Only the part that the picture covers, in the picture's own size.
  const auto part = [](double offset, double length, int prepared, int values_across) {
    const int from_value = std::clamp(
        static_cast<int>(std::lround(offset * values_across / prepared)), 0, values_across - 1);
    return std::pair(from_value,
                     std::clamp(static_cast<int>(std::lround(length * values_across / prepared)), 1,
                                values_across - from_value));
  };
  const auto [x, w] = part(p.offset_x, p.width * p.scale_x, p.prepared_width, width);
  const auto [y, h] = part(p.offset_y, p.height * p.scale_y, p.prepared_height, height);
  Answer answer;
  answer.mask = resize(crop(small, {x, y, w, h}), p.width, p.height, Interpolation::bilinear);
  const double share = sum / static_cast<double>(values.size());
  answer.json = {{"foreground", share}, {"width", p.width}, {"height", p.height}};
  answer.lines.push_back(fmt::format("foreground {:.3f} of {}x{}", share, p.width, p.height));
  return answer;
}

Result<Answer> raw(const NamedTensors& outputs) {
  Answer answer;
  answer.json = {{"outputs", Json::array()}};
  for (const auto& [key, t] : outputs) {
    answer.lines.push_back(fmt::format("{} {} {}", key, name(t.dtype()), to_text(t.dims())));
    answer.json["outputs"].push_back(
        {{"name", key}, {"dtype", name(t.dtype())}, {"shape", t.dims()}});
  }
  return answer;
}

}  // namespace

Json box_json(const Quad& box) {
  Json corners = Json::array();
  for (Point p : box.corners) corners.push_back({json_number(p.x), json_number(p.y)});
  return corners;
}

Result<Answer> decode_answer(const RecipeOutput& recipe, const NamedTensors& outputs,
                             const Source& source, std::vector<Quad>* found) {
  switch (recipe.decoder) {
    case Decoder::classes: return classes(recipe, outputs, source);
    case Decoder::boxes: return boxes(recipe, outputs, source, found);
    case Decoder::ctc: return ctc(recipe, outputs);
    case Decoder::text: return text(recipe, outputs);
    case Decoder::embedding: return embedding(recipe, outputs, source);
    case Decoder::mask: return mask(recipe, outputs, source);
    case Decoder::raw: break;
  }
  return raw(outputs);
}

}  // namespace tenon::dataset
