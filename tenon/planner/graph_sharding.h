// Tensor parallelism of a graph, from the operators' sharding facets.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/ir/graph.h"

namespace tenon::planner {

/// What dividing over tensor peers does to one node. Bytes are of two-byte elements and of all the
/// samples that the graph holds; a collective of b bytes is worth an all-reduce of b, a gather or
/// scatter half of one.
struct NodeDivision {
  bool results = false;  // each peer makes its share of the results
  bool inner = false;    // each peer sums over its share of the inner axis
  double reduce_bytes = 0, reduce_bytes_backward = 0;
  int reduces = 0, reduces_backward = 0;
};

struct GraphDivision {
  std::map<const Node*, NodeDivision> nodes;
  std::set<const Value*> weights;  // each peer holds its share of these
  std::int64_t divisor = 1;        // what the number of peers must divide; 1: nothing is divided
};

/// Divides a graph along one axis of each value, from front to back. A product with a weight whose
/// input is whole divides its columns; what follows goes on divided as far as its sharding facet
/// lets the axis through; a product over the divided axis ends in a sum over the peers. What cannot
/// take a divided value gets it gathered. Views carry a division from an axis to the axes that it
/// is made of, also behind a small leading one (query, key and value side by side): the columns of
/// the weight in front may lie in any order. Values are whole behind the nodes of `ends`, so that
/// the stretches between them stand alone; the graph's own results stay divided. Errors: a symbol
/// without a value.
Result<GraphDivision> divide(const Graph& graph, const Bindings& sizes,
                             const std::set<const Node*>& ends);

}  // namespace tenon::planner
