// One training step on every rank: an event for each rank, micro-batch and phase.
//
// A pipeline schedule runs on `replicas` data-parallel copies, each stage on a group of
// `group_ranks` ranks that work in lockstep (their layers exchange data in every op). Slow ranks,
// slow links, jitter and a failure can be injected. Rank of stage d, replica r, member t: (d *
// replicas + r) * group_ranks + t.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/base/trace.h"
#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

struct SlowRank {
  std::int64_t rank = 0;
  double factor = 1;  ///< its ops take this many times as long
};

struct SlowLink {
  std::int64_t from_rank = 0, to_rank = 0;  ///< in either direction
  double factor = 1;                        ///< its sends take this many times as long
};

struct RankFailure {
  std::int64_t rank = 0;
  double at_ms = 0;       ///< from the start of the step; an op that is running then never ends
  double restart_ms = 0;  ///< from the failure until the step starts again with a spare
};

struct RankSetup {
  int group_ranks = 1;
  int replicas = 1;
  std::vector<double>
      gradient_sync_ms;  ///< of a stage after its last op: empty, one for all, or one a stage
  std::vector<double> optimizer_ms;  ///< the same
  std::vector<SlowRank> slow_ranks;
  std::vector<SlowLink> slow_links;
  std::optional<RankFailure> failure;
  double jitter = 0;  ///< relative standard deviation of every op on every rank
  std::uint64_t seed = 0;
  bool fold = true;  ///< replicas without anything of their own are simulated once
};

struct RankReport {
  double step_ms = 0;       ///< until the last rank has taken its optimizer step
  double pipeline_ms = 0;   ///< until the last op of the last replica
  std::int64_t events = 0;  ///< ops simulated, one for each rank
  int simulated_replicas = 0;
  /// Of each simulated rank, in rank order where nothing is folded, else of the first replica of
  /// each kind.
  std::vector<std::int64_t> ranks;
  std::vector<double> busy_ms;  ///< running ops, its own time only
  std::vector<double>
      wait_ms;  ///< between its first op and the end of the step: for its group, inputs, or others
  bool failed =
      false;  ///< the failure hit before the rank was done; step_ms then includes the restart
  std::int64_t blocked_ranks = 0;  ///< that stood still, at the latest in the gradient exchange
  double last_progress_ms = 0;     ///< when the last rank stopped after the failure
};

/// Runs one step. `trace`, where given, receives the ops of the first simulated replica's ranks.
/// Errors: `invalid` for ranks that do not exist, factors that are not positive, lists of the wrong
/// length, or a schedule whose orders block each other. All problems of the setup are reported.
Result<RankReport> simulate_ranks(const Schedule& schedule, const RankSetup& setup,
                                  TraceWriter* trace = nullptr);

}  // namespace tenon::planner
