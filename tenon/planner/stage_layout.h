// Which blocks lie on which pipeline device.
#pragma once

#include <vector>

#include "tenon/planner/plan.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

/// A run of equal blocks.
struct BlockRun {
  int type = 0;
  int count = 0;
};

/// Blocks of a chunk in chain order, [first, first + count).
struct ChunkSpan {
  int device = 0;
  int first = 0;
  int count = 0;
};

/// Spreads `blocks` over `chunks`: whole shares, what is left over goes to the middle, so that the
/// first and last chunk (which also hold embedding and head) stay lightest.
std::vector<int> spread_blocks(int blocks, int chunks);

/// The chunks of a plan in chain order. `layers_per_stage` may name each device's or each chunk's
/// count. V-shaped kinds put chunk c and its mirror on one device; the others go round.
std::vector<ChunkSpan> chunk_spans(const Plan& plan, int blocks);
/// The same without allocating.
void chunk_spans(const Plan& plan, int blocks, std::vector<ChunkSpan>& spans);

}  // namespace tenon::planner
