// The section [model]: a model built by kind, or one from a file whose weights go on training.
#pragma once

#include <filesystem>
#include <memory>

#include "tenon/models/model.h"

namespace tenon::train {

/// `kind = "file"`: `path` names an ONNX file, Tenon's text form or a checkpoint; `train` lists the
/// weights that move, by name with `*` for any characters (default: all floating ones of at least
/// one axis); `rename.FIELD = INPUT` says which input takes a field where names differ (a single
/// input takes the first field by itself). Other kinds: models/model.h.
Result<std::unique_ptr<Graph>> open_or_build_model(const Json& section,
                                                   const models::ModelRequest& request,
                                                   const std::filesystem::path& folder);

/// Whether `name` matches `pattern`, in which `*` stands for any characters.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace tenon::train
