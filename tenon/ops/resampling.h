// How resize reads x, shared by resize and its adjoint: along every axis an output element is a
// weighted sum of a few input elements.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// One axis: y[o] = sum over t < taps of weight[o * taps + t] * x[index[o * taps + t]].
struct AxisTaps {
  int axis = 0;
  std::int64_t in = 0, out = 0;
  int taps = 1;
  std::vector<std::int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside;  // [o]: the extrapolation value stands here, and all weights are 0
};

/// A resize on concrete sizes: output sizes and the axes that change, in the order of application.
struct Resampling {
  Dims out;
  std::vector<AxisTaps> axes;
};

/// Attributes that resize and its adjoint share.
std::vector<AttrSpec> resampling_attrs();
/// Checks the attributes' values.
Status check_resampling(const Call& c);
/// Axes that roi, scales and sizes speak of.
Result<std::vector<int>> resampled_axes(const Call& c, int ndim);
/// Taps for x of `dims`; roi, scales and sizes are inputs `first`, first + 1, first + 2 and known.
Result<Resampling> resampling_of(const Call& c, int first, const Dims& dims);
/// Output size of an axis of size `in` under a scale: the product rounded to f32, then down.
std::int64_t scaled_size(std::int64_t in, float scale);

/// Reads along one axis: x of `dims` to the same with dims[axis] = taps.out (which it becomes).
std::vector<double> read_axis(const std::vector<double>& x, Dims& dims, const AxisTaps& taps);
/// The transpose: adds y's elements where they were read.
std::vector<double> write_axis(const std::vector<double>& y, Dims& dims, const AxisTaps& taps);

}  // namespace tenon::ops
