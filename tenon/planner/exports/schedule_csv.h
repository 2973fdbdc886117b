// A pipeline schedule as the rows that PyTorch's pipelining runtime loads.
#pragma once

#include <string>

#include "tenon/planner/plan.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {

/// One row a device, one cell an action: the stage's number, F (forward), B (whole backward), I and
/// W (its two halves), the micro-batch's number. The order is the one that Tenon predicts and
/// simulates. Errors: those of make_schedule.
Result<std::string> schedule_csv(Pricer& pricer, const Plan& plan);

}  // namespace tenon::planner
