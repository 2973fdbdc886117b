#include "tenon/planner/pipeline/order_swaps.h"

#include <algorithm>
#include <numeric>

#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {
namespace {

struct Score {
  double makespan = 0, total = 0;
  bool better_than(const Score& other) const {
    if (makespan < other.makespan - 1e-9) return true;
    return makespan < other.makespan + 1e-9 && total < other.total - 1e-9;
  }
};

class Swapper {
 public:
  Swapper(FoundSchedule& found, const Placement& placement, int micro_batches,
          const std::vector<double>& limits, double weight_share, std::int64_t budget)
      : found_(found),
        placement_(placement),
        limits_(limits),
        share_(weight_share),
        budget_(budget),
        simulator_(placement, micro_batches) {
    for (const auto& ops : found.devices) num_ops_ += static_cast<std::int64_t>(ops.size());
  }

  void run(double stop_at) {
    best_ = score();
    for (bool improved = true; improved && budget_ > 0 && best_.makespan > stop_at + 1e-9;) {
      improved = false;
      for (int d = 0; d < placement_.devices(); ++d) improved |= sweep(d);
    }
    found_.makespan = best_.makespan;
  }

 private:
  Score score() {
    budget_ -= num_ops_;
    Score result{simulator_.run(found_.devices), 0};
    for (int d = 0; d < placement_.devices(); ++d) {
      result.total += simulator_.last_end()[d] - simulator_.first_start()[d];
    }
    return result;
  }

  // Rotates the op at `from` to `to`; keeps it there if that helps.
  bool try_move(int d, int from, int to) {
    auto& ops = found_.devices[d];
    const auto rotate = [&](int a, int b) {
      if (a < b)
        std::rotate(ops.begin() + a, ops.begin() + a + 1, ops.begin() + b + 1);
      else
        std::rotate(ops.begin() + b, ops.begin() + a, ops.begin() + a + 1);
    };
    rotate(from, to);
    if (in_order(d) && fits(d)) {
      const Score next = score();
      if (next.better_than(best_)) {
        best_ = next;
        return true;
      }
    }
    rotate(to, from);
    return false;
  }

  bool sweep(int d) {
    bool improved = false;
    const int n = static_cast<int>(found_.devices[d].size());
    for (int i = 0; i < n && budget_ > 0; ++i) {
      const bool weight = found_.devices[d][i].phase == Phase::backward_weight;
      for (const int reach : {1, -1, 2, -2, 4, -4}) {
        if (!weight && reach != 1) continue;
        if (i + reach >= 0 && i + reach < n && try_move(d, i, i + reach)) {
          improved = true;
          break;
        }
      }
    }
    return improved;
  }

  // F, B, W of each chunk in the order of micro-batches, each after the one before it.
  bool in_order(int d) const {
    std::vector<int> f(placement_.of_device[d].size(), -1), b = f, w = f;
    for (const ScheduledOp& op : found_.devices[d]) {
      std::vector<int>& line = op.phase == Phase::forward          ? f
                               : op.phase == Phase::backward_input ? b
                                                                   : w;
      if (op.micro_batch <= line[op.chunk]) return false;
      line[op.chunk] = op.micro_batch;
      if (b[op.chunk] > f[op.chunk] || w[op.chunk] > b[op.chunk]) return false;
    }
    return true;
  }

  bool fits(int d) const {
    double held = 0;
    for (const ScheduledOp& op : found_.devices[d]) {
      const double unit = placement_.at(d, op.chunk).times.activation;
      if (op.phase == Phase::forward) held += unit;
      if (op.phase == Phase::backward_input) held -= unit * (1 - share_);
      if (op.phase == Phase::backward_weight) held -= unit * share_;
      if (held > limits_[d] + 1e-9) return false;
    }
    return true;
  }

  FoundSchedule& found_;
  const Placement& placement_;
  const std::vector<double>& limits_;
  const double share_;
  std::int64_t budget_, num_ops_ = 0;
  MakespanSimulator simulator_;
  Score best_;
};

}  // namespace

void improve_by_swaps(FoundSchedule& found, const Placement& placement, int micro_batches,
                      const std::vector<double>& limits, double weight_share, double stop_at,
                      std::int64_t ops_budget) {
  if (found.devices.empty()) return;
  Swapper(found, placement, micro_batches, limits, weight_share, ops_budget).run(stop_at);
}

}  // namespace tenon::planner
