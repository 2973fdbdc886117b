// Losses and measures on what a model answers.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/base/object_reader.h"
#include "tenon/ops/op_page.h"

namespace tenon::train {

/// `cross_entropy`: logits [n, classes] or [n, t, classes] against targets i64 [n] or [n, t].
/// `binary_cross_entropy`: logits [n] against f32 [n] in [0, 1]. `mean_squared`: equal shapes.
/// `detection`: boxes [n, cells, 5 + classes] against the same shape, as make_detector describes.
struct Loss {
  enum class Kind : std::uint8_t {
    automatic,
    cross_entropy,
    binary_cross_entropy,
    mean_squared,
    detection
  };
  Kind kind = Kind::automatic;  // by the target: integers are classes, f32 are probabilities
  double smoothing = 0;         // cross_entropy: share of every target given evenly to all classes
  std::int64_t ignore_index = -100;  // targets of this class count for nothing
};

/// What a loss adds to a graph; all f32 [].
struct LossValues {
  Value* mean = nullptr;     // what is minimised
  Value* correct = nullptr;  // right answers; nullptr where there is no such thing
  Value* count = nullptr;    // targets that count
};

/// `answer` is the model's first output, `target` the samples' field.
Result<LossValues> attach_loss(ops::B b, const Loss& loss, Value* answer, Value* target);

Loss read_loss(ObjectReader& keys);
Json to_json(const Loss& loss);

}  // namespace tenon::train
