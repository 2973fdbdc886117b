// Pricing of plans.
#include "tenon/planner/pricer.h"

#include <algorithm>
#include <cmath>

#include "tenon/cost/kernel_cost.h"
#include "tenon/planner/memory_model.h"
#include "tenon/planner/plan_mapping.h"
#include "tenon/planner/precision_bytes.h"

namespace tenon::planner {

struct Pricer::Cache {
  struct Key {
    std::uint64_t degrees, rest;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = k.degrees * 0x9E3779B97F4A7C15u ^ (k.rest + 0x7F4A7C15u);
      h ^= h >> 29;
      return static_cast<std::size_t>(h * 0xBF58476D1CE4E5B9u);
    }
  };
  std::unordered_map<Key, LayerPrice, Hash> prices;
};

namespace {

Pricer::Calibrations shipped(const Cluster& cluster) {
  Pricer::Calibrations result;
  for (const auto& group : cluster.groups) result.push_back(shipped_calibration(group.device));
  return result;
}

Algorithm algorithm_of(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::automatic: return Algorithm::automatic;
    case CollectiveAlgorithm::ring: return Algorithm::ring;
    case CollectiveAlgorithm::tree: return Algorithm::tree;
    case CollectiveAlgorithm::hierarchical: return Algorithm::hierarchical;
  }
  return Algorithm::automatic;
}

DeviceTimes half_of_each(const DeviceTimes& one, const DeviceTimes& other, double pace) {
  return {(one.forward + pace * other.forward) / 2,
          (one.backward_input + pace * other.backward_input) / 2,
          (one.backward_weight + pace * other.backward_weight) / 2};
}

/// DualPipe runs half of the micro-batches the other way: a device works as much on the stage
/// opposite as on its own, at its own pace, which where devices are unlike is that of its own
/// layers.
void share_opposite(std::vector<DeviceTimes>& devices, const std::vector<int>& layers, bool mixed) {
  for (std::size_t d = 0; 2 * d + 1 < devices.size(); ++d) {
    const std::size_t o = devices.size() - 1 - d;
    const DeviceTimes one = devices[d], other = devices[o];
    double pace = 1;
    if (mixed && layers[d] > 0 && layers[o] > 0 && other.total() > 0)
      pace = (one.total() / layers[d]) / (other.total() / layers[o]);
    devices[d] = half_of_each(one, other, pace);
    devices[o] = half_of_each(other, one, pace > 0 ? 1 / pace : 1);
  }
}

/// Seconds of the slowest pair of opposite stages, each counted half.
double slowest_pair(const std::vector<DeviceTimes>& devices) {
  double slowest = 0;
  for (std::size_t d = 0; d < devices.size(); ++d)
    slowest = std::max(slowest, (devices[d].total() + devices[devices.size() - 1 - d].total()) / 2);
  return slowest;
}

StagePrediction report_of(const StageState& stage, double data, double step) {
  StagePrediction report;
  report.layers = stage.layers;
  report.forward_seconds = stage.times.forward;
  report.backward_input_seconds = stage.times.backward_input;
  report.backward_weight_seconds = stage.times.backward_weight;
  report.send_seconds = stage.send;
  report.gradient_sync_seconds = data;
  report.optimizer_seconds = step;
  report.activation_bytes = stage.flight_bytes;
  const double kept = stage.sum.kept_bytes;
  report.weight_share = kept > 0 ? stage.sum.weight_kept_bytes / kept : 0;
  report.memory = stage.memory;
  return report;
}

}  // namespace

Pricer::Pricer(Workload workload, Cluster cluster, Calibrations calibrations)
    : workload_(std::move(workload)),
      cluster_(std::move(cluster)),
      calibrations_(calibrations.empty() ? shipped(cluster_) : std::move(calibrations)),
      cache_(std::make_unique<Cache>()) {
  TENON_CHECK(!cluster_.groups.empty(), "a cluster without node groups");
  calibrations_.resize(cluster_.groups.size(), calibrations_.front());
  for (std::size_t g = 0; g < cluster_.groups.size(); ++g) {
    models_.push_back({cluster_.groups[g].device, calibrations_[g].efficiency, cluster_.levels(g)});
  }
  class_prices_.resize(workload_.classes.size());
  block_prices_.resize(workload_.block_types.size());
  block_costs_.resize(3 * workload_.block_types.size());
}

Pricer::~Pricer() = default;
Pricer::Pricer(Pricer&&) noexcept = default;

const LayerPrice& Pricer::class_price(int index, const Strategy& s, std::size_t group) {
  const auto u = [](int v) { return static_cast<std::uint64_t>(v); };
  const Cache::Key key{
      u(s.tensor) | u(s.context) << 16 | u(s.expert) << 32 | u(s.expert_tensor) << 48,
      u(s.micro_batch) | u(index) << 32 | u(static_cast<int>(group)) << 48 |
          u(static_cast<int>(s.precision)) << 56 | u(s.sequence) << 60 |
          u(static_cast<int>(s.context_method)) << 61};
  const auto found = cache_->prices.find(key);
  if (found != cache_->prices.end()) return found->second;
  const LayerPrice price =
      price_layer(workload_.classes[static_cast<std::size_t>(index)], s, models_[group]);
  return cache_->prices.emplace(key, price).first->second;
}

double Pricer::data_seconds(const Plan& plan, const StageState& stage) const {
  const DeviceModel& model = models_[stage.group];
  const Algorithm algorithm = algorithm_of(plan.collective);
  const double bytes = traveling_gradient_bytes(plan), trained = stage.sum.trained_share;
  const double weight = state_bytes(plan.precision, plan.optimizer).weight;
  const double overlap = model.efficiency.gradient_overlap;
  double reduce = 0, gather = 0;
  const auto add = [&](double parameters, int replicas, std::int64_t stride) {
    const GroupLinks group = group_links(model.levels, model.efficiency, replicas, stride);
    if (plan.zero_stage == 0) {
      reduce += all_reduce_seconds(group, parameters * bytes * trained, algorithm);
    } else if (plan.zero_stage < 3) {
      const double rounds =
          plan.zero_stage == 2 ? static_cast<double>(plan.num_micro_batches()) : 1;
      reduce += rounds * reduce_scatter_seconds(group, parameters * bytes * trained, algorithm);
      gather += all_gather_seconds(group, parameters * weight * trained, algorithm);
    }
  };
  add(stage.sum.parameters, plan.data_parallel * plan.context_parallel,
      stride_of(plan, Axis::context));
  add(stage.sum.expert_parameters, expert_replicas(plan),
      std::int64_t{plan.expert_parallel} * expert_tensor(plan));
  const double rounds = plan.zero_stage == 2 ? static_cast<double>(plan.num_micro_batches()) : 1;
  const double backward = (stage.times.backward_input + stage.times.backward_weight) * rounds;
  double exposed = reduce - std::min(overlap * reduce, backward);
  exposed += gather - std::min(overlap * gather, stage.times.forward);
  if (workload_.tied_embeddings && plan.pipeline_parallel > 1) {
    const double table =
        class_prices_[static_cast<std::size_t>(workload_.first.front())]->parameters;
    exposed += all_reduce_seconds(
        group_links(model.levels, model.efficiency, 2, stride_of(plan, Axis::pipeline)),
        table * bytes);
  }
  return exposed;
}

double Pricer::optimizer_seconds(const Plan& plan, const StageState& stage) const {
  const DeviceModel& model = models_[stage.group];
  const StateBytes bytes = state_bytes(plan.precision, plan.optimizer);
  // The state is read and written, the gradient read, the weight written.
  const double moved = 2 * bytes.optimizer + bytes.gradient + bytes.weight;
  const double trained = stage.sum.trained_share;
  const double dense = plan.zero_stage > 0 ? sharing_peers(plan) : 1;
  const double expert = plan.zero_stage > 0 ? expert_sharing_peers(plan) : 1;
  const double parameters =
      (stage.sum.parameters / dense + stage.sum.expert_parameters / expert) * trained;
  if (plan.offload == Offload::optimizer || plan.offload == Offload::both) {
    // Gradients go to the host, weights come back, the host steps at its own memory's pace.
    const double link = std::max(1e9, model.device.host_link.bytes_per_second);
    return parameters * (bytes.gradient + bytes.weight) / link + parameters * moved / 20e9;
  }
  return memory_seconds(model.device, model.efficiency,
                        parameters * moved * model.efficiency.optimizer_passes);
}

std::pair<std::size_t, std::size_t> Pricer::groups_of_stage(const Plan& plan, int device) const {
  // Stages take consecutive devices; one that spans node groups is as slow as its slowest group.
  const std::int64_t each = plan.num_devices() / plan.pipeline_parallel;
  return {cluster_.group_of(device * each), cluster_.group_of((device + 1) * each - 1)};
}

Pricer::GroupPrices Pricer::group_prices(const Plan& plan, std::size_t group) {
  price_classes(plan, group);
  GroupPrices prices;
  prices.blocks = block_prices_;
  for (int c : workload_.first) prices.first += *class_prices_[static_cast<std::size_t>(c)];
  for (int c : workload_.last) prices.last += *class_prices_[static_cast<std::size_t>(c)];
  return prices;
}

Price Pricer::price(const Plan& plan, std::vector<StagePrediction>* stages) {
  const int p = plan.pipeline_parallel;
  chunk_spans(plan, static_cast<int>(workload_.blocks.size()), spans_);
  times_.resize(static_cast<std::size_t>(p));
  layers_.assign(static_cast<std::size_t>(p), 0);
  for (const ChunkSpan& span : spans_) layers_[static_cast<std::size_t>(span.device)] += span.count;
  if (models_.size() == 1) price_classes(plan, 0);
  Price price;
  StageState slowest, stage;
  double data = 0, step = 0, tail = 0, tail_optimizer = 0, work = 0, boundary = 0, worst = -1e300;
  for (int d = 0; d < p; ++d) {
    const bool again = repeats(plan, d);
    if (!again) {
      stage = slowest_stage(plan, d);
      data = data_seconds(plan, stage), step = optimizer_seconds(plan, stage);
      boundary = std::max(boundary, stage.boundary_bytes);
      if (d == 0 || stage.times.total() > slowest.times.total()) slowest = stage;
      if (data + step >= tail + tail_optimizer) tail = data, tail_optimizer = step;
    }
    times_[static_cast<std::size_t>(d)] = stage.times;
    work += stage.times.total();
    // No schedule keeps more micro-batches on a later one of equal devices.
    if (again && stages == nullptr) continue;
    stage.device = d;
    set_memory(plan, stage);
    const double capacity = models_[stage.group].device.memory_bytes;
    const double pressure = stage.memory.total() + stage.reserve_bytes - capacity;
    if (pressure > worst) {
      worst = pressure, price.memory = stage.memory;
      price.reserve_bytes = stage.reserve_bytes, price.capacity_bytes = capacity;
    }
    if (stages != nullptr) stages->push_back(report_of(stage, data, step));
  }
  const double pair = p % 2 == 0 ? slowest_pair(times_) : slowest.times.total();
  if (plan.schedule == ScheduleKind::dualpipe) share_opposite(times_, layers_, models_.size() > 1);
  const DeviceModel& model = models_[slowest.group];
  const double m = static_cast<double>(std::max<std::int64_t>(1, plan.num_micro_batches()));
  const PipelineTime body = pipeline_time(plan.schedule, times_, static_cast<std::int64_t>(m),
                                          chunks_per_device(plan.schedule, plan.virtual_stages),
                                          send_time(plan, model, boundary));
  finish(plan, model, body, slowest, tail, tail_optimizer, work / p * m, price);
  const double total = slowest.times.total();
  price.least_compute_seconds = total > 0 ? m * slowest.compute_seconds * pair / total : 0;
  return price;
}

void Pricer::finish(const Plan& plan, const DeviceModel& model, const PipelineTime& body,
                    const StageState& slowest, double tail, double tail_optimizer, double work,
                    Price& price) const {
  const Efficiency& e = model.efficiency;
  const double node = static_cast<double>(model.levels.front().devices);
  const double nodes = std::max(1.0, static_cast<double>(plan.num_devices()) / node);
  double slowdown = e.jitter * std::log2(nodes);
  // Several tensor groups share a node's network and host while their stages exchange activations.
  if (plan.pipeline_parallel > 1 && plan.tensor_parallel > 1 && plan.tensor_parallel < node) {
    slowdown += e.node_sharing * (node / plan.tensor_parallel - 1);
  }
  const double share =
      slowest.times.total() > 0 ? slowest.compute_seconds / slowest.times.total() : 1;
  price.compute_seconds = body.busy_seconds * share;
  price.exposed_communication_seconds = body.busy_seconds * (1 - share) + body.send_seconds + tail;
  price.bubble_seconds = body.fill_seconds;
  price.optimizer_seconds = tail_optimizer;
  price.other_seconds = e.step_seconds + body.seconds * slowdown;
  price.step_seconds = price.compute_seconds + price.exposed_communication_seconds +
                       price.bubble_seconds + price.optimizer_seconds + price.other_seconds;
  price.bubble_rate = body.seconds > 0 ? std::max(0.0, 1 - work / body.seconds) : 0;
}

}  // namespace tenon::planner
