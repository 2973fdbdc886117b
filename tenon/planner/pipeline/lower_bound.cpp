#include "tenon/planner/pipeline/lower_bound.h"

#include <algorithm>
#include <cmath>

#include "tenon/planner/pipeline/list_scheduler.h"

namespace tenon::planner {
namespace {

double device_work(const Placement& placement, int device) {
  double work = 0;
  for (const int k : placement.of_device[device]) {
    work += placement.chunks[k].num_micro_batches * placement.chunks[k].times.work();
  }
  return work;
}

// Weight gradients that device d must have run before its last B because it cannot keep more.
double forced_weight_time(const Placement& placement, int d, double limit, double weight_share) {
  double smallest_unit = INFINITY, total = 0, cheapest = INFINITY;
  for (const int k : placement.of_device[d]) {
    const Chunk& chunk = placement.chunks[k];
    smallest_unit = std::min(smallest_unit, chunk.times.activation * weight_share);
    cheapest = std::min(cheapest, chunk.times.backward_weight);
    total += chunk.num_micro_batches;
  }
  if (!(smallest_unit > 0) || !std::isfinite(limit)) return 0;
  // While the last B runs, its own activation is still there whole.
  const double room = std::max(0.0, limit - smallest_unit / weight_share);
  return std::max(0.0, total - 1 - std::floor(room / smallest_unit + 1e-9)) * cheapest;
}

struct Ramp {
  double to = 0,
         back = 0;  // least time from the first F of `from` to the first op of `to`, and back
};

// Chunks follow each other along the model; -1 where `to` is not reached from `from`.
Ramp ramp(const Placement& placement, int from, int to) {
  Ramp total;
  for (int k = from; k != to; k = placement.chunks[k].next) {
    const Chunk& chunk = placement.chunks[k];
    if (chunk.next < 0) return {-1, -1};
    const Chunk& next = placement.chunks[chunk.next];
    const bool travels = next.device != chunk.device;
    total.to += chunk.times.forward + (travels ? chunk.times.send : 0);
    total.back += chunk.times.backward_input + (travels ? next.times.send : 0);
  }
  return total;
}

// Device i starts, all F and B of device j follow, and the last B comes back to i, which then still
// owes one W. Chunk pairs: the first of each device, as later ones only lengthen the way.
double ramp_bound(const Placement& placement, int i, int j, double forced) {
  const int from = placement.of_device[i].front(), to = placement.of_device[j].front();
  const Ramp way = ramp(placement, from, to);
  if (way.to < 0) return 0;
  double between = forced;
  for (const int k : placement.of_device[j]) {
    const Chunk& chunk = placement.chunks[k];
    between += chunk.num_micro_batches * (chunk.times.forward + chunk.times.backward_input);
  }
  return way.to + between + way.back + placement.chunks[from].times.backward_weight;
}

double memory_bound(const Placement& placement, int d, double limit, double weight_share,
                    const std::vector<double>& trips) {
  if (!std::isfinite(limit)) return 0;
  double held = 0;  // M_B x ms
  for (const int k : placement.of_device[d]) {
    const Chunk& chunk = placement.chunks[k];
    held += chunk.num_micro_batches * chunk.times.activation *
            (trips[k] + weight_share * chunk.times.backward_weight);
  }
  return held / limit;
}

}  // namespace

double makespan_lower_bound(const Placement& placement, int micro_batches,
                            const std::vector<double>& limits, double weight_share) {
  const std::vector<double> trips = round_trips(placement);
  double bound = 0;
  if (micro_batches == 0) return bound;
  for (int j = 0; j < placement.devices(); ++j) {
    const double limit = limits.empty() ? INFINITY : limits[j];
    bound = std::max(bound, device_work(placement, j));
    bound = std::max(bound, memory_bound(placement, j, limit, weight_share, trips));
    const double forced = forced_weight_time(placement, j, limit, weight_share);
    for (int i = 0; i <= j; ++i) bound = std::max(bound, ramp_bound(placement, i, j, forced));
  }
  return bound;
}

std::vector<double> memory_steps(int stages, double limit) {
  std::vector<double> steps;
  for (double octave = 1; octave <= limit; octave *= 2) {
    for (const double step : {1.0, 1.25, 1.5, 1.75}) {
      // Below 4 only halves are told apart, the size of a chunk in the V-shaped placement.
      if (octave < 2 && step != 1.0 && step != 1.5) continue;
      steps.push_back(octave * step);
    }
  }
  for (const double step : {stages / 2.0, 1.0 * stages, 2.0 * stages}) {
    if (step >= 1) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  while (!steps.empty() && steps.back() > limit + 1e-9) steps.pop_back();
  return steps;
}

}  // namespace tenon::planner
