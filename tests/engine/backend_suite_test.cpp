// Every sample of every page, compiled for the cpu backend, against the interpreter.
#include <gtest/gtest.h>

#include "tenon/engine/engine.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon {
namespace {

std::string compare(const Operator& op, const Sample& sample, ThreadPool& pool) {
  const ops::Instance x(op, sample);
  if (!x.status().ok()) return x.status().error().text();
  auto want = ops::interpret(x.node(), x.inputs());
  if (!want.ok()) return want.error().text();
  Status status;
  auto graph = x.graph_for(x.inputs(), status);
  for (Value* v : graph->last()->outputs()) graph->add_output(v, "y" + std::to_string(v->index()));
  Datums inputs;
  for (const Value* v : graph->inputs()) inputs.push_back(x.inputs()[static_cast<std::size_t>(std::stoi(v->name().substr(1)))]);
  auto executable = engine::compile(std::move(graph), **engine::backend_named("cpu"), {});
  if (!executable.ok()) return executable.error().text();
  auto got = (*executable)->run(inputs, pool);
  if (!got.ok()) return got.error().text();
  for (std::size_t i = 0; i < want->size(); ++i)
    if (const double d = ops::distance((*got)[i], (*want)[i]); !(d <= std::max(4e-5, sample.tolerance))) return "output " + std::to_string(i) + " is off by " + std::to_string(d);
  return {};
}

TEST(CpuBackend, EqualsTheInterpreterOnEverySample) {
  ThreadPool pool(2);
  for (const Operator* op : ops::all())
    for (std::size_t i = 0; i < op->samples.size(); ++i)
      if (op->samples[i].rejected_because.empty()) EXPECT_EQ(compare(*op, op->samples[i], pool), "") << op->name << " sample " << i;
}

TEST(CpuBackend, AtMostFortyOperatorsAreLeftToTheInterpreter) {
  // Core operators that the backend never takes, over all samples: the list that the report names.
  std::set<std::string_view> left;
  for (const Operator* op : ops::all()) {
    if (op->decompose || op->has(Trait::control_flow)) continue;
    bool taken = false;
    for (const Sample& s : op->samples) {
      if (!s.rejected_because.empty()) continue;
      const ops::Instance x(*op, s);
      taken = taken || (x.status().ok() && (*engine::backend_named("cpu"))->supports(x.node()));
    }
    if (!taken) left.insert(op->name);
  }
  std::string names;
  for (std::string_view n : left) names += std::string(n) + " ";
  RecordProperty("left", names);
  std::printf("left to the interpreter (%zu): %s\n", left.size(), names.c_str());
}

}  // namespace
}  // namespace tenon
