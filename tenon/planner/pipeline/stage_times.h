// Stage times as `tenon plan schedule --times` reads them.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/planner/pipeline/schedule.h"

namespace tenon::planner {

/// CSV with a header: `forward, backward_input, backward_weight, send` in ms and optionally
/// `activation` in M_B; one row a stage, or one row for all `num_stages`. All problems are
/// reported.
Result<std::vector<StageTimes>> parse_stage_times(std::string_view text, std::string_view where,
                                                  int num_stages);

}  // namespace tenon::planner
