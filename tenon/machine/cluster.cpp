// Cluster files and presets.
#include "tenon/machine/cluster.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tenon/base/file.h"
#include "tenon/base/object_reader.h"

namespace tenon {
namespace {

using nlohmann::json;

/// A link of which the file may name only one half.
struct LinkOverride {
  double gbytes_per_second = 0;
  double microseconds = -1;
  Link over(Link link) const {
    if (gbytes_per_second > 0) link.bytes_per_second = gbytes_per_second * 1e9;
    if (microseconds >= 0) link.latency_seconds = microseconds * 1e-6;
    return link;
  }
};

struct Reading {
  std::string where;
  const FileReader& files;
  std::string folder;
  std::vector<Error> problems;
  LinkOverride node, cluster;
};

LinkOverride read_override(ObjectReader& links, const char* key, Reading& reading) {
  LinkOverride link;
  const json* table = links.child(key);
  if (table == nullptr) return link;
  ObjectReader fields(*table, links.where() + "." + key, reading.problems);
  fields.number("gbytes_per_second", link.gbytes_per_second, 1e-6);
  fields.number("microseconds", link.microseconds);
  fields.finish();
  return link;
}

void read_links(ObjectReader& reader, Reading& reading) {
  const json* table = reader.child("link");
  if (table == nullptr) return;
  ObjectReader links(*table, reading.where + ": link", reading.problems);
  reading.node = read_override(links, "node", reading);
  reading.cluster = read_override(links, "cluster", reading);
  links.finish();
}

Result<Device> find_device(const json& value, const Reading& reading) {
  if (value.is_object()) return read_device(value, "device");
  if (!value.is_string()) return invalid("device must be a name or a table, got {}", value.dump());
  const auto text = value.get<std::string>();
  if (!text.ends_with(".toml")) return device_named(text);
  if (!reading.files) return unsupported("device files cannot be read here: {}", text);
  const auto path = std::filesystem::path(reading.folder) / text;
  return parse_device(TENON_TRY(reading.files(path.string())), text);
}

void read_group(const json& table, std::size_t index, Reading& reading, Cluster& cluster) {
  ObjectReader reader(table, fmt::format("{}: node_group[{}]", reading.where, index),
                      reading.problems);
  NodeGroup group;
  reader.require("device");
  if (const json* device = reader.child("device")) {
    auto found = find_device(*device, reading);
    if (found.ok()) {
      group.device = std::move(found).value();
    } else {
      reader.problem(std::move(found).error());
    }
  }
  group.count = group.device.devices_per_node;
  group.dollars_per_device_hour = group.device.dollars_per_hour;
  reader.integer("count", group.count);
  reader.integer("nodes", group.nodes);
  reader.number("dollars_per_device_hour", group.dollars_per_device_hour);
  reader.finish();
  group.node_link = reading.node.over(group.device.node_link);
  group.cluster_link = reading.cluster.over(group.device.cluster_link);
  cluster.groups.push_back(std::move(group));
}

void read_groups(ObjectReader& reader, Reading& reading, Cluster& cluster) {
  reader.require("node_group");
  const json* groups = reader.child("node_group");
  if (groups == nullptr) return;
  if (!groups->is_array() || groups->empty()) {
    return reader.problem(invalid("a cluster needs at least one [[node_group]]"));
  }
  for (std::size_t i = 0; i < groups->size(); ++i) read_group((*groups)[i], i, reading, cluster);
}

void read_failures(ObjectReader& reader, Reading& reading, FailureModel& failures) {
  const json* table = reader.child("failures");
  if (table == nullptr) return;
  ObjectReader fields(*table, reading.where + ": failures", reading.problems);
  fields.number("device_hours_between_failures", failures.device_hours_between_failures);
  fields.number("restart_minutes", failures.restart_minutes);
  fields.number("checkpoint_seconds", failures.checkpoint_seconds);
  fields.finish();
}

void read_prices(ObjectReader& reader, Reading& reading, Prices& prices) {
  const json* table = reader.child("prices");
  if (table == nullptr) return;
  ObjectReader fields(*table, reading.where + ": prices", reading.problems);
  fields.number("dollars_per_kwh", prices.dollars_per_kwh);
  fields.number("power_usage_effectiveness", prices.power_usage_effectiveness, 1.0);
  fields.finish();
}

void read_topology(ObjectReader& reader, Reading& reading, Cluster& cluster) {
  const json* table = reader.child("topology");
  if (table == nullptr) return;
  ObjectReader fields(*table, reading.where + ": topology", reading.problems);
  fields.integer("nodes_per_pod", cluster.nodes_per_pod, 0);
  fields.number("pod_oversubscription", cluster.pod_oversubscription, 1.0);
  fields.finish();
}

json link_json(const Link& link) {
  return {{"gbytes_per_second", link.bytes_per_second / 1e9},
          {"microseconds", link.latency_seconds * 1e6}};
}

}  // namespace

std::int64_t Cluster::num_devices() const {
  std::int64_t total = 0;
  for (const auto& group : groups) total += group.num_devices();
  return total;
}

bool Cluster::is_homogeneous() const {
  return std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& g) {
    return g.device.name == groups.front().device.name && g.count == groups.front().count;
  });
}

std::vector<LinkLevel> Cluster::levels(std::size_t index) const {
  const NodeGroup& group = groups[index];
  const std::int64_t all = num_devices();
  std::vector<LinkLevel> result;
  const std::int64_t domain =
      std::min<std::int64_t>(std::max(group.count, group.device.link_domain), all);
  result.push_back({"node", domain, group.node_link});
  const std::int64_t pod = std::int64_t{nodes_per_pod} * group.count;
  if (pod > domain && pod < all) result.push_back({"pod", pod, group.cluster_link});
  if (all > domain) {
    Link link = group.cluster_link;
    for (const auto& other : groups) {
      link.bytes_per_second = std::min(link.bytes_per_second, other.cluster_link.bytes_per_second);
      link.latency_seconds = std::max(link.latency_seconds, other.cluster_link.latency_seconds);
    }
    if (nodes_per_pod > 0 && pod < all) link.bytes_per_second /= pod_oversubscription;
    result.push_back({"cluster", all, link});
  }
  return result;
}

std::size_t Cluster::group_of(std::int64_t rank) const {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (rank < groups[i].num_devices()) return i;
    rank -= groups[i].num_devices();
  }
  TENON_CHECK(false, "rank beyond the cluster by {}", rank);
}

Result<Cluster> parse_cluster(std::string_view text, std::string_view where,
                              const FileReader& files, const std::string& folder) {
  const json tree = TENON_TRY(parse_config(text, where));
  Reading reading{std::string(where), files, folder, {}, {}, {}};
  ObjectReader reader(tree, reading.where, reading.problems);
  Cluster cluster;
  cluster.name = std::string(where);
  reader.text("name", cluster.name);
  read_links(reader, reading);
  read_groups(reader, reading, cluster);
  read_topology(reader, reading, cluster);
  read_failures(reader, reading, cluster.failures);
  read_prices(reader, reading, cluster.prices);
  reader.finish();
  if (!reading.problems.empty()) return all_of(std::move(reading.problems));
  return cluster;
}

Result<Cluster> uniform_cluster(std::string_view device, std::int64_t devices) {
  NodeGroup group;
  group.device = TENON_TRY(device_named(device));
  if (devices < 1) return invalid("a cluster needs at least one device, got {}", devices);
  const std::int64_t per_node = std::min<std::int64_t>(group.device.devices_per_node, devices);
  if (devices % per_node != 0) {
    return invalid("{} devices do not fill nodes of {}", devices, per_node)
        .with_help(fmt::format("use {} devices, or a cluster TOML with uneven node groups",
                               devices / per_node * per_node));
  }
  group.count = static_cast<int>(per_node);
  group.nodes = static_cast<int>(devices / per_node);
  group.node_link = group.device.node_link;
  group.cluster_link = group.device.cluster_link;
  group.dollars_per_device_hour = group.device.dollars_per_hour;
  Cluster cluster;
  cluster.name = fmt::format("{}:{}", group.device.name, devices);
  cluster.groups.push_back(std::move(group));
  return cluster;
}

Result<Cluster> load_cluster(const std::string& path_or_name) {
  if (path_or_name.ends_with(".toml") || path_or_name.ends_with(".json") ||
      std::filesystem::exists(path_or_name)) {
    const auto text = TENON_TRY(read_file(path_or_name));
    return parse_cluster(
        text, path_or_name, [](const std::string& path) { return read_file(path); },
        std::filesystem::path(path_or_name).parent_path().string());
  }
  const auto split = path_or_name.find_last_of(":x");
  if (split != std::string::npos && split + 1 < path_or_name.size()) {
    std::int64_t devices = 0;
    const char* end = path_or_name.data() + path_or_name.size();
    const auto [stop, bad] = std::from_chars(path_or_name.data() + split + 1, end, devices);
    if (bad == std::errc() && stop == end) {
      std::string device = path_or_name.substr(0, split);
      while (device.ends_with(' ')) device.pop_back();
      return uniform_cluster(device, devices);
    }
  }
  const Device device = TENON_TRY(device_named(path_or_name));
  return uniform_cluster(path_or_name, device.devices_per_node);
}

nlohmann::ordered_json to_json(const Cluster& cluster) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const auto& group : cluster.groups) {
    auto device = to_json(group.device);
    device["link"]["node"] = link_json(group.node_link);
    device["link"]["cluster"] = link_json(group.cluster_link);
    groups.push_back({{"device", device},
                      {"count", group.count},
                      {"nodes", group.nodes},
                      {"dollars_per_device_hour", group.dollars_per_device_hour}});
  }
  return {{"name", cluster.name},
          {"node_group", groups},
          {"topology",
           {{"nodes_per_pod", cluster.nodes_per_pod},
            {"pod_oversubscription", cluster.pod_oversubscription}}},
          {"failures",
           {{"device_hours_between_failures", cluster.failures.device_hours_between_failures},
            {"restart_minutes", cluster.failures.restart_minutes},
            {"checkpoint_seconds", cluster.failures.checkpoint_seconds}}},
          {"prices",
           {{"dollars_per_kwh", cluster.prices.dollars_per_kwh},
            {"power_usage_effectiveness", cluster.prices.power_usage_effectiveness}}}};
}

}  // namespace tenon
