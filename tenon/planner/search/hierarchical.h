// The coarse half of the search: every division of the devices, then the choices inside those that
// can still win.
#pragma once

#include "tenon/planner/search/evaluator.h"

namespace tenon::planner {

/// Prices every mesh and micro-batch once, then goes through the choices of each cell from the most
/// promising on. A cell, or a way of recomputing in it, is dropped when its computation alone
/// already takes longer than the best plan. Deterministic; returns early when the evaluator says
/// stop.
void search_hierarchically(Evaluator& evaluator, const SearchSpace& space);

}  // namespace tenon::planner
