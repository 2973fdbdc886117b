// Model outputs to answers: classes, boxes, text by CTC, embeddings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenon/base/npy.h"
#include "tenon/base/tensor.h"
#include "tenon/dataset/recipe.h"

namespace tenon::dataset {

struct Scored {
  int index = 0;
  float score = 0;
};
/// The `k` largest of `scores`, falling; equal ones in the order of their index. NaN comes last.
std::vector<Scored> top_k(std::span<const float> scores, int k);
void softmax_in_place(std::span<float> row);
float sigmoid(float x);

/// Text of one sequence of probabilities [steps, classes]: the best class of each step, repeats
/// joined, the blank dropped (Graves et al. 2006, best path). `score` is the mean probability of
/// the characters that stay, 0 for none.
struct CtcText {
  std::string text;
  float score = 0;
};
/// `alphabet[c]` is the text of class c; the blank's is not read.
CtcText decode_ctc(std::span<const float> probabilities, int steps, int classes,
                   const std::vector<std::string>& alphabet, int blank);

/// A detection in pixels or shares of the prepared picture.
struct Detection {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0, score = 0;
  int label = 0;
};
float overlap(const Detection& a, const Detection& b);  // intersection over union
/// Greedy suppression within each label: falling scores, a box goes when it overlaps a kept one by
/// more than `threshold`. At most `max_boxes` stay.
std::vector<Detection> suppress(std::vector<Detection> boxes, double threshold, int max_boxes);
/// All candidates above the threshold in the outputs that the recipe names, before suppression.
Result<std::vector<Detection>> read_detections(const NamedTensors& outputs,
                                               const RecipeOutput& recipe);

/// Sentence vectors [rows, width] from token vectors [rows, tokens, width]: the mean over tokens
/// that `mask` [rows, tokens] counts, the first token, or (two dims) the vectors as they are.
Result<Tensor> pool(const Tensor& tokens, const Tensor& mask, Pooling pooling, bool normalize);
float cosine(std::span<const float> a, std::span<const float> b);

/// Any floating or integer tensor as f32.
Result<Tensor> as_f32(const Tensor& t);

}  // namespace tenon::dataset
