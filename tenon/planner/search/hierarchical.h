// The coarse half of the search: every division of the devices, then the choices inside those that
// can still win.
#pragma once

#include "tenon/planner/search/evaluator.h"

namespace tenon::planner {

/// One mesh with one micro-batch size, under the first choice of everything else.
struct Cell {
  Plan plan;
  double compute = 0;   ///< seconds of computation, which no other choice in the cell makes less
  double estimate = 0;  ///< of the objective, more where memory is short
};

/// Prices every cell once; most promising first.
std::vector<Cell> coarse_cells(Evaluator& evaluator, const SearchSpace& space);

/// Goes through all choices in the cells. A cell, or a way of recomputing in it, is dropped when
/// its computation alone already takes longer than the best plan. Deterministic; returns early when
/// the evaluator says stop.
void search_cells(Evaluator& evaluator, const SearchSpace& space, const std::vector<Cell>& cells);

}  // namespace tenon::planner
