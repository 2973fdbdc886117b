// Layer-by-layer comparison: which values of two engines agree, and where they first do not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/runtime/executable.h"

namespace tenon::migrate {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-5;
};
/// Defaults by precision: fp32 1e-3 and 1e-5, fp16 1e-2 and 1e-3, bf16 5e-2 and 1e-2, int8 1e-1 and
/// 5e-2.
Tolerance tolerance_for(std::string_view precision);

/// How far one value is from its counterpart.
struct LayerDistance {
  std::string name, op, place;
  double max_absolute = 0,
         max_relative = 0;  // relative to the largest magnitude of the expected value
  std::int64_t different = 0, count = 0, nans = 0;
  std::string mismatch;  // not empty: shapes or types differ
  bool equal = true;
};

struct Comparison {
  std::string left, right;            // what was compared: "cpu", "onnxruntime 1.32.0"
  std::vector<LayerDistance> layers;  // of values that both name, in execution order
  std::vector<LayerDistance> outputs;
  Tolerance tolerance;
  /// Whether outputs and layers are; a wrong layer under equal outputs is a difference, too.
  bool equal() const;
  bool outputs_equal() const;
  bool layers_equal() const;
  /// The first node whose result is off while its operands were not; nullptr when all agree.
  const LayerDistance* first_bad() const;
  const LayerDistance* worst() const;
  Json json() const;
};

/// NaN equals NaN, and is counted.
LayerDistance compare_tensors(const Tensor& got, const Tensor& expected,
                              const Tolerance& tolerance);

/// Every named value of a run, with the node that made it.
struct ObservedValue {
  Tensor tensor;
  std::string op, place;
};
struct Observation {
  std::vector<std::string> order;
  std::map<std::string, ObservedValue> values;
  Datums outputs;
};
/// Runs node by node and keeps every named tensor.
Result<Observation> observe(const Executable& executable, const Datums& inputs, ThreadPool& pool);

Comparison compare(const Observation& got, const std::map<std::string, Tensor>& expected,
                   const std::vector<std::string>& output_names, const Tolerance& tolerance);

}  // namespace tenon::migrate
