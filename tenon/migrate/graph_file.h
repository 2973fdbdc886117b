// Graphs as files: Tenon's text or JSON form, with large constants in a safetensors file beside it.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "tenon/ir/graph.h"

namespace tenon::migrate {

enum class GraphForm : std::uint8_t { text, json };

/// What a graph file of either form begins with tells the form; nullopt: neither.
std::optional<GraphForm> graph_form(std::string_view start);

/// The file that holds the large constants of the graph file `path`: its name with ".safetensors"
/// behind it.
std::filesystem::path weights_beside(const std::filesystem::path& path);

/// Writes both files, each appearing whole or not at all; the weights only where there are large
/// constants.
Status write_graph_file(const Graph& graph, const std::filesystem::path& path, GraphForm form);

/// Reads a graph file; its weights stay mapped.
Result<std::unique_ptr<Graph>> read_graph_file(const std::filesystem::path& path, GraphForm form);

}  // namespace tenon::migrate
