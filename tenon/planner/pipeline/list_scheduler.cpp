#include "tenon/planner/pipeline/list_scheduler.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tenon::planner {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double memory_slack = 1e-9;  // sums of fractions of M_B

struct ChunkState {
  int forwards = 0, backwards = 0, weights = 0;
};

struct DeviceState {
  double free_at = 0;
  double memory = 0;
  double flight_cap = never;
  double steady_cap = never;
  double hold_cap = never;
  bool warm = false;  // has run a backward
  double reserve = 0;
  double span = 0;  // all its work, and the idle time so far
  int forwards_left = 0;
  Phase last = Phase::backward_input;
  std::vector<ScheduledOp> ops;
};

// A thing the device could do next, and when.
struct Candidate {
  double ready = never;
  int chunk = -1;
};

// When each device looks for work next: a tournament, so that changing one time costs log2(devices)
// comparisons. Ties go to the lower device, so that runs repeat exactly.
class WakeTree {
 public:
  explicit WakeTree(int devices)
      : leaves_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(devices)))),
        times_(leaves_, never),
        winner_(2 * leaves_) {
    for (int d = 0; d < leaves_; ++d) winner_[leaves_ + d] = d;
    for (int i = leaves_ - 1; i > 0; --i) winner_[i] = winner_[2 * i];
  }
  int first() const { return winner_[1]; }
  double time(int device) const { return times_[device]; }
  void set(int device, double time) {
    times_[device] = time;
    for (int i = (leaves_ + device) / 2; i > 0; i /= 2) {
      const int left = winner_[2 * i], right = winner_[2 * i + 1];
      winner_[i] = times_[right] < times_[left] ? right : left;
    }
  }

 private:
  int leaves_;
  std::vector<double> times_;
  std::vector<int> winner_;
};

class ListScheduler {
 public:
  ListScheduler(const Placement& placement, int micro_batches, const std::vector<double>& limits,
                double weight_share, const ListRules& rules)
      : placement_(placement),
        m_(micro_batches),
        limits_(limits),
        share_(weight_share),
        rules_(rules),
        chunks_(placement.chunks.size()),
        devices_(placement.devices()),
        forward_end_(placement.chunks.size() * m_, never),
        backward_end_(forward_end_),
        wakes_(placement.devices()) {
    const std::vector<double> trips = round_trips(placement);
    for (int d = 0; d < placement.devices(); ++d) {
      double flight = 0, work = 0, later = 0;
      std::size_t total = 0;
      for (const int k : placement.of_device[d]) {
        flight += trips[k];
        if (placement.chunks[k].index > 0) later += trips[k] * placement.chunks[k].times.activation;
        work += placement.chunks[k].times.work();
        devices_[d].span +=
            placement.chunks[k].num_micro_batches * placement.chunks[k].times.work();
        total += placement.chunks[k].num_micro_batches;
      }
      devices_[d].reserve = rules.reserve * later / work;
      devices_[d].forwards_left = static_cast<int>(total);
      devices_[d].ops.reserve(3 * total);
      expected_ += 3 * static_cast<std::int64_t>(total);
      if (std::isfinite(rules.flight))
        devices_[d].flight_cap = std::ceil(rules.flight * flight / work - 1e-9);
      if (std::isfinite(rules.steady_flight)) {
        const double along = placement.devices() > 1 ? d / (placement.devices() - 1.0) : 0;
        const double steady =
            rules.steady_flight + along * (rules.last_steady_flight - rules.steady_flight);
        devices_[d].steady_cap = std::ceil(steady * flight / work - 1e-9);
      }
      if (std::isfinite(rules.hold_slope))
        devices_[d].hold_cap = rules.hold_slope * d + rules.hold_base;
    }
  }

  ListResult run(double give_up_at) {
    give_up_at_ = give_up_at;
    for (int d = 0; d < placement_.devices(); ++d) wake(0, d);
    ListResult result;
    for (int d = wakes_.first(); wakes_.time(d) < never && !lost_; d = wakes_.first()) {
      const double now = wakes_.time(d);
      wakes_.set(d, never);
      decide(d, now);
    }
    result.ops = ops_;
    result.finished = !lost_ && ops_ == expected_;
    if (!result.finished) return result;
    result.makespan = 0;
    for (DeviceState& device : devices_) {
      result.makespan = std::max(result.makespan, device.span);
      result.devices.push_back(std::move(device.ops));
    }
    return result;
  }

 private:
  // Only the earliest wake of a device counts: it then looks again at all that comes later.
  void wake(double time, int device) {
    if (time < wakes_.time(device)) wakes_.set(device, time);
  }

  double forward_ready(int k) const {
    const Chunk& chunk = placement_.chunks[k];
    const int done = chunks_[k].forwards;
    if (done == chunk.num_micro_batches) return never;
    if (chunk.previous < 0) return 0;
    return arrival(forward_end_, chunk.previous, chunk.device, chunk.first_micro_batch + done);
  }

  double backward_ready(int k) const {
    const Chunk& chunk = placement_.chunks[k];
    const int done = chunks_[k].backwards;
    if (done == chunks_[k].forwards) return never;
    const int j = chunk.first_micro_batch + done;
    if (chunk.next < 0) return forward_end_[static_cast<std::size_t>(k) * m_ + j];
    return arrival(backward_end_, chunk.next, chunk.device, j);
  }

  double arrival(const std::vector<double>& ends, int from, int device, int j) const {
    const Chunk& other = placement_.chunks[from];
    const double end = ends[static_cast<std::size_t>(from) * m_ + j];
    return other.device == device ? end : end + other.times.send;
  }

  // One micro-batch of every later chunk must still fit, or the pipeline could lock itself up.
  bool fits(int d, int k) const {
    double needed = devices_[d].memory;
    int in_flight = 0;
    for (const int other : placement_.of_device[d]) {
      const ChunkState& state = chunks_[other];
      in_flight += state.forwards - state.backwards;
      if (other == k || (other > k && state.forwards == state.weights)) {
        needed += placement_.chunks[other].times.activation;
      }
    }
    const bool first_chunk = placement_.chunks[k].index == 0;
    if (first_chunk && in_flight > 0) needed += devices_[d].reserve;
    const double cap = devices_[d].warm ? devices_[d].steady_cap : devices_[d].flight_cap;
    return needed <= limits_[d] + memory_slack && (!first_chunk || in_flight < cap);
  }

  struct View {
    Candidate forward, backward;  // those that are ready
    double next_arrival = never;  // of those that are not
    double next_urgent = never;   // of those that go before a forward of the first chunk
    bool first_urgent = false;    // next_urgent is the first of its chunk
    int waiting_weights = 0;
    int weight_chunk = -1;
    bool starved = false;  // a forward is there but must not start
  };

  void offer(Candidate& best, double& next, double ready, double now, int k,
             bool late_first) const {
    if (ready > now) {
      next = std::min(next, ready);
      return;
    }
    if (best.chunk < 0 || late_first) best = {ready, k};
  }

  void expect(View& view, double ready, double now, bool first) const {
    if (ready <= now || ready >= view.next_urgent) return;
    view.next_urgent = ready;
    view.first_urgent = first;
  }

  View look(int d, double now) const {
    View view;
    for (const int k : placement_.of_device[d]) {
      const ChunkState& state = chunks_[k];
      const double forward = forward_ready(k);
      if (forward < never) {
        if (fits(d, k))
          offer(view.forward, view.next_arrival, forward, now, k, rules_.late_chunk_forward);
        else
          view.starved = view.starved || forward <= now;
        if (placement_.chunks[k].index > 0) expect(view, forward, now, state.forwards == 0);
      }
      const double backward = backward_ready(k);
      if (backward < never) {
        offer(view.backward, view.next_arrival, backward, now, k, rules_.late_chunk_backward);
        expect(view, backward, now, state.backwards == 0);
      }
      if (state.backwards > state.weights) {
        view.waiting_weights += state.backwards - state.weights;
        // The chunk whose B came first would be the fairest; the earlier one differs little.
        if (view.weight_chunk < 0 || rules_.late_chunk_backward) view.weight_chunk = k;
      }
    }
    return view;
  }

  void decide(int d, double now) {
    const View view = look(d, now);
    DeviceState& device = devices_[d];
    if (view.waiting_weights > device.hold_cap)
      return start(d, view.weight_chunk, Phase::backward_weight, now);
    bool take_forward = view.forward.chunk >= 0;
    if (take_forward && view.backward.chunk >= 0) {
      take_forward =
          rules_.prefer == ListRules::Prefer::forward ||
          (rules_.prefer == ListRules::Prefer::alternate && device.last != Phase::forward);
    }
    if (take_forward && view.backward.chunk < 0) {
      const double length = placement_.chunks[view.forward.chunk].times.forward;
      const double share = view.first_urgent ? rules_.first_patience : rules_.patience;
      if (view.next_urgent - now < share * length) return wake(view.next_urgent, d);
    }
    if (take_forward) return start(d, view.forward.chunk, Phase::forward, now);
    if (view.backward.chunk >= 0) return start(d, view.backward.chunk, Phase::backward_input, now);
    if (view.weight_chunk >= 0 && worth_filling(d, view, now)) {
      return start(d, view.weight_chunk, Phase::backward_weight, now);
    }
    if (view.next_arrival < never) wake(view.next_arrival, d);
  }

  bool worth_filling(int d, const View& view, double now) const {
    if (view.starved) return true;  // it frees memory
    const double share = devices_[d].forwards_left > 0 ? rules_.gap_share : rules_.final_gap_share;
    const double length = placement_.chunks[view.weight_chunk].times.backward_weight;
    return view.next_arrival - now >= share * length;
  }

  void start(int d, int k, Phase phase, double now) {
    const Chunk& chunk = placement_.chunks[k];
    DeviceState& device = devices_[d];
    ChunkState& state = chunks_[k];
    const double unit = chunk.times.activation;
    int done = 0, consumer = -1;
    double length = 0;
    if (phase == Phase::forward) {
      done = state.forwards++, consumer = chunk.next, length = chunk.times.forward;
      device.memory += unit;
      --device.forwards_left;
    } else if (phase == Phase::backward_input) {
      done = state.backwards++, consumer = chunk.previous, length = chunk.times.backward_input;
      device.memory -= unit * (1 - share_);
      device.warm = true;
    } else {
      done = state.weights++, length = chunk.times.backward_weight;
      device.memory -= unit * share_;
    }
    const int j = chunk.first_micro_batch + done;
    const double end = now + length;
    if (!device.ops.empty()) {
      device.span += now - device.free_at;
      lost_ = lost_ || device.span > give_up_at_;
    }
    ++ops_;
    device.ops.push_back({j, static_cast<std::int16_t>(chunk.index), phase});
    if (phase != Phase::backward_weight) {
      (phase == Phase::forward ? forward_end_
                               : backward_end_)[static_cast<std::size_t>(k) * m_ + j] = end;
      device.last = phase;
      if (consumer >= 0) tell(consumer, d, end, now, chunk.times.send);
    }
    device.free_at = end;
    wake(end, d);
  }

  // Wakes the device that waits for what will have arrived.
  void tell(int consumer, int d, double end, double now, double send) {
    const int other = placement_.chunks[consumer].device;
    if (other == d) return;
    if (devices_[other].free_at <= now) wake(end + send, other);
  }

  double give_up_at_ = never;
  bool lost_ = false;
  std::int64_t ops_ = 0, expected_ = 0;
  const Placement& placement_;
  const int m_;
  const std::vector<double>& limits_;
  const double share_;
  const ListRules& rules_;
  std::vector<ChunkState> chunks_;
  std::vector<DeviceState> devices_;
  std::vector<double> forward_end_, backward_end_;
  WakeTree wakes_;
};

}  // namespace

ListResult list_schedule(const Placement& placement, int micro_batches,
                         const std::vector<double>& limits, double weight_share,
                         const ListRules& rules, double give_up_at) {
  return ListScheduler(placement, micro_batches, limits, weight_share, rules).run(give_up_at);
}

double least_memory(const Placement& placement, int device) {
  double least = 0;
  for (const int k : placement.of_device[device]) least += placement.chunks[k].times.activation;
  return least;
}

std::vector<double> round_trips(const Placement& placement) {
  std::vector<double> trips(placement.chunks.size());
  for (int k = static_cast<int>(placement.chunks.size()) - 1; k >= 0; --k) {
    const Chunk& chunk = placement.chunks[k];
    trips[k] = chunk.times.forward + chunk.times.backward_input;
    if (chunk.next < 0) continue;
    const Chunk& next = placement.chunks[chunk.next];
    trips[k] += trips[chunk.next];
    if (next.device != chunk.device) trips[k] += chunk.times.send + next.times.send;
  }
  return trips;
}

}  // namespace tenon::planner
