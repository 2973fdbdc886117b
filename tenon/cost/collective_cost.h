// Time of collectives over a group of devices: closed forms by level (alpha-beta).
#pragma once

#include <cstdint>

#include "tenon/cost/efficiency.h"
#include "tenon/machine/cluster.h"

namespace tenon {

/// How a group of peers lies on the topology: `inside` peers in each node, over `nodes` nodes.
/// Bandwidths are what the stack reaches, per device and one way; latencies are for one hop.
struct GroupLinks {
  int size = 1;
  int inside = 1;
  int nodes = 1;
  Link node;
  Link network;  // of the narrowest level that spans the group
};

/// The group of `size` peers whose ranks lie `stride` apart.
GroupLinks group_links(const std::vector<LinkLevel>& levels, const Efficiency& efficiency, int size,
                       std::int64_t stride);

enum class Algorithm { automatic, ring, tree, hierarchical };

/// All-reduce of `bytes` on every peer.
///   ring: 2(n-1)/n bytes over the slower of the node link and the node's network links together
///   tree: 2 bytes over the same, in 2 log2(nodes) network hops
///   hierarchical: reduce-scatter in the node, ring between nodes on a share, all-gather in the
///   node
double all_reduce_seconds(const GroupLinks& group, double bytes,
                          Algorithm algorithm = Algorithm::automatic);
/// Reduce-scatter of `bytes` (whole) to a share on each peer; half an all-reduce.
double reduce_scatter_seconds(const GroupLinks& group, double bytes,
                              Algorithm algorithm = Algorithm::automatic);
/// All-gather to `bytes` (whole) on every peer; half an all-reduce.
double all_gather_seconds(const GroupLinks& group, double bytes,
                          Algorithm algorithm = Algorithm::automatic);
/// Each peer holds `bytes` and keeps 1/n of them.
double all_to_all_seconds(const GroupLinks& group, double bytes);
/// One message of `bytes` to the next peer.
double send_seconds(const GroupLinks& group, double bytes);

}  // namespace tenon
