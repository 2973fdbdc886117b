// What the optimizer pages share: a rate, a count of updates, then groups of tensors of one kind
// each.
#pragma once

#include "tenon/ops/statistics.h"

namespace tenon::ops {

/// rate, count, then the tensors: all values, all gradients, and all of each state.
std::vector<InputSpec> update_inputs();
/// Types of the values and of each of `num_states` states; checks that the shapes agree.
Result<Types> infer_update(const Call& c, int num_states);
/// New value and states of one tensor from (value, gradient, states...), rate and count, all in one
/// type of at least 32 bits.
using UpdateRule = Values (*)(B g, const Call& c, const Values& tensors, Value* rate, Value* count);
/// The rule applied to every tensor; results ordered as the inputs are, without gradients.
Values update_all(B g, const Call& c, int num_states, UpdateRule rule);
/// Elements are independent; with several tensors they stay whole.
Result<Factors> sharding_update(const Call& c, int num_states);

}  // namespace tenon::ops
