#include "tenon/planner/search/spares.h"

#include <algorithm>
#include <optional>

#include "tenon/planner/search/space.h"

namespace tenon::planner {
namespace {

constexpr double least_share = 0.8;  // of the devices; fewer cannot win
constexpr std::size_t most_tries = 5;

std::size_t slowest_group(const Cluster& cluster) {
  std::size_t slowest = 0;
  for (std::size_t g = 1; g < cluster.groups.size(); ++g) {
    if (cluster.groups[g].device.peak(Precision::bf16) <
        cluster.groups[slowest].device.peak(Precision::bf16))
      slowest = g;
  }
  return slowest;
}

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

// Node counts with many ways to divide, the larger ones first.
std::vector<Cluster> smaller_clusters(const Workload& workload, const Cluster& cluster,
                                      const SearchRequest& request) {
  struct Choice {
    Cluster cluster;
    std::size_t ways = 0;
  };
  std::vector<Choice> choices;
  const std::int64_t n = cluster.num_devices(), step = cluster.groups[slowest_group(cluster)].count;
  std::size_t most = 0;
  for (std::int64_t gone = step;
       static_cast<double>(n - gone) >= least_share * static_cast<double>(n); gone += step) {
    Result<Cluster> less = without_devices(cluster, gone);
    if (!less.ok()) break;
    const Result<SearchSpace> space = search_space(workload, *less, request);
    if (!space.ok()) break;
    choices.push_back({*std::move(less), meshes(*space, workload, n - gone).size()});
    most = std::max(most, choices.back().ways);
  }
  std::vector<Cluster> result;
  for (Choice& choice : choices) {
    if (4 * choice.ways >= most && choice.ways > 0 && result.size() < most_tries)
      result.push_back(std::move(choice.cluster));
  }
  return result;
}

}  // namespace

Result<Cluster> without_devices(const Cluster& cluster, std::int64_t devices) {
  Cluster less = cluster;
  while (devices > 0 && !less.groups.empty()) {
    const std::size_t g = slowest_group(less);
    NodeGroup& group = less.groups[g];
    const std::int64_t nodes =
        std::min<std::int64_t>(group.nodes, (devices + group.count - 1) / group.count);
    group.nodes -= static_cast<int>(nodes);
    devices -= nodes * group.count;
    if (group.nodes == 0) less.groups.erase(less.groups.begin() + static_cast<std::ptrdiff_t>(g));
  }
  if (less.groups.empty()) return invalid("no devices are left of the {}", cluster.num_devices());
  return less;
}

Result<SparedSearch> search_with_spares(const Workload& workload, const Cluster& cluster,
                                        const Pricer::Calibrations& calibrations,
                                        const SearchRequest& request) {
  Pricer whole(workload, cluster, calibrations);
  Result<SearchReport> all = search(whole, request);
  std::optional<SparedSearch> best;
  if (all.ok()) best.emplace(SparedSearch{*std::move(all), std::move(whole), 0});
  if (largest_prime_factor(cluster.num_devices()) > 3 &&
      !(best && best->report.stopped_by != "converged")) {
    for (Cluster& less : smaller_clusters(workload, cluster, request)) {
      const std::int64_t spare = cluster.num_devices() - less.num_devices();
      // One calibration for each group only fits while the groups are the same.
      const bool same = calibrations.size() <= 1 || calibrations.size() == less.groups.size();
      Pricer pricer(workload, std::move(less), same ? calibrations : Pricer::Calibrations{});
      Result<SearchReport> report = search(pricer, request);
      if (!report.ok() || (best && report->best.value >= best->report.best.value)) continue;
      best.emplace(SparedSearch{*std::move(report), std::move(pricer), spare});
    }
  }
  if (!best) return std::move(all).error();
  return *std::move(best);
}

}  // namespace tenon::planner
