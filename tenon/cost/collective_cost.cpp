// Closed forms of collectives.
#include "tenon/cost/collective_cost.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

/// A collective is launched once, whatever its size.
constexpr double kLaunchSeconds = 38e-6;

/// Bytes per second of one peer's share of the slowest cut: within the node its own link; between
/// nodes all of the group's links in a node carry the ring together.
double ring_bandwidth(const GroupLinks& g) {
  if (g.nodes == 1) return g.node.bytes_per_second;
  const double network = g.network.bytes_per_second * g.inside;
  return g.inside > 1 ? std::min(g.node.bytes_per_second, network) : network;
}

double ring_seconds(const GroupLinks& g, double bytes) {
  const double share = static_cast<double>(g.size - 1) / g.size;
  const double inner_hops = static_cast<double>(g.size - g.nodes);
  const double outer_hops = g.nodes > 1 ? g.nodes : 0;
  return 2 * (share * bytes / ring_bandwidth(g) + inner_hops * g.node.latency_seconds +
              outer_hops * g.network.latency_seconds) +
         kLaunchSeconds;
}

double tree_seconds(const GroupLinks& g, double bytes) {
  const double hops = std::ceil(std::log2(std::max(1, g.nodes)));
  const double inner = static_cast<double>(g.inside - 1);
  // A tree moves everything up and down once; both directions of a link work at the same time.
  return 2 * (bytes / ring_bandwidth(g) + inner * g.node.latency_seconds +
              hops * g.network.latency_seconds) +
         kLaunchSeconds;
}

double hierarchical_seconds(const GroupLinks& g, double bytes) {
  const double inner_share = static_cast<double>(g.inside - 1) / g.inside;
  const double outer_share = static_cast<double>(g.nodes - 1) / g.nodes;
  const double inner = g.inside == 1 ? 0
                                     : inner_share * bytes / g.node.bytes_per_second +
                                           (g.inside - 1) * g.node.latency_seconds;
  const double outer =
      outer_share * bytes / g.inside / g.network.bytes_per_second +
      std::min<double>(g.nodes - 1, 2 * std::ceil(std::log2(std::max(2, g.nodes)))) *
          g.network.latency_seconds;
  return 2 * (inner + outer) + 3 * kLaunchSeconds;
}

}  // namespace

GroupLinks group_links(const std::vector<LinkLevel>& levels, const Efficiency& e, int size,
                       std::int64_t stride) {
  GroupLinks g;
  g.size = std::max(1, size);
  const std::int64_t in_node = std::max<std::int64_t>(1, levels.front().devices / stride);
  g.inside = static_cast<int>(std::min<std::int64_t>(g.size, in_node));
  g.nodes = (g.size + g.inside - 1) / g.inside;
  g.node = {levels.front().link.bytes_per_second * e.node_bandwidth,
            levels.front().link.latency_seconds * e.node_latency};
  Link outer = levels.back().link;
  for (const auto& level : levels) {
    if (level.devices >= stride * g.size) {
      outer = level.link;
      break;
    }
  }
  g.network = {outer.bytes_per_second * e.network_bandwidth,
               outer.latency_seconds * e.network_latency};
  return g;
}

double all_reduce_seconds(const GroupLinks& g, double bytes, Algorithm algorithm) {
  if (g.size <= 1 || bytes <= 0) return 0;
  if (g.nodes == 1) return ring_seconds(g, bytes);
  switch (algorithm) {
    case Algorithm::ring: return ring_seconds(g, bytes);
    case Algorithm::tree: return tree_seconds(g, bytes);
    case Algorithm::hierarchical: return hierarchical_seconds(g, bytes);
    case Algorithm::automatic: break;
  }
  return std::min({ring_seconds(g, bytes), tree_seconds(g, bytes), hierarchical_seconds(g, bytes)});
}

double reduce_scatter_seconds(const GroupLinks& g, double bytes, Algorithm algorithm) {
  if (g.size <= 1 || bytes <= 0) return 0;
  return (all_reduce_seconds(g, bytes, algorithm) + kLaunchSeconds) / 2;
}

double all_gather_seconds(const GroupLinks& g, double bytes, Algorithm algorithm) {
  return reduce_scatter_seconds(g, bytes, algorithm);
}

double all_to_all_seconds(const GroupLinks& g, double bytes) {
  if (g.size <= 1 || bytes <= 0) return 0;
  const double inner = static_cast<double>(g.inside - 1) / g.size * bytes;
  const double outer = static_cast<double>(g.size - g.inside) / g.size * bytes;
  const double latency = (g.inside - 1) * g.node.latency_seconds * 0.25 +
                         (g.size - g.inside) * g.network.latency_seconds * 0.05;
  // Traffic inside and between nodes uses different links at the same time.
  return std::max(inner / g.node.bytes_per_second,
                  g.nodes > 1 ? outer / g.network.bytes_per_second : 0) +
         latency + kLaunchSeconds;
}

double send_seconds(const GroupLinks& g, double bytes) {
  // A chain that leaves the node is as slow as its slowest hop.
  const Link& used = g.nodes == 1 ? g.node : g.network;
  return bytes / used.bytes_per_second + used.latency_seconds;
}

}  // namespace tenon
