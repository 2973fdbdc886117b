// One pipeline device while it is being priced; shared by the pricer's parts.
#pragma once

#include "tenon/planner/layer_price.h"
#include "tenon/planner/pipeline_time.h"
#include "tenon/planner/prediction.h"

namespace tenon::planner {

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
  double exposed_gather = 0;  // ZeRO-3 traffic that computation does not hide, one micro-batch
  DeviceTimes times;
  double compute_seconds = 0;  // of times.total(), what is computation
  MemoryParts memory;
  double reserve_bytes = 0;
};

}  // namespace tenon::planner
