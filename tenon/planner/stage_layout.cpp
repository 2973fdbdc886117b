// Spreading blocks over chunks, and chunks over devices.
#include "tenon/planner/stage_layout.h"

#include <algorithm>

namespace tenon::planner {
namespace {

/// Extra blocks go to chunks in the middle first: chunk c takes one when fewer than `extra` chunks
/// lie nearer to the middle.
bool takes_extra(int chunk, int chunks, int extra) {
  const int low = (chunks - extra + 1) / 2;
  return chunk >= low && chunk < low + extra;
}

int device_of(const Plan& plan, int chunk, int chunks) {
  const int p = plan.pipeline_parallel;
  switch (plan.schedule) {
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min: return chunk < p ? chunk : chunks - 1 - chunk;
    case ScheduleKind::dualpipe:
    case ScheduleKind::gpipe:
    case ScheduleKind::one_f_one_b:
    case ScheduleKind::interleaved:
    case ScheduleKind::zb_h1:
    case ScheduleKind::zb_h2:
    case ScheduleKind::automatic: return chunk % p;
  }
  return chunk % p;
}

int num_chunks(const Plan& plan) {
  // DualPipe holds two copies of the plain stages, one for each direction.
  if (plan.schedule == ScheduleKind::dualpipe) return plan.pipeline_parallel;
  return plan.pipeline_parallel * chunks_per_device(plan.schedule, plan.virtual_stages);
}

}  // namespace

std::vector<int> spread_blocks(int blocks, int chunks) {
  std::vector<int> counts(static_cast<std::size_t>(chunks), blocks / chunks);
  for (int c = 0; c < chunks; ++c) counts[c] += takes_extra(c, chunks, blocks % chunks);
  return counts;
}

void chunk_spans(const Plan& plan, int blocks, std::vector<ChunkSpan>& spans) {
  const int chunks = num_chunks(plan), p = plan.pipeline_parallel, each = chunks / p;
  const int given = static_cast<int>(plan.layers_per_stage.size());
  const int share = blocks / chunks, extra = blocks % chunks;
  spans.clear();
  int first = 0;
  for (int c = 0; c < chunks; ++c) {
    const int device = device_of(plan, c, chunks);
    int count = share + takes_extra(c, chunks, extra);
    if (given == chunks) {
      count = plan.layers_per_stage[c];
    } else if (given == p) {
      // A device's count is spread over its chunks, the earlier ones taking what is left over.
      const int mine = plan.layers_per_stage[device], turn = c / p;
      count = mine / each + (turn < mine % each);
    }
    spans.push_back({device, first, count});
    first += count;
  }
}

std::vector<ChunkSpan> chunk_spans(const Plan& plan, int blocks) {
  std::vector<ChunkSpan> spans;
  chunk_spans(plan, blocks, spans);
  return spans;
}

}  // namespace tenon::planner
