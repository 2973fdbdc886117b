// Regions that conversions write by hand: bodies of loops and scans that no file holds.
#pragma once

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {

/// A region under construction; `c` builds inside of it with the same calls as outside.
///
///     HandRegion body(outer, "body");
///     Value* x = body.input("x", type);
///     body.output(body.c.op("neg", {x}), "y");
struct HandRegion {
  HandRegion(Context& around, std::string name);
  Value* input(std::string name, Type type) {
    return graph->add_input(std::move(name), std::move(type));
  }
  /// A value of the graph around, seen from inside; only after all inputs are added.
  Value* capture(Value* v) { return scope.capture(v); }
  void output(Value* v, std::string name) { graph->add_output(v, std::move(name)); }
  /// Hands the region over; failures inside fail the node around.
  Region finish();

  Context& outer;
  std::unique_ptr<Graph> graph;
  GraphBuilder builder;
  Scope scope;
  Context c;
};

}  // namespace tenon::onnx
