// flex_attention with regions: the same as attention with a cap, values and gradients.
#include <gtest/gtest.h>

#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon::ops {
namespace {

// scores -> cap * tanh(scores / cap), with cap captured
std::unique_ptr<Graph> soft_cap(const Type& scores) {
  auto region = std::make_unique<Graph>("score_mod");
  GraphBuilder builder(*region, table());
  B g(builder);
  Value *s = region->add_input("s", scores),
        *cap = region->add_input("cap", Type(scores.dtype(), {}));
  region->add_output(g.mul(g.tanh(g.div(s, cap)), cap), "y");
  return region;
}

TEST(FlexAttention, ARegionCapsTheScores) {
  Graph graph;
  GraphBuilder builder(graph, table());
  B g(builder);
  const Type t(DType::f64, to_shape({1, 2, 3, 4}));
  Values x;
  Datums data;
  for (const char* name : {"q", "k", "v"}) {
    x.push_back(graph.add_input(name, t));
    std::vector<double> v(24);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<double>(i * x.size()));
    data.emplace_back(from_doubles(v, DType::f64, {1, 2, 3, 4}));
  }
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(soft_cap(Type(DType::f64, to_shape({1, 2, 3, 3}))));
  Value* y =
      builder.call(builder.op("flex_attention"), {x[0], x[1], x[2], g.number(0.5, DType::f64)},
                   {{"has_score_mod", true}}, std::move(regions))[0];
  Value* expected = g.attention(x, Attrs{{"softcap", 0.5}});
  ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
  Value* dy = g.number(1, y);
  Value* wide = g.expand(dy, g.shape(y));
  for (Value* v : {y, expected}) {
    graph.add_output(v, "y");
    for (Value* dx : v->producer()->op().gradient(builder, Call(*v->producer()), Values{wide}))
      if (dx && dx->type().ndim() == 4) graph.add_output(dx, "dx");
  }
  ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
  auto out = interpret(graph, data);
  ASSERT_TRUE(out.ok()) << out.error().text();
  ASSERT_EQ(out->size(), 8u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto a = to_doubles((*out)[i].tensor()), b = to_doubles((*out)[i + 4].tensor());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-12) << i;
  }
}

}  // namespace
}  // namespace tenon::ops
