// A training file: sections and keys to options, with every default filled in (docs/training.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/train/loss.h"
#include "tenon/train/optimizer.h"
#include "tenon/train/schedule.h"

namespace tenon::train {

struct TrainConfig {
  std::filesystem::path folder;  // of the training file: relative paths of [data] and [model]
  Json data, model;              // these sections, as given
  std::uint64_t seed = 0;
  std::string precision = "fp32";
  int threads = 0;  // 0: as many as the process may use
  std::string backend = "cpu";

  Optimizer optimizer;
  Schedule schedule;

  // [train]
  std::int64_t steps = 0;   // updates; 0: as many as `epochs` has
  std::int64_t epochs = 1;  // counts where steps is 0
  std::int64_t batch = 32;  // samples of an update
  std::int64_t micro_batches = 1;
  std::int64_t evaluate_every = 0;  // steps; 0: after every epoch, and at the end
  std::int64_t evaluate_batch = 0;  // 0: `batch`
  std::int64_t memory_budget_bytes = 0;
  std::string cache = "off";
  Loss loss;
  std::string target;  // field; empty: label, targets or boxes
  std::string answer;  // output of the model that the loss compares; empty: the first

  // [checkpoint]
  std::int64_t checkpoint_every = 0;  // steps; 0: after every epoch
  std::int64_t keep = 3;
};

/// Reads a training file with `sets` ("train.steps=100") put into it first. All problems at once.
Result<TrainConfig> read_train_config(const std::filesystem::path& file,
                                      const std::vector<std::string>& sets);
/// The same from text that is parsed already; `folder` is where relative paths start.
Result<TrainConfig> parse_train_config(Json file, const std::filesystem::path& folder,
                                       const std::string& where,
                                       const std::vector<std::string>& sets);
/// The file with all defaults written out, and with absolute paths.
Json resolved(const TrainConfig& config);

}  // namespace tenon::train
