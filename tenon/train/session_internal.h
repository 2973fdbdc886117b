// Everything that a run holds while it runs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "tenon/base/thread_pool.h"
#include "tenon/engine/engine.h"
#include "tenon/train/checkpoint_writer.h"
#include "tenon/train/pipeline.h"
#include "tenon/train/run_folder.h"
#include "tenon/train/trainer.h"
#include "tenon/train/training_graph.h"

namespace tenon::train {

/// Resident memory of this process, now and at its peak.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

struct StepMeasures {
  double loss = 0, accuracy = -1, gradient_norm = -1, learning_rate = 0;
  std::int64_t epoch = 0;
};

/// Area under the receiver operating characteristic: the share of pairs of a positive and a
/// negative sample that the score orders rightly, ties counting half. NaN without both kinds.
double area_under_curve(const std::vector<float>& scores, const std::vector<float>& targets);

class Session {
 public:
  Session(const TrainConfig& config, const RunOptions& options)
      : config_(config),
        options_(options),
        pool_(config.threads > 0 ? config.threads : usable_processors()) {}

  Status prepare();
  std::int64_t step() const { return step_; }
  std::int64_t total_steps() const { return total_steps_; }
  Result<StepMeasures> run_step();
  Result<std::map<std::string, double>> evaluate();
  /// The line of metrics.jsonl for the last step, and its writing.
  Json record_of(const StepMeasures& m, double seconds) const;
  Status record(const Json& line) { return folder_->record(line); }
  bool evaluates_now() const { return is_due(config_.evaluate_every); }
  bool saves_now() const { return is_due(config_.checkpoint_every); }
  /// A checkpoint of this step, in the background; its folder.
  Result<std::filesystem::path> save();
  Status wait_for_checkpoint() { return writer_.wait(); }
  /// Waits for the checkpoint, writes the curves.
  Status close();
  /// The error that names the state that is no longer finite.
  Status explain_nonfinite(const StepMeasures& m) const;
  void describe(Trained& trained) const;
  /// Times one more step node by node.
  Result<std::vector<OperatorTime>> profile();

 private:
  struct Compiled {
    TrainingGraph graph;
    std::unique_ptr<Executable> executable;
    engine::CompileReport report;
  };
  bool is_due(std::int64_t every) const { return every > 0 ? step_ % every == 0 : ended_epoch_; }
  Status open_checkpoint(Json& run, NamedTensors& saved);
  Status open_loader(const Json& run);
  Status open_model();
  Status compile_steps();
  Status open_folder();
  Status load_state(const NamedTensors& saved);
  Status check_budget(const Datums& inputs);
  Result<Compiled> compile(TrainingGraph graph);
  Result<dataset::Batch> next_batch();
  Datums inputs_of(const Compiled& compiled, const dataset::Batch& batch,
                   const dataset::Fields& fields, const std::vector<Tensor>& state) const;
  Result<Datums> step_inputs(const Compiled& compiled, std::int64_t index, StepMeasures& sums);
  Status run_micro_batch(const Compiled& compiled, std::int64_t index, StepMeasures& sums,
                         double& correct, double& count);
  std::vector<Tensor> evaluation_state() const;

  const TrainConfig& config_;
  const RunOptions& options_;
  ThreadPool pool_;
  Pipeline pipeline_;
  std::unique_ptr<dataset::Loader> loader_, tester_;
  std::vector<dataset::Batch> fixed_;  // of a benchmark
  std::unique_ptr<Graph> model_;
  StepOptions step_options_;
  Compiled update_, accumulate_, evaluation_;
  std::vector<Tensor> state_;
  std::unique_ptr<RunFolder> folder_;
  CheckpointWriter writer_;
  std::int64_t step_ = 0, total_steps_ = 0, steps_per_epoch_ = 1;
  MemoryUse memory_;  // of an update
  bool ended_epoch_ = false, is_measured_ = false;
};

}  // namespace tenon::train
