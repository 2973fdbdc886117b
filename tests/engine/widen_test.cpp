// Half floats on the cpu backend: computed in f32, rounded where the graph asks for it.
#include <gtest/gtest.h>

#include "tenon/engine/engine.h"
#include "tenon/ir/text.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

Tensor ramp(DType dtype, Dims dims) {
  std::vector<double> v(static_cast<std::size_t>(num_elements(dims)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>((i * 37) % 11) * 0.25 - 1;
  return from_doubles(v, dtype, std::move(dims));
}

// y = relu(conv(x, w) + b) in half floats, with the convolution as second output.
std::unique_ptr<Graph> network(DType half, bool shows_both) {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", Type(half, {1, 3, 9, 9}));
  GraphBuilder builder(*g, ops::table());
  ops::B b(builder);
  Value* h = b.conv(x, b.constant(ramp(half, {4, 3, 3, 3})));
  Value* y = b.relu(b.add(h, b.constant(ramp(half, {4, 1, 1}))));
  EXPECT_TRUE(builder.status().ok());
  g->add_output(y, "y");
  if (shows_both) g->add_output(h, "h");
  return g;
}

int casts_in(const Graph& graph) {
  int n = 0;
  for (const Node* node : graph.nodes()) {
    n += node->op().name == "cast";
    for (const auto& r : node->regions()) n += casts_in(*r);
  }
  return n;
}

class Halves : public testing::TestWithParam<DType> {};

TEST_P(Halves, AreComputedNativelyAndRoundedOnce) {
  for (bool shows_both : {false, true}) {
    auto graph = network(GetParam(), shows_both);
    engine::CompileReport report;
    auto executable = engine::compile(graph->clone(), **engine::backend_named("cpu"), {}, &report);
    ASSERT_TRUE(executable.ok()) << executable.error().text();
    EXPECT_TRUE(report.fallbacks.empty()) << report.fallbacks[0].op;
    // One cast in, and one for each output.
    EXPECT_EQ(casts_in((*executable)->graph()), shows_both ? 3 : 2)
        << to_text((*executable)->graph());
    ThreadPool pool(2);
    const Datums inputs = {Datum(ramp(GetParam(), {1, 3, 9, 9}))};
    auto got = (*executable)->run(inputs, pool), want = ops::interpret(*graph, inputs);
    ASSERT_TRUE(got.ok() && want.ok());
    for (std::size_t i = 0; i < want->size(); ++i) {
      const Tensor &a = (*got)[i].tensor(), &b = (*want)[i].tensor();
      ASSERT_EQ(a.dtype(), GetParam());
      for (std::int64_t k = 0; k < b.count(); ++k)
        ASSERT_NEAR(element(a, k), element(b, k), GetParam() == DType::f16 ? 2e-2 : 0.2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Halves, testing::Values(DType::f16, DType::bf16));

int rewrites_of(const Graph& graph) {
  passes::PassContext context;
  context.backend = *engine::backend_named("cpu");
  auto copy = graph.clone();
  auto records = passes::run_passes(*copy, {"widen", "widen"}, context);
  EXPECT_TRUE(records.ok());
  EXPECT_EQ((*records)[1].rewrites, 0);
  return (*records)[0].rewrites;
}

TEST(Widen, LeavesWhatTheBackendDoesInHalves) {
  auto g = std::make_unique<Graph>();
  Value* i = g->add_input("i", Type(DType::i64, {5}));
  GraphBuilder builder(*g, ops::table());
  ops::B b(builder);
  Value* rows = b.gather(b.constant(ramp(DType::f16, {100, 8})), i);
  g->add_output(b.transpose(b.mul(rows, rows)), "y");
  EXPECT_EQ(rewrites_of(*g), 0);
  EXPECT_EQ(rewrites_of(*network(DType::f32, true)), 0);
  EXPECT_GT(rewrites_of(*network(DType::f16, true)), 0);
}

TEST(Widen, KeepsTheRoundingOfTheModelsOwnCasts) {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", Type(DType::f32, {2, 2}));
  GraphBuilder builder(*g, ops::table());
  ops::B b(builder);
  Value* half = b.cast_to(x, DType::f16);
  g->add_output(b.cast_to(b.matmul(half, b.constant(ramp(DType::f16, {2, 2}))), DType::f32), "y");
  auto executable = engine::compile(g->clone(), **engine::backend_named("cpu"), {});
  ASSERT_TRUE(executable.ok());
  ThreadPool pool(1);
  const Datums inputs = {Datum(Tensor::of<float>({2, 2}, std::vector<float>{1.00049f, 3, 5, 7}))};
  auto got = (*executable)->run(inputs, pool), want = ops::interpret(*g, inputs);
  ASSERT_TRUE(got.ok() && want.ok());
  for (std::int64_t k = 0; k < 4; ++k)
    EXPECT_NEAR(element((*got)[0].tensor(), k), element((*want)[0].tensor(), k), 1e-2);
}

}  // namespace
}  // namespace tenon
