#include "tenon/planner/pipeline/generators.h"

#include <algorithm>
#include <cmath>

#include "tenon/planner/pipeline/auto_schedule.h"
#include "tenon/planner/pipeline/lower_bound.h"
#include "tenon/planner/pipeline/rule_search.h"
#include "tenon/planner/pipeline/vee_blocks.h"

namespace tenon::planner {
namespace {

using Ops = std::vector<ScheduledOp>;

void add(Ops& ops, Phase phase, int micro_batch, int chunk = 0) {
  ops.push_back({micro_batch, static_cast<std::int16_t>(chunk), phase});
}

Schedule empty_schedule(ScheduleKind kind, const Pipeline& pipeline, Placement placement) {
  Schedule schedule{kind, pipeline.micro_batches, std::move(placement), {}};
  schedule.devices.resize(pipeline.devices());
  return schedule;
}

Schedule gpipe(const Pipeline& pipeline) {
  Schedule schedule = empty_schedule(ScheduleKind::gpipe, pipeline, looped_placement(pipeline, 1));
  for (Ops& ops : schedule.devices) {
    for (int j = 0; j < pipeline.micro_batches; ++j) add(ops, Phase::forward, j);
    for (int j = 0; j < pipeline.micro_batches; ++j) add(ops, Phase::backward, j);
  }
  return schedule;
}

Schedule one_f_one_b(const Pipeline& pipeline) {
  Schedule schedule =
      empty_schedule(ScheduleKind::one_f_one_b, pipeline, looped_placement(pipeline, 1));
  const int p = pipeline.devices(), m = pipeline.micro_batches;
  for (int d = 0; d < p; ++d) {
    const int warm_up = std::min(p - d, m);
    Ops& ops = schedule.devices[d];
    for (int j = 0; j < warm_up; ++j) add(ops, Phase::forward, j);
    for (int j = 0; j < m; ++j) {
      add(ops, Phase::backward, j);
      if (j + warm_up < m) add(ops, Phase::forward, j + warm_up);
    }
  }
  return schedule;
}

// The handcrafted zero-bubble schedules: `lead` = 1 keeps the memory of 1F1B, 2 about doubles it.
// Device d starts with lead*(p-d-1)+1 forwards and holds lead*d weight gradients back.
Schedule zero_bubble(const Pipeline& pipeline, ScheduleKind kind, int lead) {
  Schedule schedule = empty_schedule(kind, pipeline, looped_placement(pipeline, 1));
  const int p = pipeline.devices(), m = pipeline.micro_batches;
  for (int d = 0; d < p; ++d) {
    const int warm_up = std::min(lead * (p - d - 1) + 1, m), held_back = lead * d;
    Ops& ops = schedule.devices[d];
    for (int j = 0; j < warm_up; ++j) add(ops, Phase::forward, j);
    for (int j = 0; j < m; ++j) {
      add(ops, Phase::backward_input, j);
      if (j >= held_back) add(ops, Phase::backward_weight, j - held_back);
      if (j + warm_up < m) add(ops, Phase::forward, j + warm_up);
    }
    for (int j = std::max(0, m - held_back); j < m; ++j) add(ops, Phase::backward_weight, j);
  }
  return schedule;
}

struct Step {
  int micro_batch, chunk;
};

// Forward order of the interleaved schedule: groups of p micro-batches, chunk by chunk. The first
// `early` micro-batches of the second group start before the first group's last chunk.
std::vector<Step> interleaved_order(int p, int m, int v, int early) {
  std::vector<Step> order;
  for (int group = 0; group < m; group += p) {
    for (int c = 0; c < v; ++c) {
      if (group == 0 && c == v - 1) {
        for (int e = 0; e < early; ++e) order.push_back({p + e, 0});
      }
      for (int j = group; j < group + p; ++j) {
        if (c > 0 || j < p || j >= p + early) order.push_back({j, c});
      }
    }
  }
  return order;
}

// How many extra forwards hide the way round from the last device back to the first, which p
// sends make longer than the p forwards that other devices run meanwhile.
int early_forwards(const Pipeline& pipeline, int v) {
  double sends = 0, slowest = 0;
  for (const StageTimes& stage : pipeline.stages) {
    sends += stage.send;
    slowest = std::max(slowest, stage.forward / v);
  }
  const int spare = std::min(pipeline.micro_batches - pipeline.devices(), pipeline.devices());
  if (v < 2 || slowest <= 0 || spare <= 0) return 0;
  return static_cast<int>(std::min<double>(spare, std::ceil(sends / slowest - 1e-9)));
}

Result<Schedule> interleaved(const Pipeline& pipeline) {
  const int p = pipeline.devices(), m = pipeline.micro_batches;
  const int v = pipeline.virtual_stages > 0 ? pipeline.virtual_stages : 2;
  if (m % p != 0) {
    return invalid(
               "the interleaved schedule runs micro-batches in groups of {} stages, but there are "
               "{}",
               p, m)
        .with_help(m < p ? fmt::format("take {} micro-batches", p)
                         : fmt::format("take {} or {} micro-batches", m / p * p, (m / p + 1) * p));
  }
  Schedule schedule =
      empty_schedule(ScheduleKind::interleaved, pipeline, looped_placement(pipeline, v));
  const int early = early_forwards(pipeline, v), total = m * v;
  const std::vector<Step> forward = interleaved_order(p, m, v, early);
  const std::vector<Step> backward = interleaved_order(p, m, v, 0);
  for (int d = 0; d < p; ++d) {
    const int warm_up = std::min(2 * (p - d - 1) + (v - 1) * p + 1 + early, total);
    Ops& ops = schedule.devices[d];
    for (int k = 0; k < warm_up; ++k)
      add(ops, Phase::forward, forward[k].micro_batch, forward[k].chunk);
    for (int k = 0; k < total; ++k) {
      add(ops, Phase::backward, backward[k].micro_batch, v - 1 - backward[k].chunk);
      if (k + warm_up >= total) continue;
      const Step& next = forward[k + warm_up];
      add(ops, Phase::forward, next.micro_batch, next.chunk);
    }
  }
  return schedule;
}

// Writes one device's DualPipe order: `near` is the direction that enters at the device's end of
// the pipeline, `far` the other. Both directions carry `half` micro-batches.
class DualPipeWriter {
 public:
  DualPipeWriter(Ops& ops, int near_chunk, int half) : ops_(ops), near_(near_chunk), half_(half) {}
  void forward(bool far) { step(Phase::forward, far, forwards_); }
  void backward(bool far) { step(Phase::backward, far, backwards_); }
  // B alone; its W waits in line for weight().
  void backward_input(bool far) {
    step(Phase::backward_input, far, backwards_);
    waiting_.push_back(ops_.back());
  }
  void weight() {
    add(ops_, Phase::backward_weight, waiting_[written_].micro_batch, waiting_[written_].chunk);
    ++written_;
  }

 private:
  void step(Phase phase, bool far, int (&count)[2]) {
    const int chunk = far ? 1 - near_ : near_;
    add(ops_, phase, chunk * half_ + count[far]++, chunk);
  }
  Ops& ops_;
  int near_, half_;
  int forwards_[2] = {0, 0}, backwards_[2] = {0, 0};
  Ops waiting_;
  std::size_t written_ = 0;
};

// DeepSeek's bidirectional schedule in its eight phases; `depth` is the distance from the nearer
// end and `inner` the number of devices between this one and the middle.
void dualpipe_device(DualPipeWriter w, int depth, int inner, int main_pairs) {
  for (int i = 0; i < 2 * inner; ++i) w.forward(false);
  for (int i = 0; i <= depth; ++i) w.forward(false), w.forward(true);
  for (int i = 0; i < inner; ++i) w.backward_input(true), w.weight(), w.forward(true);
  for (int i = 0; i < main_pairs; ++i) {
    w.forward(false), w.backward(true), w.forward(true), w.backward(false);
  }
  for (int i = 0; i < inner; ++i) w.backward(true), w.forward(true), w.backward(false);
  // Of the last 2(depth+1) backwards the second half sends on before its weight gradients.
  for (int i = 0; i < 2 * (depth + 1); ++i) {
    if (i <= depth)
      w.backward(i % 2 == 0);
    else
      w.backward_input(i % 2 == 0);
  }
  for (int i = 0; i < inner; ++i) w.weight(), w.backward_input(false);
  for (int i = 0; i <= depth; ++i) w.weight();
}

Result<Schedule> dualpipe(const Pipeline& pipeline) {
  const int p = pipeline.devices(), m = pipeline.micro_batches;
  if (p % 2 != 0) {
    return invalid("dualpipe needs an even number of stages, but there are {}", p)
        .with_help(fmt::format("take {} stages", p + 1));
  }
  if (m % 2 != 0 || m < 2 * p) {
    const int enough = std::max(2 * p, m + m % 2);
    return invalid(
               "dualpipe needs an even number of micro-batches, at least twice the {} stages, "
               "but there are {}",
               p, m)
        .with_help(fmt::format("take {} micro-batches", enough));
  }
  Schedule schedule = empty_schedule(ScheduleKind::dualpipe, pipeline, dual_placement(pipeline));
  for (int d = 0; d < p; ++d) {
    const int depth = std::min(d, p - 1 - d), near_chunk = d < p / 2 ? 0 : 1;
    // In dual_placement the downward chunk comes first on every device.
    dualpipe_device({schedule.devices[d], near_chunk, m / 2}, depth, p / 2 - depth - 1,
                    m / 2 - p + depth + 1);
  }
  return schedule;
}

// The memory targets of the V-shaped schedules, in M_B: a whole, about a half, about a third of
// 1F1B's.
double vee_limit(ScheduleKind kind, int p) {
  if (kind == ScheduleKind::zb_v) return p;
  const double target = kind == ScheduleKind::v_half ? (p + 2) / 2.0 : (p + 4) / 3.0;
  return std::min<double>(p, std::ceil(2 * target) / 2);  // whole chunks of half a stage
}

// Two chunks a device, V-shaped: the better of repeated blocks of passes and of list scheduling
// within the kind's own memory.
Schedule vee_schedule(ScheduleKind kind, const Pipeline& pipeline) {
  double unit = 0;
  for (const StageTimes& stage : pipeline.stages) unit = std::max(unit, stage.activation);
  const int p = pipeline.devices(), m = pipeline.micro_batches;
  const std::vector<double> limits(p, unit * vee_limit(kind, p));
  Schedule schedule = empty_schedule(kind, pipeline, vee_placement(pipeline));
  const double bound = makespan_lower_bound(schedule.placement, m, limits, pipeline.weight_share);
  constexpr std::int64_t ops_budget = 500'000;
  FoundSchedule best =
      search_rules(schedule.placement, m, limits, pipeline.weight_share, bound, ops_budget);
  if (kind != ScheduleKind::zb_v) {
    const BlockPace pace = kind == ScheduleKind::v_min ? v_min_pace : v_half_pace;
    consider_blocks(best, schedule.placement, m, limits, pipeline.weight_share, pace);
  }
  TENON_CHECK(!best.devices.empty(), "no {} schedule for {} stages", name(kind), p);
  schedule.devices = std::move(best.devices);
  return schedule;
}

}  // namespace

Status check_pipeline(const Pipeline& pipeline) {
  std::vector<Error> found;
  if (pipeline.stages.empty()) found.push_back(invalid("there are no stages"));
  if (pipeline.micro_batches < 1) {
    found.push_back(invalid("there must be at least one micro-batch, but there are {}",
                            pipeline.micro_batches));
  }
  if (pipeline.virtual_stages < 0) {
    found.push_back(invalid("{} virtual stages make no pipeline", pipeline.virtual_stages));
  }
  if (!(pipeline.weight_share >= 0 && pipeline.weight_share <= 1)) {
    found.push_back(invalid("the weight share {} lies outside 0 to 1", pipeline.weight_share));
  }
  for (int d = 0; d < pipeline.devices(); ++d) {
    const StageTimes& s = pipeline.stages[d];
    const double least =
        std::min({s.forward, s.backward_input, s.backward_weight, s.send, s.activation});
    if (!std::isfinite(s.work() + s.send + s.activation) || least < 0 || s.work() <= 0) {
      found.push_back(invalid("stage {} needs finite times of at least 0 and some work", d));
    }
  }
  if (found.empty()) return {};
  Error first = std::move(found.front());
  first.others.assign(std::make_move_iterator(found.begin() + 1),
                      std::make_move_iterator(found.end()));
  return first;
}

Result<Schedule> make_schedule(ScheduleKind kind, const Pipeline& pipeline) {
  TENON_TRY(check_pipeline(pipeline));
  switch (kind) {
    case ScheduleKind::gpipe: return gpipe(pipeline);
    case ScheduleKind::one_f_one_b: return one_f_one_b(pipeline);
    case ScheduleKind::interleaved: return interleaved(pipeline);
    case ScheduleKind::zb_h1: return zero_bubble(pipeline, kind, 1);
    case ScheduleKind::zb_h2: return zero_bubble(pipeline, kind, 2);
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min: return vee_schedule(kind, pipeline);
    case ScheduleKind::dualpipe: return dualpipe(pipeline);
    case ScheduleKind::automatic: return auto_schedule(pipeline);
  }
  TENON_CHECK(false, "a schedule kind without a generator");
}

}  // namespace tenon::planner
