// Graphs against the dense formulas: the same layer both ways.
#include "tenon/planner/graph_workload.h"

#include <gtest/gtest.h>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/planner/layer_builders_internal.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {
namespace {

constexpr int kTokens = 64, kHidden = 32, kWidth = 128;

/// `layers` times x + down(gelu(up(x))), of a batch of `batch` samples.
std::unique_ptr<Graph> feed_forward_stack(int layers) {
  auto graph = std::make_unique<Graph>("stack");
  GraphBuilder g(*graph, ops::table());
  Value* x = graph->add_input("x", Type(DType::f32, {Dim::symbol("batch"), kTokens, kHidden}));
  const auto call = [&](const char* op, Values inputs) {
    return g.call(g.op(op), std::move(inputs))[0];
  };
  for (int i = 0; i < layers; ++i) {
    Value* up = graph->add_constant("up", Tensor::zeros(DType::f32, {kHidden, kWidth}));
    Value* down = graph->add_constant("down", Tensor::zeros(DType::f32, {kWidth, kHidden}));
    Value* inner = call("tanh", {call("matmul", {x, up})});
    x = call("add", {x, call("matmul", {inner, down})});
  }
  EXPECT_TRUE(g.status().ok());
  graph->add_output(x, "y");
  return graph;
}

TEST(GraphWorkload, LayersOfAGraphAreTheDenseFormulas) {
  const auto graph = feed_forward_stack(6);
  const auto w = workload_of(*graph, {.symbols = {{"batch", 4}}, .samples = 4});
  ASSERT_TRUE(w.ok()) << w.error().text();
  // Six equal layers, one class.
  EXPECT_EQ(w->blocks.size(), 6u);
  EXPECT_EQ(w->classes.size(), 1u);
  EXPECT_DOUBLE_EQ(w->num_parameters(), 6.0 * 2 * kHidden * kWidth);
  EXPECT_DOUBLE_EQ(w->model_flops(), 3 * 6 * 4.0 * kTokens * kHidden * kWidth);
  EXPECT_DOUBLE_EQ(w->block_types[0].boundary_bytes, 2.0 * kTokens * kHidden);
  // The products are those of the dense layer's own operators.
  ModelSpec spec;
  spec.hidden = kHidden, spec.ffn = kWidth;
  StackSizes s;
  s.tokens = kTokens, s.hidden = kHidden, s.spec = &spec;
  std::vector<LayerOp> dense, derived;
  for (const auto& op : ffn_layer(s, kWidth).ops)
    if (op.kind == OpKind::matmul) dense.push_back(op);
  for (const auto& op : w->classes[0].ops)
    if (op.kind == OpKind::matmul) derived.push_back(op);
  ASSERT_EQ(dense.size(), derived.size());
  for (std::size_t i = 0; i < dense.size(); ++i) {
    EXPECT_EQ(dense[i].rows, derived[i].rows);
    EXPECT_EQ(dense[i].inner, derived[i].inner);
    EXPECT_EQ(dense[i].columns, derived[i].columns);
  }
}

TEST(GraphWorkload, CanBePlannedAndSaysWhatIsMissing) {
  const auto graph = feed_forward_stack(8);
  const auto w = workload_of(*graph, {.symbols = {{"batch", 1}}});
  ASSERT_TRUE(w.ok());
  Pricer pricer(*w, *uniform_cluster("H100-SXM", 8));
  Plan plan;
  plan.pipeline_parallel = 4, plan.data_parallel = 2, plan.global_batch = 64, plan.micro_batch = 4;
  std::vector<StagePrediction> stages;
  EXPECT_GT(pricer.price(plan, &stages).step_seconds, 0);
  for (const auto& stage : stages) EXPECT_EQ(stage.layers, 2);
  const auto unbound = workload_of(*graph, {});
  ASSERT_FALSE(unbound.ok());
  EXPECT_NE(unbound.error().text().find("batch"), std::string::npos);
}

}  // namespace
}  // namespace tenon::planner
