// Invents inputs from a model's signature, for benchmarks and comparisons.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tenon/ir/graph.h"

namespace tenon::migrate {

/// Sizes for symbols that no shape names: batch-like ones 1, others 64.
Result<Bindings> choose_sizes(const Graph& graph, const std::map<std::string, Dims>& shapes);

/// One value for each input: floats in [-1, 1), integers that index a table within its range (other
/// integers 0 or 1), booleans true. The same seed gives the same values.
Result<Datums> invent_inputs(const Graph& graph, const std::map<std::string, Dims>& shapes,
                             std::uint64_t seed);

}  // namespace tenon::migrate
