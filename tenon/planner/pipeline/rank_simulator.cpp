#include "tenon/planner/pipeline/rank_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/base/object_reader.h"
#include "tenon/base/random.h"
#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {
namespace {

double value_for(const std::vector<double>& values, int device) {
  if (values.empty()) return 0;
  return values.size() == 1 ? values[0] : values[device];
}

// What sets one replica apart.
struct Peculiarities {
  std::vector<double> factors;  // of its ranks (device-major), empty: all 1
  std::vector<SlowLink> links;
  std::int64_t failing_rank = -1;  // position among its ranks
  bool none() const { return factors.empty() && links.empty() && failing_rank < 0; }
};

// The ranks of one replica; position = device * group + member.
class ReplicaRun {
 public:
  ReplicaRun(const Schedule& schedule, const RankSetup& setup)
      : schedule_(schedule),
        placement_(schedule.placement),
        setup_(setup),
        group_(setup.group_ranks),
        m_(schedule.micro_batches),
        done_(2 * placement_.chunks.size() * m_ * group_),
        free_(placement_.devices() * group_),
        first_(free_.size()),
        busy_(free_.size()),
        next_(placement_.devices()),
        queued_(placement_.devices()),
        lengths_(setup.group_ranks) {}

  // False when the orders block each other though nothing failed.
  bool run(int replica, const Peculiarities& own, TraceWriter* trace) {
    replica_ = replica, own_ = &own, trace_ = trace;
    std::fill(done_.begin(), done_.end(), -1.0);
    std::fill(free_.begin(), free_.end(), 0.0);
    std::fill(busy_.begin(), busy_.end(), 0.0);
    std::fill(next_.begin(), next_.end(), 0);
    std::fill(queued_.begin(), queued_.end(), 1);
    halted_ = 0;
    ready_.clear();
    for (int d = placement_.devices() - 1; d >= 0; --d) ready_.push_back(d);
    while (!ready_.empty()) {
      const int d = ready_.back();
      ready_.pop_back();
      queued_[d] = 0;
      advance(d);
    }
    for (int d = 0; d < placement_.devices(); ++d) halted_ += next_[d] < ops(d).size();
    return halted_ == 0 || own.failing_rank >= 0;
  }

  const std::vector<double>& last_end() const { return free_; }
  const std::vector<double>& first_start() const { return first_; }
  const std::vector<double>& busy() const { return busy_; }
  std::int64_t events() const { return events_; }
  int halted_devices() const { return halted_; }

 private:
  const std::vector<ScheduledOp>& ops(int device) const { return schedule_.devices[device]; }
  std::size_t slot(int chunk, bool backward, int micro_batch) const {
    return ((2 * static_cast<std::size_t>(chunk) + backward) * m_ + micro_batch) * group_;
  }

  void advance(int device) {
    for (std::size_t& i = next_[device]; i < ops(device).size(); ++i) {
      if (!run_op(device, ops(device)[i], i == 0)) return;
    }
  }

  struct Source {
    int chunk = -1;  // none: the op can start at once
    bool backward = false;
  };
  Source source(int chunk, Phase phase) const {
    const Chunk& own = placement_.chunks[chunk];
    if (phase == Phase::forward) return {own.previous, false};
    if (phase == Phase::backward_weight) return {chunk, true};
    return own.next < 0 ? Source{chunk, false} : Source{own.next, true};
  }

  bool run_op(int device, const ScheduledOp& op, bool first) {
    const int chunk = placement_.of_device[device][op.chunk];
    const Source from = source(chunk, op.phase);
    const double* arrived = nullptr;
    if (from.chunk >= 0) {
      arrived = &done_[slot(from.chunk, from.backward, op.micro_batch)];
      if (arrived[0] < 0) return false;
    }
    const double length = duration(placement_.chunks[chunk].times, op.phase);
    double start = 0, longest = 0;
    for (int t = 0; t < group_; ++t) {
      const int rank = device * group_ + t;
      const double own_start =
          arrived ? std::max(free_[rank], arrived[t] + travel(from.chunk, device, t)) : free_[rank];
      if (first) first_[rank] = own_start;
      lengths_[t] = length * pace(rank);
      start = std::max(start, own_start);
      longest = std::max(longest, lengths_[t]);
    }
    const double end = start + longest;
    if (fails(device, end)) return false;
    finish(device, chunk, op, start, end);
    return true;
  }

  // Where the failing rank takes part, nothing ends after the failure.
  bool fails(int device, double end) const {
    return own_->failing_rank >= 0 && own_->failing_rank / group_ == device &&
           end > setup_.failure->at_ms;
  }

  double pace(int rank) {
    double factor = own_->factors.empty() ? 1 : own_->factors[rank];
    if (setup_.jitter > 0) {
      CounterRandom noise(setup_.seed, mix_key(replica_, rank, events_));
      factor *= std::max(0.1, 1 + setup_.jitter * noise.normal());
    }
    ++events_;
    return factor;
  }

  double travel(int from_chunk, int device, int member) const {
    const Chunk& from = placement_.chunks[from_chunk];
    if (from.device == device) return 0;
    double send = from.times.send;
    for (const SlowLink& link : own_->links) {
      const std::int64_t a = global_rank(from.device, member), b = global_rank(device, member);
      if ((link.from_rank == a && link.to_rank == b) || (link.from_rank == b && link.to_rank == a))
        send *= link.factor;
    }
    return send;
  }

  std::int64_t global_rank(int device, int member) const {
    return (static_cast<std::int64_t>(device) * setup_.replicas + replica_) * group_ + member;
  }

  void finish(int device, int chunk, const ScheduledOp& op, double start, double end) {
    const bool weight = op.phase == Phase::backward_weight, backward = op.phase != Phase::forward;
    double* results = weight ? nullptr : &done_[slot(chunk, backward, op.micro_batch)];
    for (int t = 0; t < group_; ++t) {
      const int rank = device * group_ + t;
      busy_[rank] += lengths_[t];
      free_[rank] = end;
      if (results) results[t] = end;
      if (trace_) draw(device, t, op, start, lengths_[t]);
    }
    if (weight) return;
    const Chunk& own = placement_.chunks[chunk];
    const int consumer = backward ? own.previous : own.next;
    if (consumer < 0) return;
    const int other = placement_.chunks[consumer].device;
    if (other == device || queued_[other]) return;
    queued_[other] = 1;
    ready_.push_back(other);
  }

  void draw(int device, int member, const ScheduledOp& op, double start, double length) const {
    trace_->span(fmt::format("{}{}", name(op.phase), op.micro_batch), name(op.phase), device,
                 static_cast<int>(global_rank(device, member)), 1e3 * start, 1e3 * length,
                 {{"micro_batch", op.micro_batch}, {"chunk", op.chunk}});
  }

  const Schedule& schedule_;
  const Placement& placement_;
  const RankSetup& setup_;
  const int group_, m_;
  std::vector<double> done_;  // ms, F and B of each chunk, micro-batch and member; -1: not yet
  std::vector<double> free_, first_, busy_;
  std::vector<std::size_t> next_;
  std::vector<char> queued_;
  std::vector<int> ready_;
  std::vector<double> lengths_;
  int replica_ = 0, halted_ = 0;
  std::int64_t events_ = 0;
  const Peculiarities* own_ = nullptr;
  TraceWriter* trace_ = nullptr;
};

void check_list(const std::vector<double>& values, int stages, const char* what,
                std::vector<Error>& problems) {
  if (values.size() > 1 && static_cast<int>(values.size()) != stages) {
    problems.push_back(invalid("{} {} times for {} stages", values.size(), what, stages));
  }
  for (const double value : values) {
    if (!(value >= 0) || !std::isfinite(value))
      problems.push_back(invalid("a {} time of {}", what, value));
  }
}

Status check_setup(const Schedule& schedule, const RankSetup& setup) {
  std::vector<Error> problems;
  const int p = schedule.placement.devices();
  if (setup.group_ranks < 1 || setup.replicas < 1) {
    return invalid("{} ranks a group and {} replicas make no cluster", setup.group_ranks,
                   setup.replicas);
  }
  const std::int64_t ranks = std::int64_t{1} * p * setup.group_ranks * setup.replicas;
  const auto check_rank = [&](std::int64_t rank) {
    if (rank < 0 || rank >= ranks)
      problems.push_back(invalid("there is no rank {} among {}", rank, ranks));
  };
  const auto check_factor = [&](double factor) {
    if (!(factor > 0) || !std::isfinite(factor))
      problems.push_back(invalid("a factor of {}", factor));
  };
  for (const SlowRank& slow : setup.slow_ranks) check_rank(slow.rank), check_factor(slow.factor);
  for (const SlowLink& slow : setup.slow_links) {
    check_rank(slow.from_rank), check_rank(slow.to_rank), check_factor(slow.factor);
  }
  if (setup.failure) check_rank(setup.failure->rank);
  if (!(setup.jitter >= 0 && setup.jitter < 1))
    problems.push_back(invalid("a jitter of {}", setup.jitter));
  check_list(setup.gradient_sync_ms, p, "gradient exchange", problems);
  check_list(setup.optimizer_ms, p, "optimizer", problems);
  if (!problems.empty()) return all_of(std::move(problems));
  return {};
}

std::vector<Peculiarities> peculiarities(const RankSetup& setup, int devices) {
  std::vector<Peculiarities> all(setup.replicas);
  const auto replica_of = [&](std::int64_t rank) {
    return rank / setup.group_ranks % setup.replicas;
  };
  const auto position = [&](std::int64_t rank) {
    const std::int64_t device = rank / setup.group_ranks / setup.replicas;
    return device * setup.group_ranks + rank % setup.group_ranks;
  };
  for (const SlowRank& slow : setup.slow_ranks) {
    Peculiarities& own = all[replica_of(slow.rank)];
    own.factors.resize(static_cast<std::size_t>(devices) * setup.group_ranks, 1.0);
    own.factors[position(slow.rank)] *= slow.factor;
  }
  for (const SlowLink& slow : setup.slow_links)
    all[replica_of(slow.from_rank)].links.push_back(slow);
  if (setup.failure)
    all[replica_of(setup.failure->rank)].failing_rank = position(setup.failure->rank);
  return all;
}

// Ends of all replicas, gathered as they are simulated.
struct Gathered {
  std::vector<double> slowest;  // for each position, over the replicas
  double longest = 0;
};

class StepRun {
 public:
  StepRun(const Schedule& schedule, const RankSetup& setup, TraceWriter* trace)
      : setup_(setup),
        trace_(trace),
        replica_run_(schedule, setup),
        devices_(schedule.placement.devices()) {
    gathered_.slowest.resize(static_cast<std::size_t>(devices_) * setup.group_ranks);
  }

  Result<RankReport> run() {
    const std::vector<Peculiarities> all = peculiarities(setup_, devices_);
    const bool fold = setup_.fold && setup_.jitter == 0;
    bool plain_done = false;
    for (int r = 0; r < setup_.replicas; ++r) {
      if (fold && all[r].none() && plain_done) continue;
      plain_done = plain_done || all[r].none();
      if (!replica_run_.run(r, all[r], report_.simulated_replicas == 0 ? trace_ : nullptr)) {
        return invalid("the orders of the devices wait for each other");
      }
      gather(r);
    }
    finish();
    return std::move(report_);
  }

 private:
  void gather(int replica) {
    ++report_.simulated_replicas;
    halted_ = halted_ || replica_run_.halted_devices() > 0;
    for (std::size_t i = 0; i < gathered_.slowest.size(); ++i) {
      const double end = replica_run_.last_end()[i];
      gathered_.slowest[i] = std::max(gathered_.slowest[i], end);
      gathered_.longest = std::max(gathered_.longest, end);
      report_.ranks.push_back(
          (static_cast<std::int64_t>(i) / setup_.group_ranks * setup_.replicas + replica) *
              setup_.group_ranks +
          static_cast<std::int64_t>(i) % setup_.group_ranks);
      report_.busy_ms.push_back(replica_run_.busy()[i]);
      report_.wait_ms.push_back(-replica_run_.busy()[i] - replica_run_.first_start()[i]);
    }
  }

  // Replicas exchange gradients stage by stage, then each takes its optimizer step.
  void finish() {
    report_.events = replica_run_.events();
    report_.pipeline_ms = gathered_.longest;
    for (std::size_t i = 0; i < gathered_.slowest.size(); ++i) {
      const int d = static_cast<int>(i) / setup_.group_ranks;
      const double after =
          value_for(setup_.gradient_sync_ms, d) + value_for(setup_.optimizer_ms, d);
      report_.step_ms = std::max(report_.step_ms, gathered_.slowest[i] + after);
    }
    for (double& wait : report_.wait_ms) wait += report_.step_ms;
    if (!halted_) return;
    report_.failed = true;
    // Every rank needs the lost one's gradients or its pipeline's results, so all stand still.
    report_.blocked_ranks = static_cast<std::int64_t>(gathered_.slowest.size()) * setup_.replicas;
    report_.last_progress_ms = gathered_.longest;
  }

  const RankSetup& setup_;
  TraceWriter* trace_;
  ReplicaRun replica_run_;
  const int devices_;
  Gathered gathered_;
  RankReport report_;
  bool halted_ = false;
};

}  // namespace

Result<RankReport> simulate_ranks(const Schedule& schedule, const RankSetup& setup,
                                  TraceWriter* trace) {
  TENON_TRY(check_setup(schedule, setup));
  RankReport report = TENON_TRY(StepRun(schedule, setup, trace).run());
  if (!report.failed) return report;
  // The step starts again from its beginning, the lost rank replaced.
  RankSetup again = setup;
  again.failure.reset();
  const RankReport second = TENON_TRY(StepRun(schedule, again, nullptr).run());
  report.step_ms = setup.failure->at_ms + setup.failure->restart_ms + second.step_ms;
  report.pipeline_ms = second.pipeline_ms;
  return report;
}

}  // namespace tenon::planner
