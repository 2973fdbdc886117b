// Distances of tensors and the order of layers.
#include "tenon/migrate/comparison.h"

#include <algorithm>
#include <cmath>

namespace tenon::migrate {
namespace {

Json layer_json(const LayerDistance& d) {
  Json j = {{"name", d.name},
            {"op", d.op},
            {"max_absolute", d.max_absolute},
            {"max_relative", d.max_relative},
            {"different", d.different},
            {"count", d.count},
            {"nans", d.nans},
            {"equal", d.equal}};
  if (!d.place.empty()) j["where"] = d.place;
  if (!d.mismatch.empty()) j["mismatch"] = d.mismatch;
  return j;
}

double largest_magnitude(const std::vector<double>& v) {
  double m = 0;
  for (double x : v)
    if (std::isfinite(x)) m = std::max(m, std::fabs(x));
  return m;
}

}  // namespace

Tolerance tolerance_for(std::string_view precision) {
  if (precision == "fp16") return {1e-2, 1e-3};
  if (precision == "bf16") return {5e-2, 1e-2};
  if (precision == "int8") return {1e-1, 5e-2};
  return {1e-3, 1e-5};
}

LayerDistance compare_tensors(const Tensor& got, const Tensor& expected, const Tolerance& t) {
  LayerDistance d;
  d.count = expected.count();
  if (got.dims() != expected.dims() || got.dtype() != expected.dtype()) {
    d.mismatch = fmt::format("{}{} against {}{}", name(got.dtype()), to_text(got.dims()),
                             name(expected.dtype()), to_text(expected.dims()));
    d.equal = false;
    return d;
  }
  if (got.dtype() == DType::string || is_complex(got.dtype())) return d;
  const auto a = to_doubles(got), b = to_doubles(expected);
  const double scale = std::max(1e-30, largest_magnitude(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) {
      ++d.nans;
      continue;
    }
    const double difference = a[i] == b[i] ? 0 : std::fabs(a[i] - b[i]);
    if (!(difference <= t.atol * std::max(1.0, scale) + t.rtol * std::fabs(b[i]))) ++d.different;
    d.max_absolute = std::isnan(difference) ? difference : std::max(d.max_absolute, difference);
  }
  d.max_relative = d.max_absolute / scale;
  d.equal = d.different == 0;
  return d;
}

namespace {
bool all_equal(const std::vector<LayerDistance>& list) {
  return std::all_of(list.begin(), list.end(), [](const LayerDistance& d) { return d.equal; });
}
}  // namespace

bool Comparison::outputs_equal() const { return all_equal(outputs); }
bool Comparison::layers_equal() const { return all_equal(layers); }
bool Comparison::equal() const { return outputs_equal() && layers_equal(); }

const LayerDistance* Comparison::first_bad() const {
  for (const auto* list : {&layers, &outputs})
    for (const LayerDistance& d : *list)
      if (!d.equal) return &d;
  return nullptr;
}

const LayerDistance* Comparison::worst() const {
  const LayerDistance* worst = nullptr;
  for (const auto* list : {&layers, &outputs})
    for (const LayerDistance& d : *list)
      if (!worst || d.max_relative > worst->max_relative) worst = &d;
  return worst;
}

Json Comparison::json() const {
  Json j = {{"schema", "tenon.verify/1"},
            {"left", left},
            {"right", right},
            {"equal", equal()},
            {"outputs_equal", outputs_equal()},
            {"layers_equal", layers_equal()},
            {"rtol", tolerance.rtol},
            {"atol", tolerance.atol},
            {"layers_compared", layers.size()},
            {"outputs", Json::array()}};
  for (const LayerDistance& d : outputs) j["outputs"].push_back(layer_json(d));
  j["layers"] = Json::array();
  for (const LayerDistance& d : layers) j["layers"].push_back(layer_json(d));
  j["worst"] = worst() ? layer_json(*worst()) : Json();
  const LayerDistance* bad = first_bad();
  j["first_bad_node"] = bad ? layer_json(*bad) : Json();
  return j;
}

Result<Observation> observe(const Executable& executable, const Datums& inputs, ThreadPool& pool) {
  Observation o;
  const auto keep = [&](const Node& node, const Datums& outputs) -> Status {
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs().size(); ++i) {
      const std::string& name = node.output(static_cast<int>(i))->name();
      if (name.empty() || !outputs[i].is_tensor()) continue;
      if (o.values
              .try_emplace(name, ObservedValue{outputs[i].tensor(), std::string(node.op().name),
                                               node.place()})
              .second)
        o.order.push_back(name);
    }
    return {};
  };
  o.outputs = TENON_TRY(executable.run_observed(inputs, pool, keep));
  return o;
}

namespace {
// Half floats that were computed in f32 are compared after the rounding that they left out.
std::optional<Tensor> in_type_of(const Tensor& got, const Tensor& expected) {
  if (got.dtype() == expected.dtype()) return got;
  const bool is_half = expected.dtype() == DType::f16 || expected.dtype() == DType::bf16;
  if (got.dtype() != DType::f32 || !is_half) return std::nullopt;
  return from_doubles(to_doubles(got), expected.dtype(), got.dims());
}
}  // namespace

Comparison compare(const Observation& got, const std::map<std::string, Tensor>& expected,
                   const std::vector<std::string>& output_names, const Tolerance& tolerance) {
  Comparison c;
  c.tolerance = tolerance;
  for (const std::string& name : got.order) {
    auto it = expected.find(name);
    const ObservedValue& v = got.values.at(name);
    // Passes may give a value another shape or type on the way; only what is the same thing
    // compares.
    if (it == expected.end() || it->second.dims() != v.tensor.dims()) continue;
    const auto got_here = in_type_of(v.tensor, it->second);
    if (!got_here) continue;
    LayerDistance d = compare_tensors(*got_here, it->second, tolerance);
    d.name = name;
    d.op = v.op;
    d.place = v.place;
    c.layers.push_back(std::move(d));
  }
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    auto it = expected.find(output_names[i]);
    if (it == expected.end() || !got.outputs[i].is_tensor()) continue;
    LayerDistance d = compare_tensors(got.outputs[i].tensor(), it->second, tolerance);
    d.name = output_names[i];
    c.outputs.push_back(std::move(d));
  }
  return c;
}

}  // namespace tenon::migrate
