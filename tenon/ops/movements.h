// Shared by the movement pages: pages whose every output element is a copy of an input element.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// A movement page with everything that movements have in common; refine the returned record.
inline OpPage movement(std::string_view name, std::string_view doc) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.traits = {Trait::movement};
  p.decompose = none("core");
  p.cost = cost_movement;
  return p;
}

/// A 1-d i64 tensor: axes, sizes and positions of samples.
inline Tensor i64s(const std::vector<std::int64_t>& values) { return Tensor::vector(values); }

/// Outputs of a page whose output holds x's elements in the same order under the inferred shape.
Result<Datums> eval_view(const EvalCall& e);
/// `ndim` sizes that only the data tells.
Shape unknown_shape(const Call& c, int ndim);
/// How many elements the 1-d input `i` has, when that is known.
std::optional<std::int64_t> known_length(const Call& c, int i);

/// Names d0, d1, ... for `ndim` axes; those in `whole` stay whole.
std::vector<std::string> axis_names(int ndim, const std::vector<int>& whole = {});
/// Every axis of every tensor stays whole.
Factors all_whole(const Call& c);
/// The axes of input 0 go through to every output one to one, but for those in `whole`; other
/// inputs stay whole.
Factors axes_through(const Call& c, const std::vector<int>& whole);

/// 0, 1, ... size - 1 along `axis` of a tensor of `ndim` dims whose other sizes are 1 (i64); `size`
/// is a 1-d value of one element.
Value* iota_along(B g, Value* size, int axis, int ndim);
/// The size of one axis of x, as a 1-d value of one element.
Value* size_of_axis(B g, Value* x, int axis);

}  // namespace tenon::ops
