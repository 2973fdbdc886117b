// Products of turned matrices: what becomes one gemm, what must not, and that the result is the
// same.
#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/base/random.h"
#include "tenon/engine/engine.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

const Attrs kTurn = {{"perm", Attr::Integers{1, 0}}};

Tensor drawn(Dims dims, std::uint64_t stream) {
  Tensor t(DType::f32, std::move(dims));
  fill_normal(t.data<float>(), 5, stream);
  return t;
}

struct Case {
  Dims a, b;
  bool turns_a, turns_b, is_constant;
  int products;  // gemms in the end
};

class FoldTransposes : public testing::TestWithParam<Case> {};

TEST_P(FoldTransposes, KeepsTheResult) {
  const Case& c = GetParam();
  auto graph = std::make_unique<Graph>();
  GraphBuilder builder(*graph, ops::table());
  ops::B b(builder);
  const Tensor ta = drawn(c.a, 1), tb = drawn(c.b, 2);
  Value* x = graph->add_input("a", Type::of(ta));
  Value* y = c.is_constant ? b.constant(tb) : graph->add_input("b", Type::of(tb));
  Value* z = b.matmul(c.turns_a ? b.transpose(x, kTurn) : x, c.turns_b ? b.transpose(y, kTurn) : y);
  graph->add_output(z, "z");
  Datums inputs = {Datum(ta)};
  if (!c.is_constant) inputs.emplace_back(tb);
  auto want = ops::interpret(*graph, inputs);
  ASSERT_TRUE(want.ok());
  auto executable = engine::compile(std::move(graph), **engine::backend_named("cpu"), {});
  ASSERT_TRUE(executable.ok()) << executable.error().text();
  int products = 0;
  for (const Node* n : (*executable)->graph().nodes()) products += n->op().name == "gemm";
  EXPECT_EQ(products, c.products);
  ThreadPool pool(2);
  auto got = (*executable)->run(inputs, pool);
  ASSERT_TRUE(got.ok()) << got.error().text();
  ASSERT_EQ((*got)[0].tensor().dims(), (*want)[0].tensor().dims());
  for (std::int64_t k = 0; k < (*want)[0].tensor().count(); ++k)
    ASSERT_NEAR(element((*got)[0].tensor(), k), element((*want)[0].tensor(), k), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Products, FoldTransposes,
    testing::Values(Case{{7, 5}, {7, 9}, true, false, false, 1},
                    Case{{40, 5}, {9, 5}, false, true, false, 1},
                    Case{{7, 35}, {9, 7}, true, true, false, 1},
                    Case{{2, 3, 5}, {9, 5}, false, true, false, 1},
                    Case{{40, 5}, {5, 9}, false, false, false, 0},  // nothing is turned
                    Case{{40, 5}, {9, 5}, false, true, true, 0}));  // a constant is turned once

}  // namespace
}  // namespace tenon
