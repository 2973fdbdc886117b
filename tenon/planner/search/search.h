// The search for the best plan.
#pragma once

#include "tenon/planner/search/request.h"

namespace tenon::planner {

/// Coarse to fine: every division of the devices, the choices inside, small moves from the best,
/// then a genetic algorithm where devices differ or several objectives are asked for. The same
/// request gives the same report (but `seconds`) unless it is stopped by the clock or an interrupt;
/// then the best so far is returned. Plans to start from are tried first and can only make the
/// answer better. Errors: `invalid` for fixed keys that do not exist or contradict each other;
/// `out_of_memory` where nothing fits, with the least that would make it fit.
Result<SearchReport> search(Pricer& pricer, const SearchRequest& request);

}  // namespace tenon::planner
