#include "tenon/planner/search/stage_balance.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tenon/planner/memory_model.h"
#include "tenon/planner/precision_bytes.h"
#include "tenon/planner/stage_layout.h"

namespace tenon::planner {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One micro-batch through something, and the bytes it puts on a device. A stage whose kernels are
// shorter than their launches runs at the host's pace, forward and backward for themselves.
struct Load {
  double forward = 0, backward = 0, host_forward = 0, host_backward = 0, bytes = 0;
  Load& operator+=(const Load& other) { return add(other, 1); }
  Load& add(const Load& other, double sign) {
    forward += sign * other.forward, backward += sign * other.backward;
    host_forward += sign * other.host_forward, host_backward += sign * other.host_backward;
    bytes += sign * other.bytes;
    return *this;
  }
  double seconds() const {
    return std::max(forward, host_forward) + std::max(backward, host_backward);
  }
};

// How a stage pays for a layer: bytes of a parameter after sharding, micro-batches in flight.
struct StageTerms {
  double bytes_per_parameter = 0, bytes_per_expert_parameter = 0;
  double in_flight = 0;
  Recompute recompute = Recompute::none;
};

double sharded(const StateBytes& state, int zero_stage, double peers) {
  double bytes = state.total();
  if (zero_stage >= 1) bytes -= state.optimizer * (1 - 1 / peers);
  if (zero_stage >= 2) bytes -= state.gradient * (1 - 1 / peers);
  if (zero_stage >= 3) bytes -= state.weight * (1 - 1 / peers);
  return bytes;
}

StageTerms terms_of(const Plan& plan, int device) {
  const StateBytes state = state_bytes(plan.precision, plan.optimizer);
  StageTerms terms;
  terms.bytes_per_parameter = sharded(state, plan.zero_stage, sharing_peers(plan));
  terms.bytes_per_expert_parameter = sharded(state, plan.zero_stage, expert_sharing_peers(plan));
  constexpr double weight_share = 0.3;
  terms.in_flight = micro_batches_in_flight(
      plan.schedule, device, plan.pipeline_parallel, plan.num_micro_batches(),
      chunks_per_device(plan.schedule, plan.virtual_stages), weight_share);
  const bool each = static_cast<int>(plan.recompute_per_stage.size()) == plan.pipeline_parallel;
  terms.recompute = each ? plan.recompute_per_stage[device] : plan.recompute;
  return terms;
}

Load load_of(const LayerPrice& price, const StageTerms& terms, double host_seconds) {
  Load load;
  load.forward = price.forward + price.forward_comm;
  load.backward = price.backward_input + price.backward_comm + price.backward_weight;
  load.host_forward = price.kernels_forward * host_seconds;
  load.host_backward = price.kernels_backward * host_seconds;
  double kept = price.kept_bytes;
  if (terms.recompute == Recompute::selective)
    load.backward += price.core_forward, kept = price.kept_selective_bytes;
  if (terms.recompute == Recompute::full) {
    load.backward += load.forward, load.host_backward += load.host_forward;
    kept = price.input_bytes;
  }
  load.bytes = price.parameters * terms.bytes_per_parameter +
               price.expert_parameters * terms.bytes_per_expert_parameter + kept * terms.in_flight;
  return load;
}

// Running sums of the loads of the chain's blocks for one kind of stage.
struct Chain {
  std::vector<Load> upto;  // [l]: the first l blocks
  Load extra;              // embedding or head
  double capacity = infinity;
};

// Equal stages share a chain only if they are equal in everything; few enough to build each. The
// head lies on `last_device`: V-shaped placements end where they begin.
Chain chain_of(const Plan& plan, Pricer& pricer, int device, int last_device, double fill,
               std::map<std::size_t, Pricer::GroupPrices>& prices) {
  const auto [first, last] = pricer.groups_of_stage(plan, device);
  const StageTerms terms = terms_of(plan, device);
  StageTerms once = terms;  // head and loss keep nothing between micro-batches
  once.in_flight = 1;
  const Workload& workload = pricer.workload();
  Chain chain;
  chain.upto.resize(workload.blocks.size() + 1);
  for (std::size_t group = first; group <= last; ++group) {
    if (!prices.contains(group)) prices.emplace(group, pricer.group_prices(plan, group));
    const Pricer::GroupPrices& own = prices.at(group);
    const double host = pricer.calibration(group).efficiency.host_seconds;
    std::vector<Load> types;
    for (const LayerPrice& block : own.blocks) types.push_back(load_of(block, terms, host));
    Load sum, extra;
    std::vector<Load> upto = {sum};
    for (const int type : workload.blocks) upto.push_back(sum += types[type]);
    if (device == 0) extra += load_of(own.first, terms, host);
    if (device == last_device) extra += load_of(own.last, once, host);
    const bool slower = chain.upto.back().seconds() < sum.seconds();
    if (slower) chain.upto = std::move(upto), chain.extra = extra;
    chain.capacity =
        std::min(chain.capacity, fill * pricer.cluster().groups[group].device.memory_bytes);
  }
  return chain;
}

// The best way to put the first l blocks on the stages so far: slowest stage, then sum.
struct State {
  double slowest = infinity, sum = infinity;
  int taken = 0;
  bool better_than(const State& other) const {
    if (slowest != other.slowest) return slowest < other.slowest;
    return sum < other.sum;
  }
};

std::vector<int> cut(const std::vector<Chain>& chains, int blocks, int most) {
  const int p = static_cast<int>(chains.size());
  std::vector<std::vector<State>> best(p + 1, std::vector<State>(blocks + 1));
  best[0][0] = {0, 0, 0};
  for (int d = 0; d < p; ++d) {
    const Chain& chain = chains[d];
    for (int before = d; before < blocks; ++before) {
      const State& from = best[d][before];
      if (from.slowest == infinity) continue;
      const int end = std::min(blocks - (p - 1 - d), before + most);
      for (int l = before + 1; l <= end; ++l) {
        Load load = chain.upto[l];
        load.add(chain.upto[before], -1) += chain.extra;
        if (load.bytes > chain.capacity) break;
        const double seconds = load.seconds();
        const State next = {std::max(from.slowest, seconds), from.sum + seconds, l - before};
        if (next.better_than(best[d + 1][l])) best[d + 1][l] = next;
      }
    }
  }
  if (best[p][blocks].slowest == infinity) return {};
  std::vector<int> counts(p);
  for (int d = p, l = blocks; d > 0; --d) {
    counts[d - 1] = best[d][l].taken;
    l -= counts[d - 1];
  }
  return counts;
}

}  // namespace

std::vector<int> balanced_layers(const Plan& plan, Pricer& pricer, double fill) {
  const int p = plan.pipeline_parallel, blocks = static_cast<int>(pricer.workload().blocks.size());
  if (p < 2 || p > blocks) return {};
  std::map<std::size_t, Pricer::GroupPrices> prices;
  std::vector<Chain> chains;
  double fastest = infinity, slowest = 0;
  const int last = chunk_spans(plan, blocks).back().device;
  for (int d = 0; d < p; ++d) {
    chains.push_back(chain_of(plan, pricer, d, last, fill, prices));
    fastest = std::min(fastest, chains.back().upto.back().seconds());
    slowest = std::max(slowest, chains.back().upto.back().seconds());
  }
  // No stage gains from more than its share by speed, with room for rounding and unequal layers.
  const double spread = fastest > 0 ? slowest / fastest : 1;
  const int most = std::min<int>(blocks, static_cast<int>(2 * spread * blocks / p) + 3);
  return cut(chains, blocks, most);
}

}  // namespace tenon::planner
