// The JSON form of graphs, schema "tenon.graph/1": what the viewer and other programs read.
//
//   {"schema": "tenon.graph/1", "name": "main",
//    "inputs":    [{"id": 0, "name": "x", "type": "f32[N, 4]"}],
//    "constants": [{"id": 1, "name": "w", "type": "f32[4, 3]", "data": "w"},
//                  {"id": 2, "name": "", "type": "i64[1]", "values": [-1], "trainable": true}],
//    "nodes":     [{"op": "matmul", "inputs": [0, 1], "outputs": [{"id": 3, "type": "f32[N, 3]"}],
//                   "attrs": {"axis": {"integer": -1}}, "name": "enc/proj",
//                   "origin": {"file": "model.onnx", "index": 7, "scope": "enc"},
//                   "regions": [...]}],
//    "outputs":   [{"value": 3, "name": "y"}],
//    "constraints": [{"left": "N", "right": "M", "what": "a.rows == b.rows", "where": "node add"}],
//    "metadata":  {"producer": "pytorch 2.15.0"}}
//
// Ids count within each graph; an absent input is null. A region is a graph without "schema". An
// attribute is an object whose one key says its kind: boolean, integer, real, text, integers,
// reals, texts, dtype, tensor ({"type", "values"}). Numbers that JSON lacks are the strings "NaN",
// "Infinity", "-Infinity"; complex numbers are pairs. A constant with neither "values" nor "data"
// was written without its elements, for people and viewers, and does not read back.
#pragma once

#include "tenon/base/json.h"
#include "tenon/ir/text.h"

namespace tenon {

inline constexpr std::string_view kGraphSchema = "tenon.graph/1";

/// The same options as those of the text form: small constants are written out, larger ones stand
/// under a key, or without their elements where there are no keys.
Json to_json(const Graph& graph, const TextOptions& options = {});

/// Reads what to_json wrote. Types of results are inferred again, whatever the JSON says, and the
/// graph is verified. The error names the place in the JSON ("nodes[3].inputs[1]"). Unknown keys
/// are ignored, so that later minor additions read; another schema is unsupported.
Result<std::unique_ptr<Graph>> graph_from_json(const Json& json, const OperatorTable& table,
                                               const TensorSource& source = {});

}  // namespace tenon
