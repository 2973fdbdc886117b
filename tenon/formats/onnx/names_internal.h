// Names and sizes that the file's text gives: scopes of nodes, types of graph inputs.
#pragma once

#include "tenon/formats/onnx/proto.h"
#include "tenon/formats/onnx/read.h"
#include "tenon/ir/graph.h"

namespace tenon::onnx {

/// The module path of a node: from the exporter's metadata, else the folders of its name.
std::string scope_of(const NodeProto& node, std::string_view label);
/// The node's name, else that of its first output, else its operator.
std::string node_label(const NodeProto& node);
/// A graph input's type after the caller's sizes; invalid when they contradict the file.
Result<Type> input_type(std::string_view name, Type declared, const ReadOptions& options);
/// Names that a graph takes from around it.
void collect_free_names(const GraphProto& g, std::vector<std::string_view>& out);

}  // namespace tenon::onnx
