// From the outputs of one stage to words, JSON and boxes.
#pragma once

#include <string>
#include <vector>

#include "tenon/dataset/geometry.h"
#include "tenon/dataset/recipe_run.h"

namespace tenon::dataset {

/// What the inputs were made of, as far as an answer needs it.
struct Source {
  Image picture;
  Placement placement;
  std::vector<std::string> texts;
  Tensor token_mask;
  int sample_rate = 0, hop = 0;
  std::vector<std::int64_t> starts;
};

/// `boxes` receives what a box decoder found, in pixels of the source picture.
Result<Answer> decode_answer(const RecipeOutput& recipe, const NamedTensors& outputs,
                             const Source& source, std::vector<Quad>* boxes);

Json box_json(const Quad& box);

}  // namespace tenon::dataset
