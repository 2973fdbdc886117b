// V-shaped schedules made of one repeated block of passes.
#pragma once

#include <vector>

#include "tenon/planner/pipeline/rule_search.h"

namespace tenon::planner {

/// Slots between the same pass on neighbouring devices: F and B of the way down and of the way up.
/// Qi et al., "Pipeline Parallelism with Controllable Memory" (2024): a micro-batch lives for
/// (forward_down + forward_up + backward_down + backward_up) p slots of six, twice half of M_B, so
/// the peak is that sum / 12 of p M_B.
struct BlockPace {
  int forward_down = 1, forward_up = 1, backward_down = 1, backward_up = 1;
};

/// A third of 1F1B's memory: every pass follows at once.
inline constexpr BlockPace v_min_pace = {1, 1, 1, 1};
/// A half: the ways up take two slots a device.
inline constexpr BlockPace v_half_pace = {1, 2, 1, 2};

/// The order of work on each device of vee_placement() when one block starts every six slots; W
/// fills the slots that are left. Real times then follow from the order alone.
std::vector<std::vector<ScheduledOp>> repeated_blocks(int devices, int micro_batches,
                                                      BlockPace pace);

/// Replaces `best` by repeated blocks where they fit and are faster.
void consider_blocks(FoundSchedule& best, const Placement& vee, int micro_batches,
                     const std::vector<double>& limits, double weight_share, BlockPace pace);

}  // namespace tenon::planner
