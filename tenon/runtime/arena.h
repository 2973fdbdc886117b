// Static memory planning: offsets for buffers whose lifetimes are known.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon {

/// One buffer: alive from step `first` to step `last`, both inclusive.
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  // one for each lifetime, 64-byte aligned
  std::int64_t bytes = 0;             // size of the arena
  std::int64_t lower_bound = 0;       // the most bytes alive at one step: no plan needs fewer
};

/// Buffers that are alive at a common step do not overlap. Greedy by size with best fit, and the
/// same by first step; the smaller arena wins (Pisarchyk and Lee 2020, arXiv 2001.03288).
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace tenon
