// Every sample of every page, compiled for the cpu backend, against the interpreter.
#include <gtest/gtest.h>

#include "tenon/engine/engine.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon {
namespace {

// One unit in the last place of a half float: composed operators round once where the interpreter
// rounds after every part.
double unit_of(const Datum& d) {
  if (!d.is_tensor()) return 0;
  if (d.tensor().dtype() == DType::bf16) return 0x1p-7;
  return d.tensor().dtype() == DType::f16 ? 0x1p-10 : 0;
}

std::string compare(const Operator& op, const Sample& sample, ThreadPool& pool) {
  const ops::Instance x(op, sample);
  if (!x.status().ok()) return x.status().error().text();
  auto want = ops::interpret(x.node(), x.inputs());
  if (!want.ok()) return want.error().text();
  Status status;
  auto graph = x.graph_for(x.inputs(), status);
  for (Value* v : graph->last()->outputs()) graph->add_output(v, "y" + std::to_string(v->index()));
  Datums inputs;
  for (const Value* v : graph->inputs())
    inputs.push_back(x.inputs()[static_cast<std::size_t>(std::stoi(v->name().substr(1)))]);
  auto executable = engine::compile(std::move(graph), **engine::backend_named("cpu"), {});
  if (!executable.ok()) return executable.error().text();
  auto got = (*executable)->run(inputs, pool);
  if (!got.ok()) return got.error().text();
  for (std::size_t i = 0; i < want->size(); ++i)
    if (const double d = ops::distance((*got)[i], (*want)[i]);
        !(d <= std::max({4e-5, sample.tolerance, unit_of((*want)[i])})))
      return "output " + std::to_string(i) + " is off by " + std::to_string(d);
  return {};
}

TEST(CpuBackend, EqualsTheInterpreterOnEverySample) {
  ThreadPool pool(2);
  for (const Operator* op : ops::all())
    for (std::size_t i = 0; i < op->samples.size(); ++i)
      if (op->samples[i].rejected_because.empty())
        EXPECT_EQ(compare(*op, op->samples[i], pool), "") << op->name << " sample " << i;
}

// Shapes that take each of the backend's own convolutions: pictures, 3 x 3 and other depthwise
// filters, pointwise ones, with strides, pads and borders.
TEST(CpuBackend, OwnConvolutionsEqualTheInterpreter) {
  ThreadPool pool(2);
  const auto attrs = [](std::int64_t group, Attr::Integers strides, Attr::Integers pads) {
    return Attrs{{"group", group}, {"strides", std::move(strides)}, {"pads", std::move(pads)}};
  };
  const Operator& conv = *ops::find("conv");
  const std::vector<Sample> samples = {
      sample({{2, 3, 33, 40}, {6, 3, 5, 5}, {6}}).with(attrs(1, {2, 2}, {1, 1, 2, 2})),
      sample({{1, 1, 20, 64}, {4, 1, 3, 3}}).with(attrs(1, {1, 1}, {1, 1, 1, 1})),
      sample({{2, 5, 17, 19}, {5, 1, 3, 3}, {5}}).with(attrs(5, {1, 1}, {1, 1, 1, 1})),
      sample({{1, 5, 17, 19}, {5, 1, 3, 3}}).with(attrs(5, {2, 1}, {0, 2, 1, 1})),
      sample({{1, 4, 16, 18}, {4, 1, 5, 5}, {4}}).with(attrs(4, {2, 2}, {2, 2, 2, 2})),
      sample({{2, 7, 9, 11}, {13, 7, 1, 1}, {13}}).with(attrs(1, {1, 1}, {0, 0, 0, 0})),
      sample({{1, 6, 40}, {6, 1, 3}, {6}}).with(attrs(6, {1}, {1, 1})),
      sample({{1, 16, 12, 12}, {32, 16, 3, 3}, {32}}).with(attrs(1, {1, 1}, {1, 1, 1, 1}))};
  for (std::size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(compare(conv, samples[i], pool), "") << "sample " << i;
}

}  // namespace
}  // namespace tenon
