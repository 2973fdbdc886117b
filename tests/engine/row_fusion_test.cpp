// fuse_rows on the forms that exporters write: one kernel each, equal to the interpreter.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/engine/engine.h"
#include "tenon/ir/text.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon {
namespace {

using ops::B;

Tensor noise(Dims dims, double low = -2, double high = 2) {
  Tensor t(DType::f32, std::move(dims));
  std::uint32_t state = 12345;
  for (float& x : t.data<float>()) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(low + (high - low) * (state >> 8) / 16777216.0);
  }
  return t;
}

using Build = std::function<Values(B g, Value* x)>;

std::unique_ptr<Graph> graph_of(const Dims& dims, const Build& build) {
  auto g = std::make_unique<Graph>();
  Shape shape(dims.begin(), dims.end());
  GraphBuilder builder(*g, ops::table());
  const Values ys = build(B(builder), g->add_input("x", Type(DType::f32, shape)));
  EXPECT_TRUE(builder.status().ok()) << builder.status().error().text();
  for (std::size_t i = 0; i < ys.size(); ++i) g->add_output(ys[i], "y" + std::to_string(i));
  return g;
}

int count_nodes(const Graph& g, std::string_view op = {}) {
  int n = 0;
  for (const Node* node : g.nodes())
    n += op.empty() ? !node->op().has(Trait::view) : node->op().name == op;
  return n;
}

// Compiles with every pass, compares with the interpreter; returns the kernels that are left.
int kernels_of(const std::string& name, const Dims& dims, const Build& build,
               double tolerance = 2e-5) {
  SCOPED_TRACE(name);
  auto graph = graph_of(dims, build);
  const Datums inputs = {Datum(noise(dims))};
  auto want = ops::interpret(*graph, inputs);
  EXPECT_TRUE(want.ok());
  engine::CompileReport report;
  auto executable = engine::compile(std::move(graph), **engine::backend_named("cpu"), {}, &report);
  EXPECT_TRUE(executable.ok());
  if (!want.ok() || !executable.ok()) return -1;
  EXPECT_TRUE(report.fallbacks.empty());
  ThreadPool pool(2);
  auto got = (*executable)->run(inputs, pool);
  EXPECT_TRUE(got.ok());
  for (std::size_t i = 0; got.ok() && i < want->size(); ++i)
    EXPECT_LE(ops::distance((*got)[i], (*want)[i]), tolerance) << "output " << i;
  return count_nodes((*executable)->graph());
}

Value* mean(B g, Value* x, std::vector<std::int64_t> axes = {-1}) {
  return g.reduce_mean(x, g.ints(axes));
}

// ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add
Values exported_layer_norm(B g, Value* x) {
  Value* d = g.sub(x, mean(g, x));
  Value* variance = mean(g, g.pow(d, g.number(2, x)));
  Value* n = g.div(d, g.sqrt(g.add(variance, g.number(1e-5, x))));
  return {g.add(g.mul(n, g.constant(noise({50}))), g.constant(noise({50})))};
}
// ReduceMax, Sub, Exp, ReduceSum, Div
Values exported_softmax(B g, Value* x) {
  Value *axis = g.ints({-1}), *e = g.exp(g.sub(x, g.reduce_max(x, axis)));
  return {g.div(e, g.reduce_sum(e, axis))};
}
Values exported_rms_norm(B g, Value* x) {
  Value* r = g.reciprocal(g.sqrt(g.add(mean(g, g.pow(x, g.number(2, x))), g.number(1e-6, x))));
  return {g.mul(g.constant(noise({50})), g.mul(x, r))};
}

TEST(FuseRows, ExportedFormsBecomeOneKernel) {
  EXPECT_EQ(kernels_of("layer norm", {3, 7, 50}, exported_layer_norm), 1);
  EXPECT_EQ(kernels_of("softmax", {3, 7, 50}, exported_softmax), 1);
  EXPECT_EQ(kernels_of("rms norm", {3, 7, 50}, exported_rms_norm), 1);
  EXPECT_EQ(kernels_of("erf gelu", {3, 50},
                       [](B g, Value* x) {
                         Value* e = g.erf(g.div(x, g.number(std::sqrt(2.0), x)));
                         return Values{g.mul(g.mul(x, g.add(e, g.number(1, x))), g.number(0.5, x))};
                       }),
            1);
  EXPECT_EQ(kernels_of("tanh gelu", {3, 50},
                       [](B g, Value* x) {
                         Value* cube = g.mul(g.pow(x, g.number(3, x)), g.number(0.044715, x));
                         Value* t = g.tanh(g.mul(g.add(x, cube), g.number(0.7978845608, x)));
                         return Values{g.mul(g.mul(x, g.number(0.5, x)), g.add(t, g.number(1, x)))};
                       }),
            1);
  EXPECT_EQ(
      kernels_of("silu", {3, 50}, [](B g, Value* x) { return Values{g.mul(x, g.sigmoid(x))}; }), 1);
}

TEST(FuseRows, PagesBecomeOneKernel) {
  EXPECT_EQ(kernels_of("softmax", {4, 33}, [](B g, Value* x) { return Values{g.softmax(x)}; }), 1);
  EXPECT_EQ(kernels_of("softmax over channels", {2, 9, 5, 11},
                       [](B g, Value* x) { return Values{g.softmax(x, Attrs{{"axis", 1}})}; }),
            1);
  EXPECT_EQ(
      kernels_of("log softmax", {4, 33}, [](B g, Value* x) { return Values{g.log_softmax(x)}; }),
      1);
  EXPECT_EQ(
      kernels_of("layer norm of a sum", {4, 5, 70},
                 [](B g, Value* x) {
                   Value* h = g.add(x, g.mul(x, x));
                   return Values{g.layer_norm(h, g.constant(noise({70})), g.constant(noise({70})))};
                 }),
      1);
  EXPECT_EQ(
      kernels_of("rms norm", {4, 70},
                 [](B g, Value* x) { return Values{g.rms_norm(x, g.constant(noise({70})))}; }),
      1);
  EXPECT_EQ(kernels_of("instance norm", {2, 3, 8, 9},
                       [](B g, Value* x) {
                         return Values{
                             g.instance_norm(x, g.constant(noise({3})), g.constant(noise({3})))};
                       }),
            1);
  EXPECT_EQ(kernels_of("mean over pictures", {2, 3, 8, 9},
                       [](B g, Value* x) { return Values{mean(g, g.relu(x), {2, 3})}; }),
            1);
  EXPECT_EQ(kernels_of("mean over a batch", {6, 3, 8, 9},
                       [](B g, Value* x) { return Values{g.sub(x, mean(g, x, {0, 2, 3}))}; }),
            1);
  EXPECT_EQ(kernels_of("sum over rows", {40, 33},
                       [](B g, Value* x) {
                         return Values{
                             g.reduce_sum(g.mul(x, x), g.ints({0}), Attrs{{"keepdims", false}})};
                       }),
            1);
}

// Gradients of softmax and of a normalisation, and results that others read too.
TEST(FuseRows, SeveralResultsComeFromOneKernel) {
  EXPECT_EQ(kernels_of("residual", {4, 70},
                       [](B g, Value* x) {
                         Value* h = g.add(x, g.number(0.5, x));
                         return Values{g.layer_norm(h), h};
                       }),
            1);
  EXPECT_EQ(kernels_of("statistics", {4, 70},
                       [](B g, Value* x) {
                         Values out = g.all_of("layer_norm", {x});
                         return out;
                       }),
            1);
  EXPECT_EQ(kernels_of("softmax gradient", {4, 70},
                       [](B g, Value* x) {
                         Value *y = g.sigmoid(x), *dy = g.mul(x, x);
                         Value* s = g.reduce_sum(g.mul(dy, y), g.ints({-1}));
                         return Values{g.mul(y, g.sub(dy, s))};
                       }),
            1);
}

// A division that becomes a product with the reciprocal keeps tiny, huge and special divisors.
TEST(FuseRows, DivisionByARowValueKeepsItsRange) {
  for (double size : {1e-42, 1e-39, 1.0, 1e30, 3e38}) {
    auto graph = graph_of({4, 5}, [&](B g, Value* x) {
      Value* scaled = g.mul(x, g.number(size, x));
      return Values{g.div(scaled, g.reduce_max(scaled, g.ints({-1})))};
    });
    const Datums inputs = {Datum(noise({4, 5}, 0.5, 1))};
    auto want = ops::interpret(*graph, inputs);
    auto executable = engine::compile(std::move(graph), **engine::backend_named("cpu"), {});
    ASSERT_TRUE(want.ok() && executable.ok());
    ThreadPool pool(1);
    auto got = (*executable)->run(inputs, pool);
    ASSERT_TRUE(got.ok());
    EXPECT_LE(ops::distance((*got)[0], (*want)[0]), 1e-6) << size;
  }
}

std::pair<int, std::unique_ptr<Graph>> rewritten(const Dims& dims, const Build& build) {
  auto graph = graph_of(dims, build);
  passes::PassContext context;
  context.backend = *engine::backend_named("cpu");
  auto first = passes::run_passes(*graph, {"legalize", "dead_code", "fuse_rows"}, context);
  EXPECT_TRUE(first.ok());
  const std::string text = to_text(*graph);
  auto again = passes::run_passes(*graph, {"fuse_rows"}, context);
  EXPECT_TRUE(again.ok());
  EXPECT_EQ((*again)[0].rewrites, 0);
  EXPECT_EQ(to_text(*graph), text);
  return {(*first)[2].rewrites, std::move(graph)};
}

TEST(FuseRows, DoesNotFire) {
  // alone, nothing is saved
  EXPECT_EQ(
      rewritten({4, 5}, [](B g, Value* x) { return Values{g.reduce_sum(x, g.ints({-1}))}; }).first,
      0);
  // axes that the run computes
  EXPECT_EQ(rewritten({4, 5},
                      [](B g, Value* x) {
                        Value* axes = g.cast(g.reshape(g.reduce_max(x), g.ints({1})),
                                             Attrs{{"to", DType::i64}});
                        return Values{g.exp(g.reduce_sum(x, g.mul(axes, g.ints({0}))))};
                      })
                .first,
            0);
  // other axes stay out of the group
  auto [fused, graph] = rewritten({4, 5}, [](B g, Value* x) {
    Value* rows = g.reduce_sum(x, g.ints({1}));
    return Values{g.exp(rows), g.exp(g.reduce_sum(x, g.ints({0})))};
  });
  EXPECT_EQ(fused, 2);
  // the group stays convex: a product in between keeps the parts apart
  auto [parts, between] = rewritten({5, 5}, [](B g, Value* x) {
    Value* y = exported_softmax(g, x)[0];
    return Values{g.add(g.matmul(y, y), y)};
  });
  EXPECT_EQ(parts, 1);
  EXPECT_EQ(count_nodes(*between, "add"), 1);
}

TEST(FuseRows, Golden) {
  auto [fused, graph] = rewritten({2, 3}, exported_softmax);
  EXPECT_EQ(fused, 1);
  const std::string text = to_text(*graph);
  EXPECT_EQ(count_nodes(*graph, "fused"), 1) << text;
  EXPECT_EQ(count_nodes(*graph), 1) << text;
  const Graph& region = *graph->last()->regions()[0];
  std::string ops;
  for (const Node* n : region.nodes()) ops += std::string(n->op().name) + " ";
  EXPECT_EQ(ops, "reduce_max sub exp reduce_sum div ");
}

}  // namespace
}  // namespace tenon
