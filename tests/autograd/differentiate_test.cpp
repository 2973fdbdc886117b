// Gradient graphs of small networks against central differences in double.
#include "tenon/autograd/differentiate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

Tensor wave(Dims dims, double phase) {
  std::vector<double> v(static_cast<std::size_t>(num_elements(dims)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(phase + 1.7 * static_cast<double>(i));
  return from_doubles(v, DType::f64, std::move(dims));
}

// mean of (softmax(relu(x w + b) v))^2: every value has several readers somewhere
struct Network {
  Graph graph;
  Value *x, *w, *v, *loss;
  Network() {
    x = graph.add_input("x", Type(DType::f64, {3, 4}));
    w = graph.add_input("w", Type(DType::f64, {4, 5}));
    v = graph.add_input("v", Type(DType::f64, {5, 4}));
    GraphBuilder builder(graph, ops::table());
    ops::B b(builder);
    Value* h = b.relu(b.add(b.matmul(x, w), b.number(0.3, x)));
    Value* y = b.add(b.softmax(b.matmul(h, v)), b.mul(x, x));
    loss = b.reduce_sum(b.mul(y, y));
    graph.add_output(loss, "loss");
    EXPECT_TRUE(builder.status().ok()) << builder.status().error().text();
  }
};

TEST(Differentiate, EqualsCentralDifferences) {
  Network n;
  const Datums at = {Datum(wave({3, 4}, 0.1)), Datum(wave({4, 5}, 0.7)), Datum(wave({5, 4}, 2.0))};
  auto gradients = autograd::differentiate(n.graph, {n.loss}, {nullptr}, {n.x, n.w, n.v});
  ASSERT_TRUE(gradients.ok()) << gradients.error().text();
  for (Value* g : *gradients) n.graph.add_output(g, "g");
  auto out = ops::interpret(n.graph, at);
  ASSERT_TRUE(out.ok()) << out.error().text();
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto base = to_doubles(at[i].tensor());
    ASSERT_EQ((*out)[i + 1].tensor().dims(), at[i].tensor().dims());
    for (std::size_t k = 0; k < base.size(); ++k) {
      double sides[2];
      for (int s = 0; s < 2; ++s) {
        auto moved = base;
        moved[k] += s ? 1e-6 : -1e-6;
        Datums inputs = at;
        inputs[i] = Datum(from_doubles(moved, DType::f64, at[i].tensor().dims()));
        sides[s] = element((*ops::interpret(n.graph, inputs))[0].tensor(), 0);
      }
      const double want = (sides[1] - sides[0]) / 2e-6;
      EXPECT_NEAR(element((*out)[i + 1].tensor(), static_cast<std::int64_t>(k)), want,
                  1e-5 * std::max(1.0, std::fabs(want)));
    }
  }
}

TEST(Differentiate, GradientsOfGradients) {
  // d/dx of d/dx of x^3 is 6x
  Graph graph;
  Value* x = graph.add_input("x", Type(DType::f64, {3}));
  GraphBuilder builder(graph, ops::table());
  ops::B b(builder);
  Value* y = b.mul(b.mul(x, x), x);
  auto first = autograd::differentiate(graph, {y}, {nullptr}, {x});
  ASSERT_TRUE(first.ok());
  auto second = autograd::differentiate(graph, *first, {nullptr}, {x});
  ASSERT_TRUE(second.ok());
  graph.add_output((*second)[0], "d2");
  const Tensor at = wave({3}, 0.5);
  auto out = ops::interpret(graph, {Datum(at)});
  ASSERT_TRUE(out.ok());
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(element((*out)[0].tensor(), i), 6 * element(at, i), 1e-12);
}

TEST(Differentiate, WhatNothingDependsOnGetsZeros) {
  Graph graph;
  Value* x = graph.add_input("x", Type(DType::f64, {2}));
  Value* unused = graph.add_input("u", Type(DType::f64, {2, 2}));
  GraphBuilder builder(graph, ops::table());
  Value* y = ops::B(builder).neg(x);
  auto g = autograd::differentiate(graph, {y}, {nullptr}, {unused});
  ASSERT_TRUE(g.ok());
  graph.add_output((*g)[0], "g");
  auto out = ops::interpret(graph, {Datum(wave({2}, 0)), Datum(wave({2, 2}, 0))});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(to_doubles((*out)[0].tensor()), std::vector<double>(4, 0.0));
}

}  // namespace
}  // namespace tenon
