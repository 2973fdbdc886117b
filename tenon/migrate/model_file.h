// Opens a model, whatever its form: an ONNX file, Tenon's text or JSON form, a bundle, or a
// checkpoint of training.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/formats/onnx/read.h"
#include "tenon/ir/graph.h"

namespace tenon::migrate {

/// A model as its file holds it.
struct ModelFile {
  std::string format;  // "onnx", "tenon-text", "tenon-json", "bundle", "checkpoint"
  std::unique_ptr<Graph> graph;
  std::map<std::string, std::int64_t> opsets;
  std::string producer;
  std::vector<std::string> warnings;
  std::vector<std::string> data_files;
  std::optional<onnx::BakedBatch> baked_batch;
};

struct OpenOptions {
  /// Sizes that replace those of inputs, by name.
  std::map<std::string, Dims> shapes;
  bool free_batch = false;
};

/// Reads the graph of a model. The form is told by content, not by the file's name. All problems of
/// the file are in the error.
Result<ModelFile> open_model(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace tenon::migrate
