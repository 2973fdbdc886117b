// From the section [data] of a training file to batches, in one call.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tenon/dataset/data_config.h"

namespace tenon::dataset {

/// What the caller of a pipeline decides, beside what [data] says.
struct PipelineOptions {
  std::filesystem::path folder;  // of the training file: relative paths start there
  std::string where = "data";    // names the table in errors: "train.toml, data"
  std::int64_t batch = 32;       // samples of one rank
  std::uint64_t seed = 0;
  std::int64_t epochs = 0;     // of training; 0: without end
  std::optional<int> workers;  // threads that load, in place of the table's `workers`
  int rank = 0, ranks = 1;
};

/// The opened samples of a training run. Copies share the sources.
class Pipeline {
 public:
  /// The samples to train on, and those to test on (none: nullptr).
  const SourcePtr& train_source() const { return train_; }
  const SourcePtr& test_source() const { return test_; }
  const DataConfig& config() const { return config_; }

  /// Batches to train on, from the beginning or from where a run stood.
  Result<std::unique_ptr<Loader>> train(std::optional<LoaderState> start = std::nullopt) const;
  /// Every test sample of this rank once, in the order of the source, the last batch perhaps
  /// shorter; `not_found` where there are no test samples.
  Result<std::unique_ptr<Loader>> test() const;

 private:
  friend Result<Pipeline> open_pipeline(const Json& data, const PipelineOptions& options);
  DataConfig config_;
  PipelineOptions options_;
  SourcePtr train_, test_;
};

/// Reads the table [data] (docs/data.md) and opens its sources. All problems of the table are
/// reported at once.
Result<Pipeline> open_pipeline(const Json& data, const PipelineOptions& options);

}  // namespace tenon::dataset
