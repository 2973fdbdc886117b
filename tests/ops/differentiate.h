// The smallest builder that differentiates graphs and regions, and central differences to compare
// with. For tests of pages that samples cannot say: control flow and sequences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tenon/ir/builder.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon::ops {

using Gradients = std::map<const Value*, Value*>;  // looked up only

class Differentiator : public GraphBuilder {
 public:
  explicit Differentiator(Graph& graph) : GraphBuilder(graph, ops::table()) {}

  Result<std::unique_ptr<Graph>> differentiate(const Graph& region, const std::vector<bool>& seeded,
                                               const std::vector<bool>& wanted) override {
    auto result = std::make_unique<Graph>(region.name() + "_gradient");
    Differentiator inner(*result);
    Values x;
    for (const Value* v : region.inputs()) x.push_back(result->add_input(v->name(), v->type()));
    const Values y = inline_graph(inner, region, x);
    Gradients d;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (seeded[i])
        inner.add(d, y[i], result->add_input(fmt::format("dy{}", i), region.outputs()[i]->type()));
    inner.walk_back(d, result->last());
    for (std::size_t i = 0; i < x.size(); ++i)
      if (wanted[i])
        result->add_output(d.contains(x[i]) ? d[x[i]] : B(inner).zeros_like(x[i]),
                           fmt::format("dx{}", i));
    if (!inner.status().ok()) return inner.take_status().error();
    return result;
  }

  void add(Gradients& d, const Value* v, Value* dv) {
    Value*& sum = d[v];
    sum = sum ? B(*this).add(sum, dv) : dv;
  }

  /// Runs the rules of all nodes up to `from`, the last first.
  void walk_back(Gradients& d, Node* from) {
    for (Node* n = from; n && status().ok(); n = n->previous()) {
      Values dys;
      for (const Value* y : n->outputs()) dys.push_back(d.contains(y) ? d[y] : nullptr);
      if (!n->op().gradient ||
          std::all_of(dys.begin(), dys.end(), [](const Value* v) { return v == nullptr; }))
        continue;
      const Values dxs = n->op().gradient(*this, Call(*n), dys);
      for (std::size_t i = 0; i < dxs.size(); ++i)
        if (dxs[i]) add(d, n->inputs()[i], dxs[i]);
    }
  }
};

/// A graph and values for its inputs.
struct Example {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Datums inputs;
};

inline Type f64(Shape shape) { return Type(DType::f64, std::move(shape)); }
inline Tensor doubles(Dims dims, std::vector<double> v) {
  return from_doubles(v, DType::f64, std::move(dims));
}

/// sum over f64 outputs of sum of (k + 1) * y[k]
inline double weighted(const Graph& graph, const Datums& inputs) {
  const Datums out = interpret(graph, inputs).value();
  double sum = 0;
  for (const Datum& y : out) {
    if (!y.is_tensor() || y.tensor().dtype() != DType::f64) continue;
    const auto v = to_doubles(y.tensor());
    for (std::size_t k = 0; k < v.size(); ++k) sum += v[k] * static_cast<double>(k + 1);
  }
  return sum;
}

/// Gradients of that sum by the pages' rules, by name of input.
inline std::map<std::string, Tensor> gradients_by_rule(const Example& e) {
  auto graph = e.graph->clone();
  Differentiator b(*graph);
  Gradients d;
  Node* last = graph->last();
  const Datums out = interpret(*graph, e.inputs).value();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_tensor() || out[i].tensor().dtype() != DType::f64) continue;
    std::vector<double> seed;
    for (std::int64_t k = 0; k < out[i].tensor().count(); ++k)
      seed.push_back(static_cast<double>(k + 1));
    b.add(d, graph->outputs()[i],
          b.constant(from_doubles(seed, DType::f64, out[i].tensor().dims())));
  }
  b.walk_back(d, last);
  EXPECT_TRUE(b.status().ok()) << b.status().error().text();
  std::vector<std::string> names;
  const std::size_t first = graph->outputs().size();
  for (const Value* x : graph->inputs())
    if (d.contains(x)) {
      names.push_back(x->name());
      graph->add_output(d[x], "d" + x->name());
    }
  const auto all = interpret(*graph, e.inputs);
  EXPECT_TRUE(all.ok()) << all.error().text();
  std::map<std::string, Tensor> found;
  for (std::size_t i = 0; all.ok() && i < names.size(); ++i)
    found[names[i]] = (*all)[first + i].tensor();
  return found;
}

inline void expect_central_differences(const Example& e) {
  const auto given = gradients_by_rule(e);
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    if (!e.inputs[i].is_tensor() || e.inputs[i].tensor().dtype() != DType::f64) continue;
    const std::string& name = e.graph->inputs()[i]->name();
    ASSERT_TRUE(given.contains(name)) << name;
    const auto base = to_doubles(e.inputs[i].tensor());
    EXPECT_EQ(given.at(name).dims(), e.inputs[i].tensor().dims()) << name;
    for (std::size_t k = 0; k < base.size(); ++k) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        auto moved = base;
        moved[k] += side ? 1e-5 : -1e-5;
        Datums inputs = e.inputs;
        inputs[i] = Datum(from_doubles(moved, DType::f64, e.inputs[i].tensor().dims()));
        sides[side] = weighted(*e.graph, inputs);
      }
      EXPECT_NEAR(element(given.at(name), static_cast<std::int64_t>(k)),
                  (sides[1] - sides[0]) / 2e-5, 1e-5)
          << name << " element " << k;
    }
  }
}

}  // namespace tenon::ops
