// What nll_loss and softmax_cross_entropy share: targets, weights and reductions.
#pragma once

#include "tenon/ops/statistics.h"

namespace tenon::ops {

std::vector<InputSpec> loss_inputs();
/// reduction (none, sum, mean) and ignore_index.
std::vector<AttrSpec> loss_attrs();
/// The type of the loss; checks x [n, c, d...], target [n, d...] and weight [c].
Result<Type> infer_loss(const Call& c);

/// Per target, in the shape of target: the class with ignored ones set to 0, and the weight, 0
/// where ignored.
struct Targets {
  Value *classes, *weights;
};
Targets targets_of(B g, const Call& c, DType dtype);
/// The loss from log-probabilities of x's shape: -log_p[target] * weight, reduced.
Value* loss_of(B g, const Call& c, Value* log_p);
/// By how much each target's -log_p enters the sum that dy belongs to: dy * weight (over the sum of
/// weights for a mean), as [n, 1, d...].
Value* loss_shares(B g, const Call& c, const Targets& t, Value* dy);
/// Boolean [n, c, d...]: whether a class is the target.
Value* is_target(B g, const Call& c, const Targets& t);
/// Without a mean, samples are independent; classes stay whole.
Result<Factors> sharding_loss(const Call& c);

}  // namespace tenon::ops
