// Operators of a layer priced one by one and summed.
#include "tenon/planner/layer_price.h"

#include <algorithm>
#include <cmath>

#include "tenon/cost/kernel_cost.h"

namespace tenon::planner {
namespace {

/// Kernels that frameworks launch for one operator (casts, bias and transposes included).
constexpr double kKernelsOfMatmul = 2, kKernelsOfMemory = 2;
constexpr double kKernelsOfCore = 6, kKernelsOfFusedCore = 3;

struct Pricing {
  const LayerClass& layer;
  const Strategy& s;
  const DeviceModel& m;
  LayerPrice price;

  double width() const { return s.precision == Precision::fp32 ? 2.0 : 1.0; }  // over 2 bytes
  double tensor_of(Split split) const {
    if (split == Split::tensor) return s.tensor;
    return split == Split::sequence && s.sequence ? s.tensor : 1;
  }
  double tokens() const { return double(s.micro_batch) / s.context; }
  double matmul(double rows, double columns, double inner, double batch, Precision p,
                double rate = 1) const {
    return matmul_seconds(m.device, m.efficiency, {rows, columns, inner, batch}, p, rate);
  }
  double moving(double bytes) const {
    return memory_seconds(m.device, m.efficiency, bytes * width());
  }
};

void price_matmul(const LayerOp& op, Pricing& p) {
  double rows = op.rows * p.tokens(), columns = op.columns, inner = op.inner, batch = 1;
  if (op.rows == 1) rows = p.s.micro_batch;  // one row a sample: nothing to divide by context
  const double tensor = op.experts > 0 ? p.s.expert_tensor : p.s.tensor;
  if (op.splits_columns) columns = std::max(1.0, columns / tensor);
  if (op.splits_inner) inner = std::max(1.0, inner / tensor);
  if (op.experts > 0) {
    batch = std::max(1.0, double(op.experts) / p.s.expert);
    rows /= batch;
  }
  const Precision precision = p.s.precision;
  p.price.forward += p.matmul(rows, columns, inner, batch, precision);
  p.price.backward_input += p.matmul(rows, inner, columns, batch, precision);
  p.price.backward_weight += p.matmul(inner, columns, rows, batch, precision);
  p.price.kernels_forward += kKernelsOfMatmul;
  p.price.kernels_backward += 2 * kKernelsOfMatmul;
}

void price_unfused_core(const LayerOp& op, Pricing& p) {
  const double batch = std::max(1.0, p.s.micro_batch * op.heads / p.s.tensor);
  const double queries = op.rows / p.s.context, rate = p.m.efficiency.attention_peak;
  const Precision precision = p.s.precision == Precision::fp8 ? Precision::bf16 : p.s.precision;
  const double products = p.matmul(queries, op.keys, op.head_dim, batch, precision, rate) +
                          p.matmul(queries, op.value_dim, op.keys, batch, precision, rate);
  const double scores = batch * queries * op.keys;
  // Softmax reads and writes two bytes; dropout the same and a mask byte.
  const double forward = products + p.moving(scores * 4) + (op.dropout ? p.moving(scores * 5) : 0);
  p.price.forward += forward;
  p.price.core_forward += forward;
  p.price.backward_input +=
      2 * products + p.moving(scores * 6) + (op.dropout ? p.moving(scores * 5) : 0);
  p.price.kernels_forward += kKernelsOfCore;
  p.price.kernels_backward += 2 * kKernelsOfCore;
}

void price_fused_core(const LayerOp& op, Pricing& p) {
  const double share = p.tokens() / p.s.tensor * (op.causal ? 0.5 : 1.0);
  const Precision precision = p.s.precision == Precision::fp8 ? Precision::bf16 : p.s.precision;
  const double forward =
      fused_attention_seconds(p.m.device, p.m.efficiency, op.flops() * share, precision);
  p.price.forward += forward;
  p.price.core_forward += forward;
  // Five products instead of two, at a somewhat lower rate: the scores are formed again.
  p.price.backward_input +=
      fused_attention_seconds(p.m.device, p.m.efficiency, 2.5 * op.flops() * share, precision);
  p.price.kernels_forward += kKernelsOfFusedCore;
  p.price.kernels_backward += 2 * kKernelsOfFusedCore;
}

void price_memory(const LayerOp& op, Pricing& p) {
  const double share = p.tokens() / p.tensor_of(op.split);
  p.price.forward += p.moving(op.forward_bytes * share);
  p.price.backward_input += p.moving(op.backward_bytes * share);
  p.price.kernels_forward += kKernelsOfMemory;
  p.price.kernels_backward += kKernelsOfMemory;
}

void price_loss(const LayerOp& op, Pricing& p) {
  const double logits = op.rows * p.tokens() * op.columns / p.tensor_of(op.split);
  const double seconds = p.moving(logits * p.m.efficiency.loss_bytes / 2);
  p.price.forward += seconds;
  p.price.backward_input += seconds;
  p.price.kernels_forward += 4 * kKernelsOfMemory;
  p.price.kernels_backward += 2 * kKernelsOfMemory;
}

void price_ops(Pricing& p) {
  for (const LayerOp& op : p.layer.ops) {
    switch (op.kind) {
      case OpKind::matmul: price_matmul(op, p); break;
      case OpKind::attention:
        if (p.m.efficiency.fused_attention) {
          price_fused_core(op, p);
        } else {
          price_unfused_core(op, p);
        }
        break;
      case OpKind::memory: price_memory(op, p); break;
      case OpKind::loss: price_loss(op, p); break;
    }
  }
}

/// One reduction over the tensor peers; sequence parallelism moves the same bytes in two
/// collectives.
double tensor_reduction(const Pricing& p, const GroupLinks& group, double bytes_of_sample) {
  const double bytes = bytes_of_sample * p.tokens() * p.width();
  if (!p.s.sequence) return all_reduce_seconds(group, bytes);
  return reduce_scatter_seconds(group, bytes) + all_gather_seconds(group, bytes);
}

void price_tensor_traffic(Pricing& p) {
  const GroupLinks group = group_links(p.m.levels, p.m.efficiency, p.s.tensor, 1);
  const LayerClass& layer = p.layer;
  const double once = tensor_reduction(p, group, layer.reduce_bytes);
  const double once_backward = layer.reduce_bytes_backward > 0
                                   ? tensor_reduction(p, group, layer.reduce_bytes_backward)
                                   : once;
  const Efficiency& e = p.m.efficiency;
  p.price.forward_comm += layer.tensor_reduces * once * (1 - e.tensor_overlap_forward);
  double backward = once_backward * (1 - e.tensor_overlap);
  // With sequence parallelism backward gathers the layer's input again for the weight gradient,
  // half an all-reduce, of which the input gradient hides about half.
  if (p.s.sequence) backward += 0.25 * once_backward * (1 - e.tensor_overlap_forward);
  p.price.backward_comm += layer.tensor_reduces_backward * backward;
}

/// Bytes of the exchange relative to a copy for each chosen expert: with k choices among the E
/// experts within reach, on d devices, a token has to go to d (1 - C(E - E/d, k) / C(E, k))
/// devices.
double copies_sent(const Pricing& p) {
  const double k = p.layer.choices;
  if (!p.m.efficiency.sends_token_once || k == 0) return 1;
  double experts = 0;
  for (const LayerOp& op : p.layer.ops) experts = std::max(experts, double(op.experts));
  const double devices = std::max(1.0, p.s.expert * p.layer.reachable_share);
  experts *= p.layer.reachable_share;
  double missed = 1;
  for (double i = 0; i < k; ++i)
    missed *= std::max(0.0, experts - experts / devices - i) / std::max(1.0, experts - i);
  return devices * (1 - missed) / k;
}

/// Where a device has several experts, tokens that come in a copy for each are sorted by expert,
/// and their results back. Dispatchers that send a token once copy and sort in one pass.
void price_expert_sorting(Pricing& p) {
  double experts = 0;
  for (const LayerOp& op : p.layer.ops) experts = std::max(experts, double(op.experts));
  if (p.m.efficiency.sends_token_once || p.s.expert == 1 || experts <= p.s.expert) return;
  // Read and written, each way; the layer's exchange counts one move each way.
  const double seconds = p.moving(2 * p.layer.exchange_bytes * p.tokens());
  p.price.forward += seconds;
  p.price.backward_input += seconds;
  p.price.kernels_forward += 2, p.price.kernels_backward += 2;
}

void price_expert_traffic(Pricing& p) {
  if (p.s.expert == 1 || p.layer.exchange_bytes == 0) return;
  const GroupLinks group =
      group_links(p.m.levels, p.m.efficiency, p.s.expert, std::max(1, p.s.expert_tensor));
  // Dispatch and return, each half of the bytes; tokens divided by sequence parallelism move once.
  const double share = p.tokens() / (p.s.sequence ? p.s.tensor : 1) * p.width();
  const double once =
      2 * all_to_all_seconds(group, p.layer.exchange_bytes / 2 * share * copies_sent(p));
  const double exposed = once * (1 - p.m.efficiency.expert_overlap);
  p.price.forward_comm += exposed;
  p.price.backward_comm += exposed;
}

void price_context_traffic(Pricing& p) {
  if (p.s.context == 1 || p.layer.context_bytes == 0) return;
  const GroupLinks group = group_links(p.m.levels, p.m.efficiency, p.s.context, p.s.tensor);
  const double share = p.tokens() / p.s.tensor * p.width();
  if (p.s.context_method == ContextMethod::all_to_all) {
    const double once = all_to_all_seconds(group, p.layer.context_exchange_bytes * share);
    p.price.forward_comm += once;
    p.price.backward_comm += once;
    return;
  }
  // Each step passes keys and values on while the last ones are attended to; backward passes their
  // gradients too.
  const double steps = p.s.context - 1;
  const double pass = steps * send_seconds(group, p.layer.context_bytes * share);
  const double hidden = p.price.core_forward * steps / p.s.context;
  p.price.forward_comm += std::max(steps * 5e-6, pass - hidden);
  p.price.backward_comm += std::max(steps * 10e-6, 2 * pass - 2.5 * hidden);
}

void add_kept(Pricing& p) {
  for (const KeptTensor& kept : p.layer.kept) {
    if (kept.unfused_only && p.m.efficiency.fused_attention) continue;
    const bool expert = p.layer.kind == LayerKind::experts && kept.split == Split::tensor;
    const double tensor = expert ? p.s.expert_tensor : p.tensor_of(kept.split);
    const double bytes = kept.bytes * p.tokens() / tensor * p.width();
    p.price.kept_bytes += bytes;
    if (!kept.core) p.price.kept_selective_bytes += bytes;
    // Masks and scores are done with once the input gradient is there.
    if (!kept.core && kept.name.find("mask") == std::string::npos)
      p.price.weight_kept_bytes += bytes;
  }
  p.price.input_bytes = p.layer.input_bytes * p.tokens() / p.tensor_of(Split::sequence) * p.width();
}

void add_parameters(Pricing& p) {
  for (const Parameter& parameter : p.layer.parameters) {
    double& sum = parameter.sparse   ? p.price.sparse_parameters
                  : parameter.expert ? p.price.expert_parameters
                                     : p.price.parameters;
    sum += elements_on_device(parameter, p.s);
  }
}

void freeze(LayerPrice& price) {
  price.backward_input = price.backward_weight = price.backward_comm = 0;
  price.kernels_backward = 0;
  price.kept_bytes = price.kept_selective_bytes = price.input_bytes = price.weight_kept_bytes = 0;
  price.core_forward = 0;
  price.trained_share = 0;
}

}  // namespace

LayerPrice& LayerPrice::add_times(const LayerPrice& o, double count) {
  const double all = parameters + expert_parameters;
  const double more = count * (o.parameters + o.expert_parameters);
  if (all + more > 0) trained_share = (trained_share * all + o.trained_share * more) / (all + more);
  forward += count * o.forward;
  backward_input += count * o.backward_input;
  backward_weight += count * o.backward_weight;
  core_forward += count * o.core_forward;
  forward_comm += count * o.forward_comm;
  backward_comm += count * o.backward_comm;
  kernels_forward += count * o.kernels_forward;
  kernels_backward += count * o.kernels_backward;
  kept_bytes += count * o.kept_bytes;
  kept_selective_bytes += count * o.kept_selective_bytes;
  input_bytes += count * o.input_bytes;
  weight_kept_bytes += count * o.weight_kept_bytes;
  parameters += count * o.parameters;
  expert_parameters += count * o.expert_parameters;
  sparse_parameters += count * o.sparse_parameters;
  return *this;
}

double elements_on_device(const Parameter& parameter, const Strategy& s) {
  double elements = parameter.elements;
  if (parameter.padded_row > 0) {
    // Vocabulary tables pad to 128 rows a tensor peer, so that shares are equal and aligned.
    const double rows = elements / parameter.padded_row, unit = 128.0 * s.tensor;
    elements = std::ceil(rows / unit) * unit * parameter.padded_row;
  }
  if (parameter.expert) elements /= s.expert;
  if (parameter.splits_tensor) elements /= parameter.expert ? s.expert_tensor : s.tensor;
  return elements;
}

LayerPrice price_layer(const LayerClass& layer, const Strategy& strategy,
                       const DeviceModel& model) {
  Pricing pricing{layer, strategy, model, {}};
  price_ops(pricing);
  price_tensor_traffic(pricing);
  price_expert_sorting(pricing);
  price_expert_traffic(pricing);
  price_context_traffic(pricing);
  add_kept(pricing);
  add_parameters(pricing);
  if (!layer.trained) freeze(pricing.price);
  return pricing.price;
}

}  // namespace tenon::planner
