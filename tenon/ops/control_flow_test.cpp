// Branches and iterations: what they compute, what is inferred of them, and their gradients against
// central differences.
#include "tests/ops/differentiate.h"

namespace tenon::ops {
namespace {

std::vector<std::unique_ptr<Graph>> regions(std::unique_ptr<Graph> a,
                                            std::unique_ptr<Graph> b = nullptr) {
  std::vector<std::unique_ptr<Graph>> all;
  all.push_back(std::move(a));
  if (b) all.push_back(std::move(b));
  return all;
}

// then: a * b, else: a + exp(b)
Example branch(bool condition) {
  Example e;
  auto yes = std::make_unique<Graph>("then"), no = std::make_unique<Graph>("else");
  for (Graph* g : {yes.get(), no.get()}) {
    GraphBuilder b(*g, table());
    Value *a = g->add_input("a", f64({2})), *c = g->add_input("b", f64({2}));
    g->add_output(g == yes.get() ? B(b).mul(a, c) : B(b).add(a, B(b).exp(c)), "y");
  }
  GraphBuilder b(*e.graph, table());
  Values in = {e.graph->add_input("condition", Type(DType::boolean, {})),
               e.graph->add_input("a", f64({2})), e.graph->add_input("b", f64({2}))};
  e.graph->add_output(b.call(*find("if_else"), in, {}, regions(std::move(yes), std::move(no)))[0],
                      "y");
  e.inputs = {Datum(Tensor::scalar(condition)), Datum(doubles({2}, {2, 3})),
              Datum(doubles({2}, {0.5, -1}))};
  EXPECT_TRUE(b.status().ok()) << b.status().error().text();
  return e;
}

// s <- s * w + x[t], y[t] = s^2: a recurrence over the rows of x with a captured weight
Example recurrence(Attrs directions) {
  Example e;
  auto body = std::make_unique<Graph>("body");
  GraphBuilder inner(*body, table());
  Value *s = body->add_input("s", f64({2})), *x = body->add_input("x", f64({2})),
        *w = body->add_input("w", f64({2}));
  Value* next = B(inner).add(B(inner).mul(s, w), x);
  body->add_output(next, "s");
  body->add_output(B(inner).mul(next, next), "y");
  GraphBuilder b(*e.graph, table());
  const Values in = {e.graph->add_input("s0", f64({2})), e.graph->add_input("xs", f64({3, 2})),
                     e.graph->add_input("w", f64({2}))};
  directions.set("num_states", 1);
  directions.set("num_scan_inputs", 1);
  const Values out = b.call(*find("scan"), in, directions, regions(std::move(body)));
  e.graph->add_output(out[0], "s");
  e.graph->add_output(out[1], "ys");
  e.inputs = {Datum(doubles({2}, {1, -1})), Datum(doubles({3, 2}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6})),
              Datum(doubles({2}, {0.5, 1.5}))};
  EXPECT_TRUE(b.status().ok()) << b.status().error().text();
  return e;
}

// s <- s * w + iteration while s.sum < limit, at most 10 times; the states are scan outputs too
Example bounded_loop() {
  Example e;
  auto body = std::make_unique<Graph>("body");
  GraphBuilder inner(*body, table());
  Value *i = body->add_input("i", Type(DType::i64, {})),
        *go = body->add_input("go", Type(DType::boolean, {}));
  Value *s = body->add_input("s", f64({2})), *w = body->add_input("w", f64({2}));
  (void)go;
  B g(inner);
  Value* next = g.add(g.mul(s, w), g.cast_to(i, DType::f64));
  body->add_output(g.less(g.reduce_sum(next, Attrs{{"keepdims", false}}), g.number(20, DType::f64)),
                   "go");
  body->add_output(next, "s");
  body->add_output(g.mul(next, s), "y");
  GraphBuilder b(*e.graph, table());
  const Values in = {b.constant(Tensor::scalar<std::int64_t>(10)), nullptr,
                     e.graph->add_input("s0", f64({2})), e.graph->add_input("w", f64({2}))};
  const Values out = b.call(*find("loop"), in, {{"num_carried", 1}}, regions(std::move(body)));
  e.graph->add_output(out[0], "s");
  e.graph->add_output(out[1], "ys");
  e.inputs = {Datum(doubles({2}, {1, 0.5})), Datum(doubles({2}, {1.3, 0.9}))};
  EXPECT_TRUE(b.status().ok()) << b.status().error().text();
  return e;
}

TEST(IfElse, RunsTheRegionOfItsCondition) {
  EXPECT_EQ(to_doubles(interpret(*branch(true).graph, branch(true).inputs).value()[0].tensor()),
            (std::vector<double>{1, -3}));
  EXPECT_NEAR(
      to_doubles(interpret(*branch(false).graph, branch(false).inputs).value()[0].tensor())[0],
      2 + std::exp(0.5), 1e-12);
}

TEST(IfElse, GradientEqualsCentralDifferences) {
  expect_central_differences(branch(true));
  expect_central_differences(branch(false));
}

TEST(IfElse, SizesThatDifferBecomeUnknown) {
  Graph graph;
  GraphBuilder b(graph, table());
  std::vector<std::unique_ptr<Graph>> branches;
  for (std::int64_t n : {2, 3}) {
    auto region = std::make_unique<Graph>(fmt::format("of{}", n));
    region->add_output(region->add_constant("k", Tensor::zeros(DType::f32, {n, 4})), "y");
    branches.push_back(std::move(region));
  }
  const Values out = b.call(*find("if_else"), {graph.add_input("c", Type(DType::boolean, {}))}, {},
                            std::move(branches));
  ASSERT_TRUE(b.status().ok()) << b.status().error().text();
  EXPECT_FALSE(out[0]->type().dim(0).is_constant());
  EXPECT_EQ(out[0]->type().dim(1), Dim(4));
}

TEST(IfElse, RefusesRegionsOfDifferentElementTypes) {
  Graph graph;
  GraphBuilder b(graph, table());
  std::vector<std::unique_ptr<Graph>> branches;
  for (DType d : {DType::f32, DType::i64}) {
    auto region = std::make_unique<Graph>("r");
    region->add_output(region->add_constant("k", Tensor::zeros(d, {2})), "y");
    branches.push_back(std::move(region));
  }
  b.call(*find("if_else"), {graph.add_input("c", Type(DType::boolean, {}))}, {},
         std::move(branches));
  ASSERT_FALSE(b.status().ok());
  EXPECT_NE(b.status().error().message.find("on one path"), std::string::npos)
      << b.status().error().text();
}

TEST(Scan, StacksSlicesInEveryDirection) {
  const Example e = recurrence({}), back = recurrence({{"scan_input_directions", Dims{1}},
                                                       {"scan_output_directions", Dims{1}},
                                                       {"scan_output_axes", Dims{-1}}});
  const Datums forward = interpret(*e.graph, e.inputs).value(),
               reversed = interpret(*back.graph, back.inputs).value();
  // First column by hand, w = 0.5: s = 0.6, 0.6, 0.8 forwards; backwards s = 1, 0.8, 0.5.
  const auto y = to_doubles(forward[1].tensor()), z = to_doubles(reversed[1].tensor());
  EXPECT_EQ(forward[1].tensor().dims(), (Dims{3, 2}));
  EXPECT_EQ(reversed[1].tensor().dims(), (Dims{2, 3}));
  EXPECT_NEAR(y[0], 0.36, 1e-12);
  EXPECT_NEAR(y[2], 0.36, 1e-12);
  EXPECT_NEAR(y[4], 0.64, 1e-12);
  EXPECT_NEAR(z[2], 1, 1e-12);
  EXPECT_NEAR(z[1], 0.64, 1e-12);
  EXPECT_NEAR(z[0], 0.25, 1e-12);
}

TEST(Scan, GradientEqualsCentralDifferences) {
  expect_central_differences(recurrence({}));
  expect_central_differences(recurrence({{"scan_input_directions", Dims{1}},
                                         {"scan_output_directions", Dims{1}},
                                         {"scan_output_axes", Dims{1}}}));
}

TEST(Scan, RefusesInputsOfDifferentLength) {
  Graph graph;
  GraphBuilder b(graph, table());
  auto body = std::make_unique<Graph>("body");
  body->add_output(body->add_input("x", f64({})), "x");
  body->add_input("y", f64({}));
  b.call(*find("scan"), {graph.add_input("x", f64({2})), graph.add_input("y", f64({3}))},
         {{"num_states", 0}, {"num_scan_inputs", 2}}, regions(std::move(body)));
  ASSERT_FALSE(b.status().ok());
  EXPECT_NE(b.status().error().message.find("another input's length"), std::string::npos)
      << b.status().error().text();
}

TEST(Loop, StopsAtItsCondition) {
  const Example e = bounded_loop();
  const Datums out = interpret(*e.graph, e.inputs).value();
  double a = 1, b = 0.5;
  std::int64_t n = 0;
  for (bool go = true; go && n < 10; ++n) {
    a = a * 1.3 + static_cast<double>(n);
    b = b * 0.9 + static_cast<double>(n);
    go = a + b < 20;
  }
  EXPECT_LT(n, 10);
  EXPECT_EQ(out[1].tensor().dims(), (Dims{n, 2}));
  EXPECT_NEAR(to_doubles(out[0].tensor())[0], a, 1e-9);
}

TEST(Loop, GradientEqualsCentralDifferences) { expect_central_differences(bounded_loop()); }

// s <- concat(s, s[0:1]): the carried size grows, so only its rank and element type hold
// throughout.
TEST(Loop, CarriedSizesThatChangeBecomeUnknown) {
  Graph graph;
  GraphBuilder b(graph, table());
  auto body = std::make_unique<Graph>("body");
  GraphBuilder inner(*body, table());
  B g(inner);
  body->add_input("i", Type(DType::i64, {}));
  Value *go = body->add_input("go", Type(DType::boolean, {})),
        *s = body->add_input("s", f64({2, 3}));
  body->add_output(go, "go");
  body->add_output(g.concat(s, g.slice(s, g.ints({0}), g.ints({1})), Attrs{{"axis", 0}}), "s");
  body->add_output(g.slice(s, g.ints({0}), g.ints({1})), "first");
  const Values in = {graph.add_input("n", Type(DType::i64, {})), nullptr,
                     graph.add_input("s", f64({2, 3}))};
  const Values out = b.call(*find("loop"), in, {{"num_carried", 1}}, regions(std::move(body)));
  ASSERT_TRUE(b.status().ok()) << b.status().error().text();
  ASSERT_EQ(out[0]->type().ndim(), 2);
  EXPECT_FALSE(out[0]->type().dim(0).is_constant());
  EXPECT_EQ(out[0]->type().dim(1), Dim(3));
  graph.add_output(out[0], "s");
  graph.add_output(out[1], "firsts");
  const auto run = [&](std::int64_t n) {
    return interpret(graph, {Datum(Tensor::scalar(n)), Datum(doubles({2, 3}, {1, 2, 3, 4, 5, 6}))})
        .value();
  };
  EXPECT_EQ(run(3)[0].tensor().dims(), (Dims{5, 3}));
  EXPECT_EQ(run(3)[1].tensor().dims(), (Dims{3, 1, 3}));
  EXPECT_EQ(run(0)[0].tensor().dims(), (Dims{2, 3}));
  EXPECT_EQ(run(0)[1].tensor().dim(0), 0);
}

TEST(Loop, KnownTripCountsMakeKnownSizes) {
  Graph graph;
  GraphBuilder b(graph, table());
  auto body = std::make_unique<Graph>("body");
  Value* i = body->add_input("i", Type(DType::i64, {}));
  body->add_output(body->add_input("go", Type(DType::boolean, {})), "go");
  body->add_output(i, "i");
  const Values out = b.call(*find("loop"), {b.constant(Tensor::scalar<std::int64_t>(4)), nullptr},
                            {{"num_carried", 0}}, regions(std::move(body)));
  ASSERT_TRUE(b.status().ok()) << b.status().error().text();
  EXPECT_EQ(out[0]->type().dim(0), Dim(4));
}

// Sizes that only the data tells have other names in a region than around it.
TEST(Regions, UnknownSizesOfDifferentGraphsAreDifferent) {
  Graph graph;
  GraphBuilder b(graph, table());
  auto yes = std::make_unique<Graph>("then"), no = std::make_unique<Graph>("else");
  for (Graph* r : {yes.get(), no.get()}) {
    GraphBuilder inner(*r, table());
    r->add_output(B(inner).non_zero(r->add_input("x", f64({4}))), "y");
  }
  Value *x = graph.add_input("x", f64({4})), *outer = B(b).non_zero(x);
  const Values out = b.call(*find("if_else"), {graph.add_input("c", Type(DType::boolean, {})), x},
                            {}, regions(std::move(yes), std::move(no)));
  ASSERT_TRUE(b.status().ok()) << b.status().error().text();
  const Node* node = out[0]->producer();
  const Dim in_then = node->regions()[0]->outputs()[0]->type().dim(1),
            in_else = node->regions()[1]->outputs()[0]->type().dim(1);
  EXPECT_FALSE(in_then == in_else);
  EXPECT_FALSE(in_then == outer->type().dim(1));
  EXPECT_FALSE(out[0]->type().dim(1) == in_then);
}

TEST(Regions, AreNotDifferentiatedByAPlainBuilder) {
  const Example e = branch(true);
  auto graph = e.graph->clone();
  GraphBuilder b(*graph, table());
  const Node* node = graph->last();
  node->op().gradient(b, Call(*node), Values{b.constant(doubles({2}, {1, 1}))});
  ASSERT_FALSE(b.status().ok());
  EXPECT_EQ(b.status().error().code, Code::unsupported);
}

}  // namespace
}  // namespace tenon::ops
