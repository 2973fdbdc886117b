// One call on given tensors, forward and backward, through the interpreter.
#include "tests/ops/values.h"

#include <gtest/gtest.h>

#include "tenon/ops/interpreter.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon::ops {
namespace {

// The call in a graph of its own, all inputs constants.
Values build(GraphBuilder& builder, std::string_view op, const std::vector<Tensor>& inputs,
             const Attrs& attrs) {
  Values values;
  for (const Tensor& t : inputs)
    values.push_back(t.defined() ? builder.graph().add_constant({}, t) : nullptr);
  return builder.call(builder.op(op), values, attrs);
}

}  // namespace

Result<Datums> call(std::string_view op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  Graph graph;
  GraphBuilder builder(graph, table());
  for (Value* v : build(builder, op, inputs, attrs)) graph.add_output(v, "y");
  TENON_TRY(builder.take_status());
  return interpret(graph, {});
}

std::vector<Tensor> gradients(std::string_view op, const std::vector<Tensor>& inputs,
                              const Tensor& dy, const Attrs& attrs) {
  Graph graph;
  GraphBuilder builder(graph, table());
  const Node* node = build(builder, op, inputs, attrs)[0]->producer();
  TENON_CHECK(builder.status().ok(), "{}", builder.status().error().text());
  Values dys(node->outputs().size(), nullptr);
  dys[0] = builder.constant(dy);
  const Values dxs = node->op().gradient(builder, Call(*node), dys);
  TENON_CHECK(builder.status().ok(), "{}", builder.status().error().text());
  for (Value* dx : dxs)
    if (dx) graph.add_output(dx, "dx");
  auto found = interpret(graph, {});
  TENON_CHECK(found.ok(), "{}", found.ok() ? "" : found.error().text());
  std::vector<Tensor> out;
  std::size_t k = 0;
  for (const Value* dx : dxs) out.push_back(dx ? (*found)[k++].tensor() : Tensor());
  return out;
}

std::string differs(const Tensor& got, const Tensor& expected, double tolerance) {
  if (distance(Datum(got), Datum(expected)) <= tolerance) return {};
  std::string text = fmt::format("{} of", Type::of(got).text());
  for (std::int64_t k = 0; k < got.count() && got.dtype() != DType::string; ++k)
    text += fmt::format(" {}", element(got, k));
  return text;
}

std::string check_value(std::string_view op, const std::vector<Tensor>& inputs,
                        const Tensor& expected, const Attrs& attrs) {
  auto out = call(op, inputs, attrs);
  if (!out.ok()) return out.error().text();
  const std::string got = differs((*out)[0].tensor(), expected);
  return got.empty() ? got : fmt::format("{} gives {}", op, got);
}

void check_values(const std::vector<ValueCase>& cases) {
  for (const ValueCase& c : cases) EXPECT_EQ(check_value(c.op, c.inputs, c.expected, c.attrs), "");
}

}  // namespace tenon::ops
