// Results of earlier searches, kept in a file to start later ones from.
#pragma once

#include <filesystem>
#include <vector>

#include "tenon/planner/plan.h"

namespace tenon::planner {

/// Appends to `plans` the stored plans of a family of models ("llama"), newest first, at most 64. A
/// file that is not there yet holds none. Errors: `io`, or `invalid` with the line that is no
/// stored plan.
Status recall(const std::filesystem::path& file, std::string_view family, std::vector<Plan>& plans);

/// Adds a plan, one JSON object a line, and replaces the file as a whole. A plan that is there
/// already moves to the end.
Status remember(const std::filesystem::path& file, std::string_view family, const Plan& plan);

}  // namespace tenon::planner
