// One pipeline device while it is being priced; shared by the pricer's parts.
#pragma once

#include "tenon/planner/layer_price.h"
#include "tenon/planner/pipeline_time.h"
#include "tenon/planner/prediction.h"

namespace tenon::planner {

/// One block under one choice of recomputation, one micro-batch.
struct BlockCost {
  LayerPrice sum;
  double recompute = 0, recompute_comm = 0;  // seconds added to backward, and the traffic in them
  double recompute_kernels = 0;
  double flight = 0;    // bytes kept by each micro-batch in flight
  double once = 0;      // bytes worked on by one micro-batch at a time
  double boundary = 0;  // bytes sent on
};

struct StageState {
  int device = 0;
  std::size_t group = 0;
  int layers = 0;
  LayerPrice sum;             // all layers of the device, nothing recomputed
  double recompute = 0;       // seconds that recomputation adds to backward, traffic included
  double recompute_comm = 0;  // the traffic in it
  double recompute_kernels = 0;
  double flight_bytes = 0;  // kept by each micro-batch in flight
  double once_bytes = 0;    // kept or worked on by one micro-batch at a time
  double largest_block_parameters = 0;
  double boundary_bytes = 0;  // sent on, one micro-batch
  double send = 0;            // seconds of that message that nothing hides
  DeviceTimes times;
  double compute_seconds = 0;  // of times.total(), what is computation
  MemoryParts memory;
  double reserve_bytes = 0;
};

}  // namespace tenon::planner
