// The logistic function and the pages that gate x with it.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// 1 / (1 + e^-x) = e^x / (1 + e^x): the form whose exponential does not grow.
Expr logistic(const Expr& x);
/// The page of y = x * sigmoid(alpha x), with the standard value of `alpha`.
OpPage sigmoid_gate(std::string_view name, std::string_view doc, double alpha);

}  // namespace tenon::ops
