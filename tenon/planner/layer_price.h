// What one layer class costs on one device under one strategy.
#pragma once

#include "tenon/cost/collective_cost.h"
#include "tenon/cost/efficiency.h"
#include "tenon/machine/cluster.h"
#include "tenon/planner/plan.h"
#include "tenon/planner/workload.h"

namespace tenon::planner {

/// How a layer is divided, and the micro-batch it sees.
struct Strategy {
  int tensor = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;
  bool sequence = false;
  ContextMethod context_method = ContextMethod::ring;
  Precision precision = Precision::bf16;
  int micro_batch = 1;
};

/// A device type with the links around it and what its software reaches.
struct DeviceModel {
  Device device;
  Efficiency efficiency;
  std::vector<LinkLevel> levels;
};

/// One micro-batch on one device. Seconds of computation and of communication that is not hidden;
/// bytes kept from forward to backward.
struct LayerPrice {
  double forward = 0;  // computation
  double backward_input = 0;
  double backward_weight = 0;
  double core_forward = 0;  // the part that selective recomputation repeats
  double forward_comm = 0;
  double backward_comm = 0;
  double kernels_forward = 0;  // launches, for the host's floor
  double kernels_backward = 0;
  double kept_bytes = 0;  // nothing recomputed
  double kept_selective_bytes = 0;
  double input_bytes = 0;        // what full recomputation keeps
  double weight_kept_bytes = 0;  // of kept_bytes, what the weight gradient alone still needs
  double parameters = 0;         // elements on the device that all data replicas share
  double expert_parameters = 0;
  double sparse_parameters = 0;  // tables looked up by row
  double trained_share = 1;      // 0 for a frozen layer

  LayerPrice& operator+=(const LayerPrice& other) { return add_times(other, 1); }
  /// Adds `count` copies of another price.
  LayerPrice& add_times(const LayerPrice& other, double count);
};

LayerPrice price_layer(const LayerClass& layer, const Strategy& strategy, const DeviceModel& model);

/// Elements of a parameter on one device.
double elements_on_device(const Parameter& parameter, const Strategy& strategy);

}  // namespace tenon::planner
