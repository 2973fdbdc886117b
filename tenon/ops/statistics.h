// Small compositions that normalisations, losses and attention are made of.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// Axes [from, ndim).
std::vector<std::int64_t> axes_from(int from, int ndim);
/// Number of elements of x along `axes`, as a 0-d value of x's type.
Value* count_along(B g, Value* x, const std::vector<std::int64_t>& axes);
/// The size of one axis as a 0-d value of `dtype`.
Value* size_along(B g, Value* x, int axis, DType dtype);
/// 0, 1, 2, ... along `axis` of x, in a shape that broadcasts against x.
Value* positions_along(B g, Value* x, int axis, DType dtype = DType::i64);
/// 0, 1, ... up to `size`: a size of `source`, or a constant.
Value* counting(B g, const Dim& size, Value* source, DType dtype = DType::i64);
/// p (1-d, one element for each channel) in a shape that broadcasts along axis 1 of a tensor of
/// `ndim`.
Value* per_channel(B g, Value* p, int ndim);
/// Elements [from, to) of `axis`.
Value* part_of(B g, Value* x, int axis, std::int64_t from, std::int64_t to);

/// x standardised over `axes`: (x - mean) * inv_std, in x's own type.
struct Standardised {
  Value *y, *mean, *inv_std;
};
Standardised standardise(B g, Value* x, const std::vector<std::int64_t>& axes, double epsilon);
/// What x gets back from dn, the gradient of n = (x - mean) * inv_std:
/// inv_std * (dn - mean(dn) - n * mean(dn * n)).
Value* standardise_adjoint(B g, Value* dn, Value* n, Value* inv_std,
                           const std::vector<std::int64_t>& axes);

/// |x|^p for p >= 1.
Value* absolute_power(B g, Value* x, double p);
/// s^(1/p) for s >= 0, with gradient 0 instead of infinity at s = 0.
Value* root(B g, Value* s, double p);

/// Every axis of every input goes through, except that those of `whole` stay whole; inputs of a
/// lower rank align at the right, and axes of size 1 there stay whole.
Result<Factors> sharding_except(const Call& c, const std::vector<std::int64_t>& whole);

}  // namespace tenon::ops
