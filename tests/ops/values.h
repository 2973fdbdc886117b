// Calls an operator on given tensors, for tests that know what must come out.
#pragma once

#include <limits>

#include "tenon/ops/op_page.h"

namespace tenon::ops {

inline constexpr float kInf = std::numeric_limits<float>::infinity(),
                       kNan = std::numeric_limits<float>::quiet_NaN();

/// Outputs of the operator on these inputs (an undefined tensor: absent).
Result<Datums> call(std::string_view op, const std::vector<Tensor>& inputs,
                    const Attrs& attrs = {});
/// Gradients of the inputs when the gradient of output 0 is `dy` (undefined: the rule gives none).
std::vector<Tensor> gradients(std::string_view op, const std::vector<Tensor>& inputs,
                              const Tensor& dy, const Attrs& attrs = {});

/// "" or where output 0 differs from `expected`; type and dims exact, numbers within `tolerance`.
std::string differs(const Tensor& got, const Tensor& expected, double tolerance = 1e-6);
std::string check_value(std::string_view op, const std::vector<Tensor>& inputs,
                        const Tensor& expected, const Attrs& attrs = {});
/// An operator on inputs and what its output 0 must be.
struct ValueCase {
  std::string_view op;
  std::vector<Tensor> inputs;
  Tensor expected;
  Attrs attrs = {};
};
/// Fails the running test for each case that differs.
void check_values(const std::vector<ValueCase>& cases);

inline Tensor f32(std::vector<float> v) { return Tensor::vector(v); }
inline Tensor f64(std::vector<double> v) { return Tensor::vector(v); }
inline Tensor i64(std::vector<std::int64_t> v) { return Tensor::vector(v); }
inline Tensor truths(std::vector<std::int64_t> v) {
  const auto n = static_cast<std::int64_t>(v.size());
  return from_int64s(v, DType::boolean, {n});
}
inline Tensor of_type(DType d, std::vector<double> v, Dims dims = {}) {
  if (dims.empty()) dims = {static_cast<std::int64_t>(v.size())};
  return from_doubles(v, d, std::move(dims));
}

}  // namespace tenon::ops
