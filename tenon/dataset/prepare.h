// Raw data to model inputs, as a recipe says.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "tenon/base/npy.h"
#include "tenon/dataset/audio.h"
#include "tenon/dataset/geometry.h"
#include "tenon/dataset/recipe.h"

namespace tenon::dataset {

/// A picture as the model reads it, [1, C, H, W] or [1, H, W, C], and where it lies over its
/// source.
struct PreparedImage {
  Tensor tensor;
  Placement placement;
};
Result<PreparedImage> prepare_image(const Image& picture, const RecipeInput& input);

/// The windows of a sound, each of the recipe's dims; `starts[i]` is the first sample of window i
/// at the recipe's rate, its context not counted.
struct PreparedAudio {
  std::vector<Tensor> windows;
  std::vector<std::int64_t> starts;
};
Result<PreparedAudio> prepare_audio(const Audio& audio, const RecipeInput& input);

/// Token ids [rows, longest row], padded with the tokenizer's padding token (or 0), and the further
/// inputs that the recipe names. `texts` are the rows' texts.
struct PreparedText {
  NamedTensors tensors;
  std::vector<std::string> texts;
};
Result<PreparedText> prepare_text(std::string_view text, const RecipeInput& input,
                                  const Tokenizer& tokenizer);

/// A constant, or an output of the stage before cut into windows and shaped.
Result<Tensor> prepare_tensor(const RecipeInput& input, const NamedTensors& previous);

/// `t` with dims that hold at most one -1.
Result<Tensor> shaped(const Tensor& t, const Dims& dims);

}  // namespace tenon::dataset
