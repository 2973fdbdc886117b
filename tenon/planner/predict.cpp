// From a Price to what a person reads.
#include <algorithm>
#include <cmath>

#include "tenon/planner/pricer.h"

namespace tenon::planner {

namespace {

/// Variance from what the calibration has not seen: few rows leave factors at their priors; a
/// default was measured on some stack, not on the one that nobody named, and stacks differ by about
/// as much as whole tables do that a fit has not seen; and the published rows have neither experts,
/// 8-bit products, context rings nor sharded weights.
double unseen_variance(const Pricer& pricer, const Plan& plan) {
  const auto squared = [](double x) { return x * x; };
  double variance = 0;
  const auto rows = pricer.calibration().rows.size();
  if (rows > 0) variance += squared(0.04) / static_cast<double>(rows);
  if (pricer.calibration().is_default) variance += squared(0.05);
  if (pricer.workload().num_experts > 0) variance += squared(0.06);
  if (plan.precision == Precision::fp8) variance += squared(0.05);
  if (plan.context_parallel > 1) variance += squared(0.03);
  if (plan.zero_stage >= 3) variance += squared(0.03);
  if (!pricer.cluster().is_homogeneous()) variance += squared(0.05);
  return variance;
}

}  // namespace

double uncertainty_of(const Pricer& pricer, const Plan& plan, const Price& price) {
  const Efficiency& e = pricer.calibration().efficiency;
  double variance = e.noise * e.noise + unseen_variance(pricer, plan);
  // Sharing of nodes between tensor groups, and scatter at scale, vary from run to run about as
  // much as they cost.
  const double node = static_cast<double>(pricer.cluster().levels().front().devices);
  if (plan.pipeline_parallel > 1 && plan.tensor_parallel > 1 && plan.tensor_parallel < node) {
    const double sharing = e.node_sharing * (node / plan.tensor_parallel - 1);
    variance += 0.6 * 0.6 * sharing * sharing;
  }
  const double nodes = std::max(1.0, static_cast<double>(plan.num_devices()) / node);
  const double jitter = 0.25 * e.jitter * std::log2(nodes);
  variance += jitter * jitter;
  const double exposed = price.exposed_communication_seconds / std::max(1e-12, price.step_seconds);
  variance += 0.1 * 0.1 * exposed * exposed;
  return std::sqrt(variance);
}

Prediction predict(Pricer& pricer, const Plan& plan) {
  Prediction p;
  const Price price = pricer.price(plan, &p.per_stage);
  p.step_seconds = price.step_seconds;
  p.compute_seconds = price.compute_seconds;
  p.exposed_communication_seconds = price.exposed_communication_seconds;
  p.bubble_seconds = price.bubble_seconds;
  p.optimizer_seconds = price.optimizer_seconds;
  p.other_seconds = price.other_seconds;
  p.bubble_rate = price.bubble_rate;
  p.memory = price.memory;
  p.calibration = pricer.calibration().name;
  const double batch = static_cast<double>(plan.global_batch);
  const double tokens = pricer.workload().tokens_per_sample;
  p.counts_tokens = tokens > 0;
  p.tokens_per_second = batch * (tokens > 0 ? tokens : 1) / price.step_seconds;
  const double flops = pricer.workload().model_flops() * batch;
  double peak = 0;
  for (const auto& group : pricer.cluster().groups) {
    peak += group.device.peak(plan.precision) * static_cast<double>(group.num_devices());
  }
  p.mfu = flops / (price.step_seconds * peak);
  p.model_tflops_per_device =
      flops / price.step_seconds / static_cast<double>(pricer.cluster().num_devices()) / 1e12;
  p.uncertainty = uncertainty_of(pricer, plan, price);
  return p;
}

}  // namespace tenon::planner
