// The loop: batches in, state replaced, measures out.
#include "tenon/train/trainer.h"

#include "tenon/base/interrupt.h"
#include "tenon/train/session_internal.h"

namespace tenon::train {
namespace {

using Clock = std::chrono::steady_clock;

class Run {
 public:
  Run(const TrainConfig& config, const RunOptions& options)
      : config_(config), options_(options), session_(config, options) {}

  Result<Trained> operator()() {
    TENON_TRY(session_.prepare());
    // A run that is killed at once has something to go on from, too; a resumed one stands at a
    // checkpoint, which is its last where nothing is left to do.
    if (options_.benchmark == 0) {
      TENON_TRY(save());
      TENON_TRY(session_.wait_for_checkpoint());
    }
    while (session_.step() < session_.total_steps()) {
      if (Status done = one_step(); !done.ok()) {
        if (!interrupted()) return std::move(done).error();
        break;  // in the middle of a step: the last checkpoint stays the newest
      }
      if (options_.benchmark == 0) TENON_TRY(after_step(interrupted()));
      if (interrupted()) break;
    }
    trained_.was_interrupted = interrupted();
    TENON_TRY(finish());
    return std::move(trained_);
  }

 private:
  Status one_step() {
    const auto start = Clock::now();
    const StepMeasures m = TENON_TRY(session_.run_step());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!std::isfinite(m.loss)) TENON_TRY(session_.explain_nonfinite(m));
    step_seconds_.push_back(seconds);
    trained_.loss = m.loss;
    trained_.metrics["loss"] = m.loss;
    if (m.accuracy >= 0) trained_.metrics["accuracy"] = m.accuracy;
    if (options_.benchmark == 0) line_ = session_.record_of(m, seconds);
    report(m, seconds);
    return {};
  }

  void report(const StepMeasures& m, double seconds) {
    if (!options_.progress) return;
    // Smooth enough to read, quick enough to follow.
    const double weight = smooth_loss_ == 0 ? 1 : 0.05;
    smooth_loss_ += weight * (m.loss - smooth_loss_);
    smooth_accuracy_ += weight * (m.accuracy - smooth_accuracy_);
    smooth_seconds_ += (smooth_seconds_ == 0 ? 1 : 0.05) * (seconds - smooth_seconds_);
    Progress p;
    p.step = session_.step(), p.total = session_.total_steps(), p.epoch = m.epoch;
    p.loss = smooth_loss_, p.accuracy = m.accuracy < 0 ? -1 : smooth_accuracy_;
    p.samples_per_second = static_cast<double>(config_.batch) / smooth_seconds_;
    p.seconds_left = smooth_seconds_ * static_cast<double>(p.total - p.step);
    p.memory_bytes = resident_bytes();
    p.test = std::move(last_test_);
    last_test_.clear();
    options_.progress(p);
  }

  // Whoever interrupts does not wait for an evaluation. The line is written before the checkpoint,
  // so that no step between two runs is missing from the metrics.
  Status after_step(bool hurries) {
    const bool is_last = session_.step() == session_.total_steps();
    if ((session_.evaluates_now() || is_last) && !hurries) {
      last_test_ = TENON_TRY(session_.evaluate());
      for (const auto& [name, value] : last_test_)
        line_["test_" + name] = trained_.metrics["test_" + name] = value;
    }
    TENON_TRY(session_.record(line_));
    if (session_.saves_now() || is_last || hurries) TENON_TRY(save());
    return {};
  }

  Status save() {
    trained_.checkpoint = TENON_TRY(session_.save());
    return {};
  }

  Status finish() {
    trained_.step = session_.step();
    if (options_.benchmark == 0) TENON_TRY(session_.close());
    if (!step_seconds_.empty()) {
      std::nth_element(
          step_seconds_.begin(),
          step_seconds_.begin() + static_cast<std::ptrdiff_t>(step_seconds_.size() / 2),
          step_seconds_.end());
      trained_.median_step_seconds = step_seconds_[step_seconds_.size() / 2];
      trained_.samples_per_second =
          static_cast<double>(config_.batch) / trained_.median_step_seconds;
    }
    if (options_.progress && !last_test_.empty()) {
      Progress p;
      p.step = p.total = session_.step();
      p.loss = smooth_loss_, p.accuracy = smooth_accuracy_, p.test = last_test_;
      p.memory_bytes = resident_bytes();
      options_.progress(p);
    }
    session_.describe(trained_);
    if (options_.profiles) trained_.profile = TENON_TRY(session_.profile());
    return {};
  }

  const TrainConfig& config_;
  const RunOptions& options_;
  Session session_;
  Trained trained_;
  Json line_;
  std::vector<double> step_seconds_;
  std::map<std::string, double> last_test_;
  double smooth_loss_ = 0, smooth_accuracy_ = 0, smooth_seconds_ = 0;
};

}  // namespace

Result<Trained> train(const TrainConfig& config, const RunOptions& options) {
  return Run(config, options)();
}

}  // namespace tenon::train
