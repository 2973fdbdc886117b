// The HTML page of a plan: one file with its tables and pictures.
#pragma once

#include <string>

#include "tenon/planner/search/answer.h"

namespace tenon::planner {

/// `headline` is the plan in words. Shows the step's parts, memory of each stage, the pipeline's
/// time line, the Pareto front where one was searched, and the plans that lost with their reasons.
Result<std::string> report_page(const Pricer& pricer, const PlanAnswer& answer,
                                const std::string& headline);

}  // namespace tenon::planner
