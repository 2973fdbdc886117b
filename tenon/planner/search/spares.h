// Searching with fewer devices than there are, where their number divides badly.
#pragma once

#include "tenon/planner/search/search.h"

namespace tenon::planner {

struct SparedSearch {
  SearchReport report;
  Pricer pricer;           ///< of the devices that are used
  std::int64_t spare = 0;  ///< devices left over
};

/// A cluster with `devices` fewer: whole nodes go first, from the group with the slowest devices;
/// what is left of a broken node is not used. Errors: `invalid` where nothing is left.
Result<Cluster> without_devices(const Cluster& cluster, std::int64_t devices);

/// The search, and where the number of devices has a prime factor above 3 also on a few smaller
/// numbers of nodes that the batch and the layers divide better. The fastest wins; `cluster` may be
/// mixed (nodes go from its slowest group).
Result<SparedSearch> search_with_spares(const Workload& workload, const Cluster& cluster,
                                        const Pricer::Calibrations& calibrations,
                                        const SearchRequest& request);

}  // namespace tenon::planner
