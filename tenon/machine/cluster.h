// A cluster: groups of equal nodes, the links of each level, failures and prices.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/machine/device.h"

namespace tenon {

/// `nodes` equal nodes with `count` devices each.
struct NodeGroup {
  Device device;
  int count = 8;
  int nodes = 1;
  Link node_link;     // resolved: the cluster's own [link.node], else the device's
  Link cluster_link;  // resolved likewise
  double dollars_per_device_hour = 0;

  std::int64_t num_devices() const { return std::int64_t{count} * nodes; }
};

/// One level of the topology within a node group: `devices` consecutive devices reach each other
/// over `link` (and over no slower one).
struct LinkLevel {
  std::string name;  // node, pod, cluster
  std::int64_t devices = 1;
  Link link;
};

struct FailureModel {
  double device_hours_between_failures = 0;  // mean over one device; 0: no failures
  double restart_minutes = 15;
  double checkpoint_seconds = 60;
};

struct Prices {
  double dollars_per_kwh = 0.1;
  double power_usage_effectiveness = 1.3;
};

struct Cluster {
  std::string name;
  std::vector<NodeGroup> groups;
  int nodes_per_pod = 0;              // 0: no pod level
  double pod_oversubscription = 1.0;  // uplink slowdown when leaving the pod
  FailureModel failures;
  Prices prices;

  std::int64_t num_devices() const;
  bool is_homogeneous() const;
  /// The levels of group `index`, narrowest first; the last one spans the group. A single node has
  /// one level. Devices of different groups meet over the slower of their cluster links.
  std::vector<LinkLevel> levels(std::size_t index = 0) const;
  /// The group that holds device `rank` (groups in order, devices consecutive).
  std::size_t group_of(std::int64_t rank) const;
};

/// Reads a file named in a cluster TOML (a device of one's own): path to text.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

/// A cluster from TOML or JSON text, as docs and `tenon plan --cluster` describe it. A `device`
/// that ends in .toml is read through `files`, relative to the cluster's folder `folder`.
Result<Cluster> parse_cluster(std::string_view text, std::string_view where,
                              const FileReader& files = {}, const std::string& folder = "");
/// A cluster from a TOML path, or a preset: a device name with an optional device count
/// ("H100-SXM x64", "A100-80G:512"; without a count one reference node), or "local".
Result<Cluster> load_cluster(const std::string& path_or_name);
/// `devices` of one preset in full reference nodes (fewer than a node: one smaller node).
Result<Cluster> uniform_cluster(std::string_view device, std::int64_t devices);
/// Reads back through parse_cluster to an equal cluster.
nlohmann::ordered_json to_json(const Cluster& cluster);

}  // namespace tenon
