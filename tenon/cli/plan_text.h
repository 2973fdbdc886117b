// Predictions and plans as people read them.
#pragma once

#include <string>
#include <vector>

#include "tenon/planner/plan.h"
#include "tenon/planner/prediction.h"

namespace tenon::cli {

/// Time with its parts, memory with its parts, stages where there are several.
std::string text_of(const planner::Prediction& prediction);
/// One line a problem, its help indented under it.
std::string text_of(const std::vector<planner::Problem>& problems);
/// "12.3 GiB", "456 MiB".
std::string bytes_text(double bytes);
/// "1.23 s", "45.6 ms".
std::string seconds_text(double seconds);

}  // namespace tenon::cli
