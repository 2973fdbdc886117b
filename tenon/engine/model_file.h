// Opens a model file of any kind that this build reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tenon/ir/graph.h"

namespace tenon::engine {

/// A graph, and the kind of file it came from: "tenon_text".
struct ModelFile {
  std::unique_ptr<Graph> graph;
  std::string format;
};

/// Reads a model; the kind is told by its content, not by its name. not_found or io: the file; the
/// errors of the readers otherwise, with all problems of the file.
Result<ModelFile> read_model(const std::filesystem::path& path);

}  // namespace tenon::engine
