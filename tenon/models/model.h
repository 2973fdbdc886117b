// Whole models by kind, from the section [model] of a training file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/ir/graph.h"

namespace tenon::models {

/// One input that a model may read: a field of the samples, its dims without the batch (-1: any
/// size).
struct InputField {
  std::string name;
  DType dtype = DType::f32;
  Dims dims;
};

struct ModelRequest {
  std::vector<InputField> fields;
  std::int64_t classes = 0;  // where [model] does not say; 0: unknown
  std::uint64_t seed = 0;    // of the first weights
  std::string where;         // "train.toml: model", for errors
};

/// The model that `section` describes (docs/models.md lists kinds and keys). Its inputs are those
/// fields that its kind reads, under their names; its first output is `logits` (`boxes` of a
/// detector). All problems of the section in one error.
Result<std::unique_ptr<Graph>> build_model(const Json& section, const ModelRequest& request);

/// "mlp", "lenet", ...
std::vector<std::string> model_kinds();

}  // namespace tenon::models
