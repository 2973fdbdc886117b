// recipe.toml: how a picture, a sound or a text becomes a model's inputs, and its outputs an
// answer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/base/tensor.h"
#include "tenon/dataset/image.h"
#include "tenon/dataset/resize.h"
#include "tenon/dataset/tokenizer.h"

namespace tenon::dataset {

enum class InputKind : std::uint8_t { image, audio, text, tensor };
enum class Fit : std::uint8_t { stretch, fit, crop };
enum class Decoder : std::uint8_t { classes, boxes, ctc, text, embedding, mask, raw };
enum class BoxFormat : std::uint8_t { map, xyxy, xywh, cxcywh, yolo, anchors };
enum class Pooling : std::uint8_t { mean, cls, none };

/// Pixels become (pixel * scale - mean) / std.
struct ImageInput {
  int height = 0, width = 0;  // 0: follows from the other side, or the picture's own
  int longest = 0;            // without a size: the longer side becomes this, ...
  int shortest = 0;           // ... or the shorter one becomes at least this
  int multiple = 1;           // sides are rounded to the nearest multiple, at least one
  Fit fit = Fit::stretch;
  Interpolation interpolation = Interpolation::area;
  bool channels_first = true;
  Color color = Color::rgb;
  std::vector<double> mean = {0}, std = {1};
  double scale = 1.0 / 255;
  int background = -1;  // under transparent pixels; -1 drops the alpha channel
  int pad = 0;          // pixel value around a picture that is fitted
};

struct AudioInput {
  int sample_rate = 16000;
  int frame = 0,
      hop = 0;         // samples of a window and from one to the next; 0: the whole sound, at once
  int context = 0;     // samples from before the window that stand in front of it, zeros at first
  double scale = 1;    // of samples in [-1, 1]
  double seconds = 0;  // cut to this length; 0: all
  bool pad_last = false;  // a last window that is not full is filled with zeros instead of dropped
  Dims dims = {1, -1};    // of one window; -1 stands for its samples
};

struct TextInput {
  std::filesystem::path tokenizer;
  int max_length = 0;
  bool each_line = true;  // every line that is not empty is a row; otherwise the text is one
  std::string mask_name, types_name;  // further inputs: 1 where a token stands, and the segment (0)
};

struct TensorInput {
  Tensor value;                  // a constant; undefined: a file, or
  std::string source;            // an output of the stage before, as rows of its last dim:
  double scale = 1, offset = 0;  // x * scale + offset
  int frame = 0, hop = 0;        // windows over the rows, all in one tensor
  bool last = false;             // the last window alone
  Dims dims;                     // the final dims, with at most one -1; empty: as they are
};

struct RecipeInput {
  std::string name;
  InputKind kind = InputKind::tensor;
  std::optional<DType>
      dtype;  // unset: f32 for pictures and sound, i64 for text, the file's for tensors
  ImageInput image;
  AudioInput audio;
  TextInput text;
  TensorInput tensor;
};

struct RecipeOutput {
  Decoder decoder = Decoder::raw;
  std::string tensor;  // which output; empty: the first
  std::vector<std::string> labels;
  double threshold = 0;
  int top_k = 5;
  bool softmax = false, sigmoid = false;
  // boxes
  BoxFormat format = BoxFormat::map;
  std::vector<std::string> boxes, scores;  // outputs, joined along the boxes
  std::vector<std::vector<int>>
      grids;              // anchors: cells a side and anchors a cell, in the order of the boxes
  double box_scale = 1;   // raw coordinates are divided by this ...
  bool relative = false;  // ... and then are shares of the input picture, not pixels
  double nms = 0.45, box_threshold = 0.6, unclip = 1.5;
  int max_boxes = 100;
  // ctc, text
  int blank = 0;
  bool space = false;  // a space stands after the labels
  std::filesystem::path tokenizer;
  // embedding
  Pooling pooling = Pooling::mean;
  bool normalize = true;
  // mask
  bool stretch_values = false;  // smallest value to 0, largest to 1
};

/// An output that becomes an input of the next run: what a model remembers from window to window.
struct StateLink {
  std::string input, output;
  Dims dims;
  DType dtype = DType::f32;  // starts as zeros
};

struct Stage {
  std::string model;  // file or name, for whoever runs it; empty in a recipe of one model
  bool cut_boxes =
      false;  // run once for each box that the stage before found, on its part of the picture
  std::vector<RecipeInput> inputs;
  std::vector<StateLink> states;
  RecipeOutput output;
};

struct Recipe {
  std::vector<Stage> stages;
  /// Every file that the recipe names (labels, tokenizers), so that a bundle can hold them too.
  std::vector<std::filesystem::path> files;
};

/// Reads a recipe. Files that it names are looked for below its own folder and then below each of
/// `folders`, never elsewhere. All problems are reported at once.
Result<Recipe> read_recipe(const std::filesystem::path& path,
                           const std::vector<std::filesystem::path>& folders = {});
Result<Recipe> parse_recipe(const Json& toml, const std::vector<std::filesystem::path>& folders,
                            const std::string& where);

}  // namespace tenon::dataset
