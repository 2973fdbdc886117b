// The text form of graphs: printed for people and tests, parsed back to the same graph.
//
//   graph "main"(%0 "x": f32[N, 4]) {
//     const %1 "w": f32[4, 3] = @w.0
//     %2 "h": f32[N, 3] = matmul(%0, %1) #"enc/proj" ("model.onnx", 7, "enc")
//     %3: f32[N, 3] = softmax(%2) {axis = -1}
//     return %3 "y"
//     assume N == M "add: a.rows == b.rows" "node add"
//     meta "producer" = "pytorch 2.15.0"
//   }
//
// Regions follow their node in braces, each as a graph. Constants are written out when they are
// small
// (`= [1, 2, 3]`), and as `= @key` when the data is kept beside the text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tenon/ir/operator.h"

namespace tenon {

struct TextOptions {
  /// Constants of at most this many elements are written out.
  std::int64_t max_inline = 16;
  /// Key of the data of a larger constant. Without it such constants print as `= ...`, which is for
  /// people and does not parse.
  std::function<std::string(const Value& constant)> key;
};

std::string to_text(const Graph& graph, const TextOptions& options = {});

/// Finds the data behind a key.
using TensorSource = std::function<Result<Tensor>(std::string_view key)>;

/// Parses what to_text printed. Types of results are inferred again, whatever the text says, and
/// the graph is verified; the error names the line.
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text, const OperatorTable& table,
                                           const TensorSource& source = {});

}  // namespace tenon
