#include "tenon/planner/pipeline/rule_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tenon/planner/pipeline/lower_bound.h"

namespace tenon::planner {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

// One position on each axis; the values are listed below.
enum Axis {
  prefer,
  patience,
  first_patience,
  gap,
  final_gap,
  flight,
  steady,
  last_steady,
  hold,
  late,
  num_axes
};
using Genes = std::array<int, num_axes>;

constexpr std::array patience_values = {0.0, 0.05, 0.1, 0.2, 0.3, 0.6, 1.0};
constexpr std::array first_patience_values = {0.0, 0.3, 0.6, 1.0};
constexpr std::array gap_values = {0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0};
constexpr std::array final_gap_values = {0.0, 0.25, 0.5, 0.75, 1.0};
constexpr std::array steady_values = {1.0, 1.1, 1.2, 1.35, 1.5, 1.7, 2.0, 2.3, 2.6, 3.0, 4.0, none};
constexpr std::array last_steady_values = {1.0, 1.1, 1.2, 1.35, 1.5, 1.7,
                                           2.0, 2.3, 2.6, 3.0,  4.0, 10.0};
constexpr std::array hold_values = {1.0, 2.0, none};
constexpr int flight_steps = 61;  // 1.00, 1.05, ... 4.00, then no cap

constexpr Genes axis_sizes = {3,
                              patience_values.size(),
                              first_patience_values.size(),
                              gap_values.size(),
                              final_gap_values.size(),
                              flight_steps + 1,
                              steady_values.size(),
                              last_steady_values.size(),
                              hold_values.size(),
                              2};

ListRules rules_of(const Genes& genes) {
  ListRules rules;
  rules.prefer = static_cast<ListRules::Prefer>(genes[prefer]);
  rules.patience = patience_values[genes[patience]];
  rules.first_patience = first_patience_values[genes[first_patience]];
  rules.gap_share = gap_values[genes[gap]];
  rules.final_gap_share = final_gap_values[genes[final_gap]];
  rules.flight = genes[flight] == flight_steps ? none : 1 + 0.05 * genes[flight];
  rules.steady_flight = steady_values[genes[steady]];
  rules.last_steady_flight = last_steady_values[genes[last_steady]];
  rules.hold_slope = hold_values[genes[hold]];
  rules.late_chunk_backward = genes[late] != 0;
  return rules;
}

// With plenty of memory B goes first and a device waits a little for it; with the memory of 1F1B
// weight gradients only fill gaps that are wide enough.
std::vector<Genes> plain_seeds() {
  std::vector<Genes> seeds;
  for (const int first : {1, 2, 3, 0}) {
    for (const int wait : {0, 2}) {
      for (const int prefer : {0, 2})
        seeds.push_back({prefer, wait, first, 0, 0, flight_steps, 11, 11, 2, 0});
    }
  }
  for (const int fill : {4, 7}) {
    for (const int last : {2, 4}) {
      for (const int cap : {5, 20}) {
        seeds.push_back({0, 0, 0, fill, last, cap, 11, 11, 2, 0});
        seeds.push_back({2, 2, 3, fill, last, cap, 11, 11, 1, 0});
      }
    }
  }
  return seeds;
}

// Two chunks: how many micro-batches enter before the first comes back decides most.
std::vector<Genes> vee_seeds() {
  std::vector<Genes> seeds;
  for (const int cap : {26, 24, 22, 28, 20, 14, 32, 8, flight_steps, 2}) {
    for (const int steady : {11, 6}) {
      for (const int prefer : {2, 0}) seeds.push_back({prefer, 2, 3, 4, 4, cap, steady, 11, 2, 1});
    }
  }
  for (const int prefer : {0, 1}) seeds.push_back({prefer, 0, 0, 0, 0, flight_steps, 11, 11, 2, 0});
  return seeds;
}

class RuleSearch {
 public:
  RuleSearch(const Placement& placement, int micro_batches, const std::vector<double>& limits,
             double weight_share, std::int64_t budget)
      : placement_(placement),
        m_(micro_batches),
        limits_(limits),
        share_(weight_share),
        budget_(budget) {}

  void run(double stop_at) {
    stop_at_ = stop_at;
    const bool vee = placement_.of_device[0].size() > 1;
    for (const Genes& seed : vee ? vee_seeds() : plain_seeds()) {
      if (done()) return;
      consider(seed);
    }
    climb();
  }

  // Best first; each was the best when it was found.
  std::vector<Genes> leaders() const { return {trail_.rbegin(), trail_.rend()}; }
  FoundSchedule take() { return std::move(best_); }

 private:
  bool done() const { return budget_ <= 0 || best_.makespan <= stop_at_ + 1e-9; }

  bool consider(const Genes& genes) {
    ListResult result =
        list_schedule(placement_, m_, limits_, share_, rules_of(genes), best_.makespan);
    // Setting up costs about as much as scheduling a few ops on each device and arrays of all
    // slots.
    budget_ -= result.ops + placement_.devices() * (4 + m_ / 4);
    if (!result.finished || result.makespan >= best_.makespan - 1e-9) return false;
    best_ = {result.makespan, std::move(result.devices)};
    trail_.push_back(genes);
    return true;
  }

  void climb() {
    for (bool improved = true; improved && !trail_.empty();) {
      improved = false;
      for (int axis = 0; axis < num_axes; ++axis) {
        for (const int step : {-1, 1, -2, 2, -4, 4}) {
          if (done()) return;
          Genes next = trail_.back();
          next[axis] += step;
          if (next[axis] >= 0 && next[axis] < axis_sizes[axis]) improved |= consider(next);
        }
      }
    }
  }

  const Placement& placement_;
  const int m_;
  const std::vector<double>& limits_;
  const double share_;
  std::int64_t budget_;
  double stop_at_ = 0;
  FoundSchedule best_;
  std::vector<Genes> trail_;
};

Placement shortened(Placement placement, int micro_batches) {
  for (Chunk& chunk : placement.chunks) chunk.num_micro_batches = micro_batches;
  return placement;
}

}  // namespace

FoundSchedule search_rules(const Placement& placement, int micro_batches,
                           const std::vector<double>& limits, double weight_share, double stop_at,
                           std::int64_t ops_budget, double to_beat) {
  const int enough = std::max(16, 3 * placement.devices());
  if (micro_batches <= enough * 4 / 3) {
    RuleSearch search(placement, micro_batches, limits, weight_share, ops_budget);
    search.run(stop_at);
    return search.take();
  }
  const Placement shorter = shortened(placement, enough);
  RuleSearch search(shorter, enough, limits, weight_share, ops_budget);
  search.run(makespan_lower_bound(shorter, enough, limits, weight_share));
  FoundSchedule best;
  const std::vector<Genes> leaders = search.leaders();
  for (std::size_t i = 0; i < std::min<std::size_t>(leaders.size(), 3); ++i) {
    ListResult result = list_schedule(placement, micro_batches, limits, weight_share,
                                      rules_of(leaders[i]), std::min(best.makespan, to_beat));
    if (result.finished && result.makespan < best.makespan)
      best = {result.makespan, std::move(result.devices)};
  }
  return best;
}

}  // namespace tenon::planner
