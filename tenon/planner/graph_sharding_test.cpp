// Tensor parallelism that follows from the sharding facets, against the layers as they are known.
#include "tenon/planner/graph_sharding.h"

#include <gtest/gtest.h>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/planner/graph_workload.h"
#include "tenon/planner/pricer.h"

namespace tenon::planner {
namespace {

constexpr int kTokens = 16, kHidden = 64, kHeads = 8;

/// A graph under construction whose weights are zeros.
struct Drawing {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>("drawn");
  GraphBuilder g{*graph, ops::table()};
  Value* x = graph->add_input("x", Type(DType::f32, {Dim::symbol("batch"), kTokens, kHidden}));

  Value* call(const char* op, Values inputs, Attrs attrs = {}) {
    return g.call(g.op(op), std::move(inputs), std::move(attrs))[0];
  }
  Value* weight(Dims dims) { return graph->add_constant("w", Tensor::zeros(DType::f32, dims)); }
  Value* shape(std::vector<std::int64_t> sizes) {
    return g.constant(Tensor::vector<std::int64_t>(sizes));
  }
  Value* product(Value* a, int to) {
    const int from = static_cast<int>(a->type().dim(-1).value());
    return call("matmul", {a, weight({from, to})});
  }
  Value* heads(Value* a) {
    Value* cut = call("reshape", {a, shape({0, kTokens, kHeads, kHidden / kHeads})});
    return call("transpose", {cut}, {{"perm", Attr::Integers{0, 2, 1, 3}}});
  }
  /// x + projection(softmax(q k) v).
  Value* attention(Value* in) {
    Value *q = heads(product(in, kHidden)), *k = heads(product(in, kHidden)),
          *v = heads(product(in, kHidden));
    Value* turned = call("transpose", {k}, {{"perm", Attr::Integers{0, 1, 3, 2}}});
    Value* mixed = call("matmul", {call("softmax", {call("matmul", {q, turned})}), v});
    Value* back = call("transpose", {mixed}, {{"perm", Attr::Integers{0, 2, 1, 3}}});
    Value* joined = call("reshape", {back, shape({0, kTokens, kHidden})});
    return call("add", {in, product(joined, kHidden)});
  }
  GraphDivision divided(Value* y) {
    EXPECT_TRUE(g.status().ok()) << g.status().error().text();
    graph->add_output(y, "y");
    return *divide(*graph, {{"batch", 1}}, {graph->last()});
  }
};

struct Totals {
  int reduces = 0, reduces_backward = 0;
  double bytes = 0, bytes_backward = 0;
};
Totals totals(const GraphDivision& division) {
  Totals t;
  for (const auto& [node, part] : division.nodes) {
    t.reduces += part.reduces, t.reduces_backward += part.reduces_backward;
    t.bytes += part.reduce_bytes, t.bytes_backward += part.reduce_bytes_backward;
  }
  return t;
}

constexpr double kBoundary = 2.0 * kTokens * kHidden;

TEST(GraphSharding, AttentionIsDividedByHeadsWithOneReductionEachWay) {
  Drawing d;
  const GraphDivision division = d.divided(d.attention(d.x));
  const Totals t = totals(division);
  EXPECT_EQ(division.weights.size(), 4u);
  EXPECT_EQ(division.divisor, kHeads);
  EXPECT_EQ(t.reduces, 1);
  EXPECT_EQ(t.reduces_backward, 1);
  EXPECT_DOUBLE_EQ(t.bytes, kBoundary);
  EXPECT_DOUBLE_EQ(t.bytes_backward, kBoundary);
}

TEST(GraphSharding, QueryKeyAndValueInOneProductAreDividedToo) {
  Drawing d;
  Value* packed = d.product(d.x, 3 * kHidden);
  Value* cut = d.call("reshape", {packed, d.shape({0, kTokens, 3, kHeads, kHidden / kHeads})});
  const GraphDivision division = d.divided(cut);
  // By heads: the columns of the weight may lie in any order.
  EXPECT_EQ(division.weights.size(), 1u);
  EXPECT_EQ(division.divisor, kHeads);
}

TEST(GraphSharding, ANormGathersWhatIsDivided) {
  Drawing d;
  const GraphDivision division = d.divided(d.call("layer_norm", {d.product(d.x, 2 * kHidden)}));
  const Totals t = totals(division);
  EXPECT_EQ(division.weights.size(), 1u);
  // A gather is half an all-reduce; the gradient of x is a sum over the peers.
  EXPECT_DOUBLE_EQ(t.bytes, 2 * kBoundary / 2);
  EXPECT_DOUBLE_EQ(t.bytes_backward, kBoundary);
}

TEST(GraphSharding, WhatFewPeersDivideStaysWhole) {
  Drawing d;
  const GraphDivision division = d.divided(d.product(d.x, 6));
  EXPECT_TRUE(division.weights.empty());
  EXPECT_EQ(division.divisor, 1);
}

TEST(GraphSharding, TensorPeersShareWorkParametersAndMemory) {
  Drawing d;
  Value* y = d.x;
  for (int i = 0; i < 4; ++i)
    y = d.call("add", {y, d.product(d.call("tanh", {d.product(d.attention(y), 256)}), kHidden)});
  ASSERT_TRUE(d.g.status().ok());
  d.graph->add_output(y, "y");
  const auto w = workload_of(*d.graph, {.symbols = {{"batch", 1}}});
  ASSERT_TRUE(w.ok()) << w.error().text();
  Pricer pricer(*w, *uniform_cluster("H100-SXM", 8));
  Plan whole, divided;
  whole.data_parallel = 8, whole.micro_batch = 8, whole.global_batch = 64;
  divided = whole;
  divided.data_parallel = 1, divided.tensor_parallel = 8;
  const Price a = pricer.price(whole), b = pricer.price(divided);
  EXPECT_NEAR(b.memory.weights * 8, a.memory.weights, 0.02 * a.memory.weights);
  EXPECT_LT(b.memory.activations, a.memory.activations);
  EXPECT_GT(b.exposed_communication_seconds, 0);
}

}  // namespace
}  // namespace tenon::planner
