// Small ONNX models made by hand, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "tenon/base/tensor.h"
#include "tenon/formats/onnx/proto.h"
#include "tenon/formats/onnx/wire_writer.h"

namespace tenon::onnx::testing {

using Names = std::vector<std::string>;

inline WireWriter attribute(std::string_view name, std::int64_t v) {
  return WireWriter().text(1, name).integer(3, v).integer(20, 2);
}
inline WireWriter attribute(std::string_view name, float v) {
  return WireWriter().text(1, name).real(2, v).integer(20, 1);
}
inline WireWriter attribute(std::string_view name, const char* v) {
  return WireWriter().text(1, name).text(4, v).integer(20, 3);
}
inline WireWriter attribute(std::string_view name, const std::vector<std::int64_t>& v) {
  return WireWriter().text(1, name).integers(8, v).integer(20, 7);
}
inline WireWriter attribute(std::string_view name, const WireWriter& graph) {
  return WireWriter().text(1, name).message(6, graph).integer(20, 5);
}
inline WireWriter reference(std::string_view name, std::string_view outer, int type) {
  return WireWriter().text(1, name).text(21, outer).integer(20, type);
}

inline WireWriter node(std::string_view op, const Names& in, const Names& out,
                       const std::vector<WireWriter>& attributes = {}, std::string_view name = {},
                       std::string_view domain = {}) {
  WireWriter n;
  for (const auto& s : in) n.text(1, s);
  for (const auto& s : out) n.text(2, s);
  if (!name.empty()) n.text(3, name);
  n.text(4, op);
  for (const auto& a : attributes) n.message(5, a);
  if (!domain.empty()) n.text(7, domain);
  return n;
}

/// A tensor type; sizes below zero are named "N".
inline WireWriter type(const std::vector<std::int64_t>& dims, DType dtype = DType::f32) {
  WireWriter shape;
  for (std::int64_t d : dims)
    shape.message(1, d < 0 ? WireWriter().text(2, "N") : WireWriter().integer(1, d));
  return WireWriter().message(1, WireWriter().integer(1, onnx_dtype(dtype)).message(2, shape));
}
inline WireWriter value_info(std::string_view name, const WireWriter& t) {
  return WireWriter().text(1, name).message(2, t);
}

inline WireWriter tensor(std::string_view name, const Tensor& t) {
  WireWriter w;
  w.integers(1, t.dims()).integer(2, onnx_dtype(t.dtype())).text(8, name);
  w.text(9, {reinterpret_cast<const char*>(t.raw()), t.bytes()});
  return w;
}

struct GraphParts {
  std::vector<WireWriter> nodes, initializers, inputs, outputs;
};
inline WireWriter graph(const GraphParts& parts, std::string_view name = "g") {
  WireWriter g;
  for (const auto& n : parts.nodes) g.message(1, n);
  g.text(2, name);
  for (const auto& t : parts.initializers) g.message(5, t);
  for (const auto& v : parts.inputs) g.message(11, v);
  for (const auto& v : parts.outputs) g.message(12, v);
  return g;
}
inline WireWriter opset(std::int64_t version, std::string_view domain = {}) {
  return WireWriter().text(1, domain).integer(2, version);
}
inline std::string model(const WireWriter& g, int version = 20,
                         const std::vector<WireWriter>& functions = {}) {
  WireWriter m;
  m.integer(1, 9).message(7, g).message(8, opset(version)).message(8, opset(1, "local"));
  for (const auto& f : functions) m.message(25, f);
  return m.bytes();
}

}  // namespace tenon::onnx::testing
