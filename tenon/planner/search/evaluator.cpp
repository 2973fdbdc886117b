#include "tenon/planner/search/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/interrupt.h"
#include "tenon/base/random.h"

namespace tenon::planner {
namespace {

constexpr std::size_t most_top = 16;
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
std::uint64_t fold(std::uint64_t key, const std::vector<T>& list) {
  for (const T& item : list) key = mix_key(key, static_cast<std::uint64_t>(item) + 1);
  return mix_key(key, list.size());
}

std::uint64_t fold(std::uint64_t key, const std::vector<LayerOverride>& layers) {
  for (const LayerOverride& layer : layers) {
    std::uint64_t text = 0;
    for (const char c : layer.match) text = text * 131 + static_cast<unsigned char>(c);
    const auto part = [](const auto& value) {
      return value ? static_cast<std::uint64_t>(*value) + 1 : 0;
    };
    key = mix_key(key, text,
                  part(layer.tensor_parallel) | part(layer.context_parallel) << 16 |
                      part(layer.expert_parallel) << 32 | part(layer.zero_stage) << 48);
    key = mix_key(key, part(layer.sequence_parallel) | part(layer.recompute) << 8 |
                           part(layer.precision) << 16 | part(layer.offload) << 24);
  }
  return key;
}

}  // namespace

std::uint64_t plan_key(const Plan& p) {
  const auto u = [](auto v) { return static_cast<std::uint64_t>(v); };
  std::uint64_t key = mix_key(u(p.data_parallel) | u(p.tensor_parallel) << 32,
                              u(p.pipeline_parallel) | u(p.context_parallel) << 32,
                              u(p.expert_parallel) | u(p.micro_batch) << 32);
  key = mix_key(key, u(p.global_batch), u(p.virtual_stages) | u(p.recompute_layers) << 32);
  key = mix_key(
      key,
      u(p.sequence_parallel) | u(p.zero_stage) << 1 | u(static_cast<int>(p.schedule)) << 4 |
          u(static_cast<int>(p.recompute)) << 10 | u(static_cast<int>(p.precision)) << 14 |
          u(static_cast<int>(p.optimizer)) << 18 | u(static_cast<int>(p.offload)) << 24 |
          u(static_cast<int>(p.gradient_compression)) << 28 |
          u(static_cast<int>(p.context_method)) << 32 | u(static_cast<int>(p.collective)) << 36,
      u(p.zero_group));
  key = fold(key, p.layers_per_stage);
  key = fold(key, p.recompute_per_stage);
  key = fold(key, p.placement);
  return fold(key, p.layers);
}

Metrics metrics_of(const Pricer& pricer, const Plan& plan, const Price& price) {
  Metrics metrics;
  metrics.seconds = price.step_seconds;
  metrics.memory_bytes = price.memory.total() + price.reserve_bytes;
  // A device that waits still draws about a third of its board power.
  const double busy =
      std::min(1.0, (price.compute_seconds + price.optimizer_seconds) / price.step_seconds);
  const double load = 0.35 + 0.65 * busy;
  double rent = 0;
  for (const NodeGroup& group : pricer.cluster().groups) {
    const double devices = static_cast<double>(group.num_devices());
    metrics.joules += devices * group.device.watts * load * price.step_seconds;
    const double hourly = group.dollars_per_device_hour > 0 ? group.dollars_per_device_hour
                                                            : group.device.dollars_per_hour;
    rent += devices * hourly * price.step_seconds / 3600;
  }
  const Prices& prices = pricer.cluster().prices;
  const double kwh = metrics.joules / 3.6e6 * prices.power_usage_effectiveness;
  metrics.dollars = rent + kwh * prices.dollars_per_kwh;
  (void)plan;
  return metrics;
}

Evaluator::Evaluator(Pricer& pricer, const SearchRequest& request)
    : pricer_(pricer),
      request_(request),
      num_devices_(pricer.cluster().num_devices()),
      homogeneous_(pricer.cluster().is_homogeneous()) {
  if (request_.clock) started_ = request_.clock();
}

double Evaluator::value_of(const Metrics& metrics) const {
  switch (request_.objective) {
    case Objective::time:
    case Objective::pareto: return metrics.seconds;
    // Least memory, but a plan that takes many times as long is no answer: one e-fold of time
    // outweighs one of memory four times over.
    case Objective::memory: return metrics.memory_bytes * std::pow(metrics.seconds, 0.25);
    case Objective::cost: return metrics.dollars;
    case Objective::energy: return metrics.joules;
  }
  return metrics.seconds;
}

bool Evaluator::hopeless(double compute_seconds) const {
  if (!best_ || request_.objective == Objective::pareto || request_.objective == Objective::memory)
    return false;
  Price ideal;
  ideal.step_seconds = ideal.compute_seconds = compute_seconds;
  return value_of(metrics_of(pricer_, best_->plan, ideal)) > best_->value;
}

const Evaluator::Outcome& Evaluator::evaluate(const Plan& plan) {
  const auto [at, fresh] = seen_.try_emplace(plan_key(plan));
  Outcome& outcome = at->second;
  if (!fresh) return outcome;
  outcome.value = outcome.seconds = infinity;
  if (!why_invalid(plan, workload(), num_devices_).empty()) return outcome;
  const Price price = pricer_.price(plan);
  ++count_;
  const Metrics metrics = metrics_of(pricer_, plan, price);
  outcome = {value_of(metrics), price.step_seconds, price.least_compute_seconds,
             metrics.memory_bytes / price.capacity_bytes, true};
  record(plan, price, metrics, outcome.value);
  return outcome;
}

void Evaluator::record(const Plan& plan, const Price& price, const Metrics& metrics, double value) {
  if (!price.fits()) {
    const double pressure = metrics.memory_bytes / price.capacity_bytes;
    if (!leanest_ || pressure < leanest_->metrics.memory_bytes / leanest_->price.capacity_bytes) {
      leanest_ = std::make_unique<Candidate>(Candidate{plan, price, metrics, value});
    }
    return;
  }
  const bool leads = !best_ || value < best_->value;
  const MeshKey key = {plan.tensor_parallel, plan.pipeline_parallel, plan.context_parallel,
                       plan.expert_parallel, static_cast<int>(plan.schedule)};
  const auto at = of_mesh_.find(key);
  const bool leads_mesh = at == of_mesh_.end() || value < at->second.value;
  if (request_.objective == Objective::pareto) record_pareto({plan, price, metrics, value});
  if (top_.size() < most_top || value < top_.back().value)
    record_top({plan, price, metrics, value});
  if (!leads_mesh) return;
  of_mesh_[key] = {plan, price, metrics, value};
  if (!leads) return;
  best_ = std::make_unique<Candidate>(Candidate{plan, price, metrics, value});
  progress_.emplace_back(count_, value);
}

void Evaluator::record_top(const Candidate& candidate) {
  const auto at =
      std::upper_bound(top_.begin(), top_.end(), candidate,
                       [](const Candidate& a, const Candidate& b) { return a.value < b.value; });
  top_.insert(at, candidate);
  if (top_.size() > most_top) top_.pop_back();
}

void Evaluator::record_pareto(const Candidate& candidate) {
  // Within half a percent in everything counts as the same, or the front would hold thousands.
  const auto no_worse = [](const Metrics& a, const Metrics& b, double slack) {
    return a.seconds <= b.seconds * slack && a.memory_bytes <= b.memory_bytes * slack &&
           a.dollars <= b.dollars * slack && a.joules <= b.joules * slack;
  };
  for (const Candidate& other : front_) {
    if (no_worse(other.metrics, candidate.metrics, 1.005)) return;
  }
  std::erase_if(front_, [&](const Candidate& other) {
    return no_worse(candidate.metrics, other.metrics, 1.0);
  });
  front_.push_back(candidate);
}

bool Evaluator::stopped() {
  if (!stopped_by_.empty()) return true;
  if (count_ >= request_.max_evaluations)
    stopped_by_ = "evaluations";
  else if (interrupted())
    stopped_by_ = "interrupted";
  else if (request_.clock && (++polls_ & 63) == 0 &&
           request_.clock() - started_ > request_.max_seconds) {
    stopped_by_ = "seconds";
  }
  return !stopped_by_.empty();
}

std::vector<Candidate> Evaluator::leaders(std::size_t count) const {
  std::vector<Candidate> all;
  for (const auto& [key, candidate] : of_mesh_) all.push_back(candidate);
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.value < b.value; });
  if (all.size() > count) all.resize(count);
  for (const Candidate& other : top_) {
    if (all.size() >= std::min<std::size_t>(count, 8)) break;
    const bool known = std::any_of(all.begin(), all.end(), [&](const Candidate& c) {
      return summary(c.plan) == summary(other.plan);
    });
    if (!known) all.push_back(other);
  }
  return all;
}

std::vector<Candidate> Evaluator::pareto() const {
  std::vector<Candidate> front = front_;
  std::stable_sort(front.begin(), front.end(), [](const Candidate& a, const Candidate& b) {
    return a.metrics.seconds < b.metrics.seconds;
  });
  return front;
}

std::int64_t Evaluator::count_within_one_percent() const {
  for (const auto& [count, value] : progress_) {
    if (value <= best_value() * 1.01) return count;
  }
  return count_;
}

}  // namespace tenon::planner
