// Gradients through sequences and optionals, against central differences.
#include "tests/ops/differentiate.h"

namespace tenon::ops {
namespace {

Value* at(B g, std::int64_t i) { return g.constant(Tensor::scalar(i)); }

// Two inputs a[2] and b[3] into `build`, which gives the output.
template <class F>
Example of(F build) {
  Example e;
  GraphBuilder b(*e.graph, table());
  Value *x = e.graph->add_input("a", f64({2})), *y = e.graph->add_input("b", f64({3}));
  e.graph->add_output(build(B(b), x, y), "y");
  EXPECT_TRUE(b.status().ok()) << b.status().error().text();
  e.inputs = {Datum(doubles({2}, {0.5, -1})), Datum(doubles({3}, {2, 3, 0.25}))};
  return e;
}

TEST(Sequences, GradientOfConcatenation) {
  expect_central_differences(of([](B g, Value* a, Value* b) {
    Value* all = g.concat_from_sequence(g.sequence_construct(a, b), Attrs{{"axis", 0}});
    return g.mul(all, all);
  }));
}

TEST(Sequences, GradientOfInsertedAndErasedItems) {
  // (a, b) with a^2 in front and without its end: (a^2, a)
  expect_central_differences(of([](B g, Value* a, Value* b) {
    Value* s = g.sequence_insert(g.sequence_construct(a, b), g.mul(a, a), at(g, 0));
    Value* rest = g.sequence_erase(s, at(g, -1));
    return g.concat(g.concat_from_sequence(rest, Attrs{{"axis", 0}}), g.mul(b, b),
                    Attrs{{"axis", 0}});
  }));
}

TEST(Sequences, GradientOfOneItem) {
  expect_central_differences(of([](B g, Value* a, Value* b) {
    Value* s = g.sequence_construct(g.exp(a), g.mul(b, b));
    return g.sequence_at(s, at(g, -1));
  }));
}

TEST(Sequences, GradientOfSplitAndStack) {
  expect_central_differences(of([](B g, Value* a, Value* b) {
    Value* s = g.split_to_sequence(g.concat(a, b, Attrs{{"axis", 0}}), Attrs{{"keepdims", false}});
    Value* y = g.concat_from_sequence(s, Attrs{{"axis", 0}, {"new_axis", true}});
    return g.mul(y, y);
  }));
}

TEST(Optionals, GradientPassesThrough) {
  expect_central_differences(of([](B g, Value* a, Value* b) {
    return g.concat(g.optional_get_element(g.optional(g.mul(a, a))), b, Attrs{{"axis", 0}});
  }));
}

TEST(Sequences, PositionsOutsideAreRefused) {
  Graph graph;
  GraphBuilder b(graph, table());
  graph.add_output(
      B(b).sequence_at(B(b).sequence_construct(graph.add_input("a", f64({2}))), at(B(b), 1)), "y");
  const auto out = interpret(graph, {Datum(doubles({2}, {1, 2}))});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().message.find("position 1 is outside of 1 items"), std::string::npos)
      << out.error().text();
}

}  // namespace
}  // namespace tenon::ops
