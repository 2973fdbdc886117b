// The fine half of the search: small moves from good plans, in the order a policy suggests.
#pragma once

#include "tenon/planner/search/evaluator.h"
#include "tenon/planner/search/policy.h"

namespace tenon::planner {

struct RefineOptions {
  const MovePolicy* policy = nullptr;  ///< none: moves in their fixed order, none left out
  int moves_at_each = num_moves;       ///< how many moves of the order are tried before giving up
};

/// Climbs from `start`, taking the first move that helps, until none does. A plan that does not fit
/// is compared by how far it is from fitting. Returns where it ended.
Plan refine(Evaluator& evaluator, const SearchSpace& space, const Plan& start,
            const RefineOptions& options);

/// Better: fits where the other does not, else nearer to fitting, else smaller in value.
bool better(const Evaluator::Outcome& a, const Evaluator::Outcome& b);

}  // namespace tenon::planner
