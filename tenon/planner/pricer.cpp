// Pricing of plans.
#include "tenon/planner/pricer.h"

#include <algorithm>
#include <cmath>

#include "tenon/cost/kernel_cost.h"
#include "tenon/planner/memory_model.h"
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

bool matches(const LayerOverride& layer, const LayerClass& c) {
  return layer.match == c.name || layer.match == name(c.kind);
}

/// The plan's degrees as they apply to one layer class.
Strategy strategy_for(const LayerClass& layer, const Plan& plan) {
  Strategy s;
  s.tensor = plan.tensor_parallel, s.context = plan.context_parallel;
  s.expert = plan.expert_parallel, s.expert_tensor = expert_tensor(plan);
  s.sequence = plan.sequence_parallel, s.context_method = plan.context_method;
  s.precision = plan.precision, s.micro_batch = plan.micro_batch;
  for (const auto& override : plan.layers) {
    if (!matches(override, layer)) continue;
    const bool experts = layer.kind == LayerKind::experts;
    if (override.tensor_parallel && !experts) s.tensor = *override.tensor_parallel;
    if (override.context_parallel) s.context = *override.context_parallel;
    if (override.expert_parallel) s.expert = *override.expert_parallel;
    if (override.sequence_parallel) s.sequence = *override.sequence_parallel;
    if (override.precision) s.precision = *override.precision;
  }
  return s;
}

Recompute recompute_on(const Plan& plan, int device) {
  if (static_cast<int>(plan.recompute_per_stage.size()) == plan.pipeline_parallel) {
    return plan.recompute_per_stage[static_cast<std::size_t>(device)];
  }
  return plan.recompute;
}

/// Blocks of a stage that recompute fully, of `blocks`.
double recomputed(const Plan& plan, Recompute kind, double blocks) {
  if (kind != Recompute::full) return 0;
  return plan.recompute_layers > 0 ? std::min<double>(plan.recompute_layers, blocks) : blocks;
}

LayerPrice times(const LayerPrice& price, double count) {
  LayerPrice result = price;
  for (double LayerPrice::* field :
       {&LayerPrice::forward, &LayerPrice::backward_input, &LayerPrice::backward_weight,
        &LayerPrice::core_forward, &LayerPrice::forward_comm, &LayerPrice::backward_comm,
        &LayerPrice::kernels_forward, &LayerPrice::kernels_backward, &LayerPrice::kept_bytes,
        &LayerPrice::kept_selective_bytes, &LayerPrice::input_bytes, &LayerPrice::weight_kept_bytes,
        &LayerPrice::parameters, &LayerPrice::expert_parameters}) {
    result.*field *= count;
  }
  return result;
}

Algorithm algorithm_of(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::automatic:
      return Algorithm::automatic;
    case CollectiveAlgorithm::ring:
      return Algorithm::ring;
    case CollectiveAlgorithm::tree:
      return Algorithm::tree;
    case CollectiveAlgorithm::hierarchical:
      return Algorithm::hierarchical;
  }
  return Algorithm::automatic;
}

/// Ranks between neighbours on an axis, in the plan's placement.
std::int64_t stride_of(const Plan& plan, Axis wanted) {
  static constexpr Axis kDefault[] = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};
  const auto size = [&](Axis axis) -> std::int64_t {
    switch (axis) {
      case Axis::tensor:
        return plan.tensor_parallel;
      case Axis::context:
        return plan.context_parallel;
      case Axis::data:
        return plan.data_parallel;
      case Axis::pipeline:
        return plan.pipeline_parallel;
      case Axis::expert:
        return 1;  // lies within data and context
    }
    return 1;
  };
  std::int64_t stride = 1;
  if (plan.placement.empty()) {
    for (Axis axis : kDefault) {
      if (axis == wanted) return stride;
      stride *= size(axis);
    }
    return stride;
  }
  for (Axis axis : plan.placement) {
    if (axis == wanted) return stride;
    stride *= size(axis);
  }
  for (Axis axis : kDefault) {  // axes the placement does not name follow, slowest last
    if (std::find(plan.placement.begin(), plan.placement.end(), axis) != plan.placement.end()) {
      continue;
    }
    if (axis == wanted) return stride;
    stride *= size(axis);
  }
  return stride;
}

/// One message between stages, less what overlaps: the bytes each peer sends, the gather that makes
/// it whole again, and the host's synchronisation.
double send_time(const Plan& plan, const DeviceModel& model, double bytes) {
  if (plan.pipeline_parallel == 1) return 0;
  const Efficiency& e = model.efficiency;
  const bool split = e.split_pipeline_sends && !plan.sequence_parallel && plan.tensor_parallel > 1;
  GroupLinks group = group_links(model.levels, e, 2, stride_of(plan, Axis::pipeline));
  group.network.bytes_per_second *= e.send_bandwidth / e.network_bandwidth;
  double seconds = send_seconds(group, split ? bytes / plan.tensor_parallel : bytes);
  if (split) {
    seconds += all_gather_seconds(group_links(model.levels, e, plan.tensor_parallel, 1), bytes);
  }
  return (seconds + e.pipeline_sync_seconds) * (1 - e.pipeline_overlap);
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

void Pricer::price_classes(const Plan& plan, std::size_t group) {
  for (std::size_t c = 0; c < workload_.classes.size(); ++c) {
    const Strategy strategy = strategy_for(workload_.classes[c], plan);
    class_prices_[c] = &class_price(static_cast<int>(c), strategy, group);
  }
  for (std::size_t b = 0; b < block_prices_.size(); ++b) {
    block_prices_[b] = LayerPrice{};
    const auto& classes = workload_.block_types[b].classes;
    for (int c : classes) block_prices_[b] += *class_prices_[static_cast<std::size_t>(c)];
    // Full recomputation keeps the block's own input only.
    block_prices_[b].input_bytes =
        class_prices_[static_cast<std::size_t>(classes.front())]->input_bytes;
  }
}

void Pricer::add_span(const Plan& plan, const ChunkSpan& span, StageState& stage) const {
  const Recompute kind = recompute_on(plan, stage.device);
  double left = recomputed(plan, kind, stage.layers);
  for (int at = span.first; at < span.first + span.count;) {
    const int type = workload_.blocks[static_cast<std::size_t>(at)];
    int end = at + 1;
    while (end < span.first + span.count &&
           workload_.blocks[static_cast<std::size_t>(end)] == type) {
      ++end;
    }
    const double count = end - at;
    const LayerPrice& block = block_prices_[static_cast<std::size_t>(type)];
    stage.sum += times(block, count);
    const double full = kind == Recompute::full ? std::min(count, left * count / stage.layers) : 0;
    const double plain = count - full;
    stage.recompute += full * (block.forward + block.forward_comm);
    stage.recompute_comm += full * block.forward_comm;
    stage.recompute_kernels += full * block.kernels_forward;
    stage.flight_bytes += full * block.input_bytes;
    if (kind == Recompute::selective) {
      stage.recompute += count * block.core_forward;
      stage.flight_bytes += count * block.kept_selective_bytes;
    } else {
      stage.flight_bytes += plain * block.kept_bytes;
    }
    // A recomputed block comes back to life whole, one at a time.
    if (full > 0) stage.once_bytes = std::max(stage.once_bytes, block.kept_bytes);
    if (kind == Recompute::selective) {
      stage.once_bytes = std::max(stage.once_bytes, block.kept_bytes - block.kept_selective_bytes);
    }
    const Strategy s = strategy_for(
        workload_.classes[workload_.block_types[static_cast<std::size_t>(type)].classes[0]], plan);
    const double width = s.precision == Precision::fp32 ? 2 : 1;
    stage.boundary_bytes = workload_.block_types[static_cast<std::size_t>(type)].boundary_bytes *
                           width * plan.micro_batch / plan.context_parallel /
                           (plan.sequence_parallel ? plan.tensor_parallel : 1);
    stage.largest_block_parameters =
        std::max(stage.largest_block_parameters, block.parameters + block.expert_parameters);
    at = end;
  }
}

void Pricer::add_extra(const std::vector<int>& classes, bool once, StageState& stage) const {
  for (int c : classes) {
    const LayerPrice& price = *class_prices_[static_cast<std::size_t>(c)];
    stage.sum += price;
    (once ? stage.once_bytes : stage.flight_bytes) += price.kept_bytes;
  }
}

void Pricer::finish_times(const Plan& plan, StageState& stage) const {
  const DeviceModel& model = models_[stage.group];
  const LayerPrice& sum = stage.sum;
  const double host = model.efficiency.host_seconds;
  double compute = sum.forward + sum.backward_input + sum.backward_weight + stage.recompute -
                   stage.recompute_comm;
  double forward = sum.forward + sum.forward_comm;
  double backward = sum.backward_input + sum.backward_comm + stage.recompute;
  if (plan.zero_stage >= 3) {
    // Weights are gathered for forward and again for backward, gradients scattered, each
    // micro-batch.
    const int peers = sharing_peers(plan);
    const GroupLinks group =
        group_links(model.levels, model.efficiency, peers, stride_of(plan, Axis::context));
    const StateBytes bytes = state_bytes(plan.precision, plan.optimizer);
    const double parameters = sum.parameters + sum.expert_parameters;
    const double gather = all_gather_seconds(group, parameters * bytes.weight);
    const double scatter =
        reduce_scatter_seconds(group, parameters * traveling_gradient_bytes(plan));
    const double overlap = model.efficiency.gradient_overlap;
    const auto exposed = [&](double comm, double work) {
      return comm - std::min(overlap * comm, work);
    };
    const double before = exposed(gather, forward);
    const double after = exposed(gather + scatter, backward + sum.backward_weight);
    forward += before, backward += after;
    stage.exposed_gather = before + after;
  }
  // When kernels are shorter than their launches, the host sets the pace.
  const double floor_forward = sum.kernels_forward * host;
  const double floor_backward = (sum.kernels_backward + stage.recompute_kernels) * host;
  const double slack_forward = std::max(0.0, floor_forward - forward);
  const double slack_backward = std::max(0.0, floor_backward - backward - sum.backward_weight);
  stage.times = {forward + slack_forward, backward + slack_backward, sum.backward_weight};
  stage.send = send_time(plan, model, stage.boundary_bytes);
  if (plan.schedule == ScheduleKind::interleaved && plan.pipeline_parallel > 1) {
    // Each chunk sends and receives while its device waits, forward and backward.
    stage.times.forward += plan.virtual_stages * stage.send;
    stage.times.backward_input += plan.virtual_stages * stage.send;
  }
  stage.compute_seconds = compute + slack_forward + slack_backward;
}

StageState Pricer::stage_on(const Plan& plan, int device, std::size_t group) {
  StageState stage;
  stage.device = device, stage.group = group;
  for (const ChunkSpan& span : spans_) stage.layers += span.device == device ? span.count : 0;
  for (const ChunkSpan& span : spans_) {
    if (span.device == device && span.count > 0) add_span(plan, span, stage);
  }
  if (spans_.front().device == device) add_extra(workload_.first, false, stage);
  if (spans_.back().device == device) {
    add_extra(workload_.last, true, stage);
    if (workload_.tied_embeddings && spans_.front().device != device) {
      // The last stage holds its own copy of the shared table.
      stage.sum.parameters +=
          class_prices_[static_cast<std::size_t>(workload_.first.front())]->parameters;
    }
  }
  finish_times(plan, stage);
  set_memory(plan, stage);
  return stage;
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

StageState Pricer::slowest_stage(const Plan& plan, int device) {
  if (models_.size() == 1) return stage_on(plan, device, 0);
  const auto [first, last] = groups_of_stage(plan, device);
  StageState slowest;
  for (std::size_t group = first; group <= last; ++group) {
    price_classes(plan, group);
    StageState stage = stage_on(plan, device, group);
    if (group == first || stage.times.total() > slowest.times.total()) slowest = stage;
  }
  return slowest;
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
  if (models_.size() == 1) price_classes(plan, 0);
  Price price;
  StageState slowest;
  double tail = 0, tail_optimizer = 0, work = 0, boundary = 0, worst = -1e300;
  for (int d = 0; d < p; ++d) {
    const StageState stage = slowest_stage(plan, d);
    times_[static_cast<std::size_t>(d)] = stage.times;
    work += stage.times.total();
    boundary = std::max(boundary, stage.boundary_bytes);
    if (d == 0 || stage.times.total() > slowest.times.total()) slowest = stage;
    const double data = data_seconds(plan, stage), step = optimizer_seconds(plan, stage);
    if (data + step >= tail + tail_optimizer) tail = data, tail_optimizer = step;
    const double capacity = models_[stage.group].device.memory_bytes;
    const double pressure = stage.memory.total() + stage.reserve_bytes - capacity;
    if (pressure > worst) {
      worst = pressure;
      price.memory = stage.memory, price.reserve_bytes = stage.reserve_bytes;
      price.capacity_bytes = capacity;
    }
    if (stages != nullptr) stages->push_back(report_of(stage, data, step));
  }
  const DeviceModel& model = models_[slowest.group];
  const double m = static_cast<double>(std::max<std::int64_t>(1, plan.num_micro_batches()));
  const PipelineTime body = pipeline_time(plan.schedule, times_, static_cast<std::int64_t>(m),
                                          chunks_per_device(plan.schedule, plan.virtual_stages),
                                          send_time(plan, model, boundary));
  finish(plan, model, body, slowest, tail, tail_optimizer, work / p * m, price);
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
