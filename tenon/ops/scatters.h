// Shared by the scatter pages: how an update meets what is there, and the gradient of each way.
#pragma once

#include <functional>

#include "tenon/ops/op_page.h"

namespace tenon::ops {

enum class Meet : std::uint8_t { replace, add, mul, max, min };

/// The attribute `reduction`: none, add, mul, max or min; numbers only for all but none.
Result<Meet> meet_of(const Call& c);
/// Puts updates[k] at position to[k] of a copy of x, in order of k.
Tensor put(const Tensor& x, const Tensor& updates, const std::vector<std::int64_t>& to, Meet meet);

/// A scatter seen from its gradient: `pick(x)` reads at the positions that `put` writes.
struct Scatter {
  std::function<Value*(Value* x)> pick;
  std::function<Value*(Value* x, Value* updates, const char* reduction)> put;
};
/// Gradients of x and updates. Where max or min meet equal values, dy is shared among them evenly;
/// with reduction none the positions must differ.
Values scatter_gradient(B g, const Scatter& s, Meet meet, Value* x, Value* updates, Value* y,
                        Value* dy);

}  // namespace tenon::ops
