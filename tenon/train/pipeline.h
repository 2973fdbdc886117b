// The section [data] opened: sources, transforms and loaders of a run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tenon/dataset/loader.h"
#include "tenon/models/model.h"
#include "tenon/train/config.h"
#include "tenon/train/training_graph.h"

namespace tenon::train {

struct Pipeline {
  dataset::SourcePtr train, test;  // test may be missing
  std::vector<dataset::TransformPtr> transforms, test_transforms;
  dataset::LoaderOptions loader;  // batch: samples of a micro-batch

  /// The loader of training, from `start` on.
  Result<std::unique_ptr<dataset::Loader>> training(
      std::optional<dataset::LoaderState> start = std::nullopt) const;
  /// All test samples once, in order.
  Result<std::unique_ptr<dataset::Loader>> testing(std::int64_t batch) const;
};

Result<Pipeline> open_pipeline(const TrainConfig& config);

/// Fields of a loader without the batch, for models.
std::vector<models::InputField> sample_fields(const dataset::Loader& loader);
/// The same with the batch in front: of size `batch`, or of any size for 0.
std::vector<BatchField> batch_fields(const dataset::Loader& loader, std::int64_t batch);
/// The field that the loss compares with: `wanted`, or the first of label, targets, boxes.
Result<std::string> target_field(const dataset::Loader& loader, const std::string& wanted);

}  // namespace tenon::train
