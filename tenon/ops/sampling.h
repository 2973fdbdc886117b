// How grid_sample reads x around a point, shared by the page and its adjoint.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// Reads around points given in [-1, 1] along every spatial axis. Derivatives with respect to the
/// point's coordinates are read the same way: only the weights differ.
class PointSampler {
 public:
  /// `spatial`: sizes of x without batch and channels; attributes are those of the call.
  PointSampler(const Call& c, Dims spatial);
  struct Tap {
    std::int64_t offset;
    double weight;
  };
  /// Taps in one channel for a point; coordinate 0 belongs to the last axis. Replaces `taps`.
  void read(const double* point, std::vector<Tap>& taps) const;

 private:
  struct AxisTap {
    std::int64_t index;
    double weight;
  };
  int axis_taps(std::size_t axis, double coordinate, AxisTap* out) const;

  Dims spatial_, strides_;
  std::vector<std::int64_t> order_;  // of the derivative, for each spatial axis
  bool nearest_, cubic_, zeros_, border_, align_;
};

std::vector<AttrSpec> sampling_attrs();
Status check_sampling(const Call& c, int num_axes);
/// x[n, c, spatial...] and grid[n, out..., axes] agree.
Status check_grid(const Call& c, const Type& x, const Type& grid);
/// Gradient of the grid: for each coordinate the sum over channels of dy * derivative of sample(x).
Value* grid_gradient(B g, const Call& c, Value* x, Value* grid, Value* dy);

}  // namespace tenon::ops
