// What was fused in a compiled graph, and why the rest was not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/engine/engine.h"

namespace tenon::migrate {

/// One fused node, or one pair of neighbours that stayed apart.
struct Fusion {
  bool done = false;
  std::string node, kernel;            // the fused node and what runs it; or the earlier neighbour
  std::vector<std::string> operators;  // inside, in execution order
  std::string reader, reason;          // the later neighbour, and why the two are two kernels
};

/// Every fused node of `graph` and its regions, and every pair of nodes of which the second could
/// be a step of the first one's kernel: an elementwise node behind one that computes. The reason is
/// found in the graph as it is now, so it holds whichever pass declined. Deterministic.
std::vector<Fusion> fusions_of(const Graph& graph, const engine::CompileReport& report);

}  // namespace tenon::migrate
