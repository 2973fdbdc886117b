// Training from a file: data, model, steps, evaluation, checkpoints (docs/training.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tenon/ir/graph.h"
#include "tenon/train/config.h"

namespace tenon::train {

/// Where a run is, for people.
struct Progress {
  std::int64_t step = 0, total = 0, epoch = 0;
  double loss = 0, accuracy = -1;  // means since the last report; accuracy < 0: none
  double samples_per_second = 0, seconds_left = 0;
  std::int64_t memory_bytes = 0;
  std::map<std::string, double> test;  // measures, when an evaluation just ended
  bool is_start_of_epoch = false;
};

struct RunOptions {
  std::filesystem::path run;           // the folder of the run; empty with `benchmark`
  bool resumes = false;                // go on from the newest whole checkpoint of `run`
  std::shared_ptr<const Graph> model;  // in place of [model]: one that was built in C++
  std::int64_t benchmark = 0;          // > 0: so many steps on fixed data, nothing written
  bool profiles = false;               // of a benchmark: times one more step node by node
  std::function<void(const Progress&)> progress;  // after every step
  std::function<void(const std::string&)> note;   // what a person should know
};

/// Time of all nodes of one operator (or fused group, by what computes it) in a step.
struct OperatorTime {
  std::string what;
  int nodes = 0;
  double seconds = 0;
};

/// What came of a run.
struct Trained {
  std::int64_t step = 0;
  double loss = 0;                        // of the last step
  std::map<std::string, double> metrics;  // of the last step and the last evaluation
  double median_step_seconds = 0, samples_per_second = 0, stall_seconds = 0;
  std::int64_t peak_memory_bytes = 0;     // of the process
  std::int64_t planned_memory_bytes = 0;  // activations and workspaces of a step
  std::int64_t state_bytes = 0;           // weights, statistics and optimizer
  std::vector<std::string> interpreted;   // operators of a step without a native kernel
  std::vector<OperatorTime> profile;      // the slowest first
  std::filesystem::path checkpoint;       // the last one written; empty when none was
  bool was_interrupted = false;           // Ctrl-C; a checkpoint of the last step is there
};

/// Trains. Ctrl-C ends the run after the step in progress, with a checkpoint.
Result<Trained> train(const TrainConfig& config, const RunOptions& options);

}  // namespace tenon::train
