// Bytes of a parameter's copies by precision and optimizer.
#pragma once

#include "tenon/planner/plan.h"

namespace tenon::planner {

/// Bytes of one parameter on a device that shards nothing.
struct StateBytes {
  double weight = 2;
  double gradient = 4;
  double optimizer = 12;
  double total() const { return weight + gradient + optimizer; }
};

/// As mixed-precision training keeps them (Megatron): bf16 2 + 4 (fp32 gradients) + 12 = 18; fp16
/// 2 + 2 + 16 (fp32 gradients live during the step) = 20; fp32 4 + 4 + 8 = 16 with Adam; fp8 adds a
/// cached 8-bit copy of the weights.
StateBytes state_bytes(Precision precision, Optimizer optimizer);

/// Bytes of one gradient element as it travels between replicas.
double traveling_gradient_bytes(const Plan& plan);

}  // namespace tenon::planner
