// A thread a checkpoint: they are seconds apart at least.
#include "tenon/train/checkpoint_writer.h"

#include "tenon/formats/checkpoint/checkpoint.h"

namespace tenon::train {

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

Status CheckpointWriter::wait() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(status_, Status());
}

Status CheckpointWriter::start(std::filesystem::path folder, std::unique_ptr<Graph> model,
                               NamedTensors state, Json run, std::function<Status()> done) {
  TENON_TRY(wait());
  thread_ = std::thread([this, folder = std::move(folder), model = std::move(model),
                         state = std::move(state), run = std::move(run), done = std::move(done)] {
    status_ = checkpoint::write(folder, *model, state, run);
    if (status_.ok()) status_ = done();
  });
  return {};
}

}  // namespace tenon::train
