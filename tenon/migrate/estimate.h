// Predicted latency of a model from a machine's description, before compiling anything.
#pragma once

#include <string>

#include "tenon/ir/graph.h"
#include "tenon/machine/device.h"

namespace tenon::migrate {

struct Estimate {
  std::string target;
  double latency_ms = 0;
  std::int64_t memory_bytes = 0;  // weights and the most activations alive at once
  std::string limited_by;  // "compute", "memory" or "launches": what most of the time goes to
  double compute_ms = 0, memory_ms = 0, launch_ms = 0;
};

/// The roofline of each node (work over peak against bytes over bandwidth, whichever is longer)
/// plus its launch (Williams, Waterman and Patterson 2009). `threads` scales a processor's peak.
Estimate estimate(const Graph& graph, const Bindings& sizes, const Device& device,
                  Precision precision);

}  // namespace tenon::migrate
