#include "tenon/planner/search/explain.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon/planner/check.h"
#include "tenon/planner/precision_bytes.h"
#include "tenon/planner/search/moves.h"
#include "tenon/planner/search/spares.h"

namespace tenon::planner {

std::vector<KeyChange> differences(const Plan& before, const Plan& after) {
  const nlohmann::ordered_json a = to_json(before), b = to_json(after);
  std::vector<KeyChange> changes;
  for (const auto& [key, value] : a.items()) {
    const std::string other = b.contains(key) ? b[key].dump() : "none";
    if (value.dump() != other) changes.push_back({key, value.dump(), other});
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) changes.push_back({key, "none", value.dump()});
  }
  return changes;
}

std::vector<Alternative> alternatives(Pricer& pricer, const Plan& plan) {
  std::vector<Alternative> all;
  SearchRequest request;
  request.global_batch = plan.global_batch;
  Result<SearchSpace> space = search_space(pricer.workload(), pricer.cluster(), request);
  if (!space.ok() || !check_structure(pricer.workload(), pricer.cluster(), plan).empty())
    return all;
  std::vector<StagePrediction> stages;
  const double now = pricer.price(plan, &stages).step_seconds;
  for (int i = 0; i < num_moves; ++i) {
    std::optional<Alternative> best;
    for (Plan& next : moved(plan, static_cast<Move>(i), {*space, pricer, stages})) {
      if (!why_invalid(next, pricer.workload(), pricer.cluster().num_devices()).empty()) continue;
      const Price price = pricer.price(next);
      const bool better =
          !best || price.fits() > best->price.fits() ||
          (price.fits() == best->price.fits() && price.step_seconds < best->price.step_seconds);
      if (better)
        best = Alternative{std::string(name(static_cast<Move>(i))), differences(plan, next),
                           std::move(next), price, price.step_seconds / now - 1};
    }
    if (best && !best->changes.empty()) all.push_back(*std::move(best));
  }
  std::stable_sort(all.begin(), all.end(), [](const Alternative& a, const Alternative& b) {
    if (a.price.fits() != b.price.fits()) return a.price.fits();
    return a.slower < b.slower;
  });
  return all;
}

Result<Cluster> changed(const Cluster& cluster, const ClusterChange& change) {
  Cluster next = cluster;
  for (NodeGroup& group : next.groups) {
    group.node_link.bytes_per_second *= change.node_link;
    group.cluster_link.bytes_per_second *= change.cluster_link;
    if (change.memory_bytes > 0) group.device.memory_bytes = change.memory_bytes;
  }
  if (change.lost_devices > 0) return without_devices(next, change.lost_devices);
  if (change.lost_devices < 0) {
    NodeGroup& group = next.groups.front();
    const std::int64_t gained = -change.lost_devices;
    if (gained % group.count != 0) {
      return invalid("{} devices are not whole nodes of {}", gained, group.count)
          .with_help(fmt::format("gain {} devices", (gained / group.count + 1) * group.count));
    }
    group.nodes += static_cast<int>(gained / group.count);
  }
  return next;
}

double replan_seconds(const Pricer& pricer, const Plan& before, const Plan& after) {
  const Cluster& cluster = pricer.cluster();
  const StateBytes state = state_bytes(after.precision, after.optimizer);
  const double states = pricer.workload().num_parameters() * (state.weight + state.optimizer);
  const double kept =
      before == after ? 1.0 : 0.0;  // ranks keep their shards only where nothing changes
  double slowest_link = cluster.groups.front().cluster_link.bytes_per_second;
  for (const NodeGroup& group : cluster.groups)
    slowest_link = std::min(slowest_link, group.cluster_link.bytes_per_second);
  // Each device fetches its share once; what every replica holds a copy of is fetched by each.
  const double copies =
      after.zero_stage >= 3
          ? 1.0
          : after.data_parallel * state.weight / (state.weight + state.optimizer) + 1.0;
  const double moved = states * copies * (1 - kept) / static_cast<double>(cluster.num_devices());
  return moved / std::max(1e6, slowest_link) + 60 * cluster.failures.restart_minutes;
}

}  // namespace tenon::planner
