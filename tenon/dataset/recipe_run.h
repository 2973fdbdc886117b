// Runs a recipe from files to an answer, with whatever runs the models.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/npy.h"
#include "tenon/dataset/recipe.h"

namespace tenon::dataset {

/// Runs the model of a stage (its `model` key; empty in a recipe of one model): inputs and outputs
/// by name, outputs in the model's order.
using RunModel =
    std::function<Result<NamedTensors>(const std::string& model, const NamedTensors& inputs)>;

/// What a person wants to know: lines to print, the same as JSON, and what can be written to files.
struct Answer {
  std::vector<std::string> lines;
  Json json;
  /// Outputs of the last stage; of a model that ran window by window, each joined along its first
  /// dim.
  NamedTensors outputs;
  std::optional<Image> mask;  // decoder "mask": in the size of the picture
};

/// `files` gives each input of the first stage its file by name; "" stands for the only one that
/// needs a file. Pictures by extension and content, .wav, .txt, and .npy for tensors (and for any
/// other kind, as an input that is already prepared).
Result<Answer> run_recipe(const Recipe& recipe,
                          const std::map<std::string, std::filesystem::path>& files,
                          const RunModel& run);

}  // namespace tenon::dataset
