// Checkpoints in the background: training goes on while the last one is written.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "tenon/base/json.h"
#include "tenon/base/npy.h"
#include "tenon/ir/graph.h"

namespace tenon::train {

/// One thread at a time. What is handed over must not change until `wait`.
class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Waits for the one before, whose error it returns, and starts. `done` runs on the thread after
  /// a success.
  Status start(std::filesystem::path folder, std::unique_ptr<Graph> model, NamedTensors state,
               Json run, std::function<Status()> done);
  Status wait();

 private:
  std::thread thread_;
  Status status_;
};

}  // namespace tenon::train
