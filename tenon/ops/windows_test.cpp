// Symbolic spatial sizes: formulas that hold for every size.
#include "tenon/ops/windows.h"

#include <gtest/gtest.h>

#include "tenon/ops/registry.h"

namespace tenon::ops {
namespace {

// The type of `op` on x of a symbolic size and further inputs of constant sizes.
Type infer_on(const char* op, const Shape& x, const std::vector<Dims>& others, Attrs attrs) {
  Graph graph;
  GraphBuilder builder(graph, table());
  Values inputs = {graph.add_input("x", Type(DType::f32, x))};
  for (const Dims& d : others)
    inputs.push_back(graph.add_input("w", Type(DType::f32, to_shape(d))));
  Value* y = builder.call(builder.op(op), inputs, std::move(attrs))[0];
  EXPECT_TRUE(builder.status().ok()) << builder.status().error().text();
  return y->type();
}

std::int64_t at(const Dim& d, std::int64_t h) { return *d.evaluate({{"H", h}, {"N", 2}}); }

TEST(Windows, ConvOfASymbolicSizeIsAFormula) {
  const Dim n = Dim::symbol("N"), h = Dim::symbol("H");
  const Type y =
      infer_on("conv", {n, Dim(3), h, h}, {{8, 3, 3, 3}},
               {{"strides", Attr::Integers{2, 1}}, {"pads", Attr::Integers{1, 0, 1, 2}}});
  EXPECT_EQ(y.dim(0), n);
  EXPECT_EQ(y.dim(1), Dim(8));
  for (std::int64_t size : {7, 8, 100}) {
    EXPECT_EQ(at(y.dim(2), size), (size + 2 - 3) / 2 + 1);
    EXPECT_EQ(at(y.dim(3), size), size);
  }
}

TEST(Windows, SameAndTransposedSizesAreFormulas) {
  const Dim n = Dim::symbol("N"), h = Dim::symbol("H");
  const Type same = infer_on("conv", {n, Dim(3), h}, {{8, 3, 3}},
                             {{"strides", Attr::Integers{2}}, {"auto_pad", "SAME_LOWER"}});
  EXPECT_EQ(same.dim(2), ceil_div(h, Dim(2)));
  const Type up = infer_on("conv_transpose", {n, Dim(3), h}, {{3, 8, 4}},
                           {{"strides", Attr::Integers{2}}, {"pads", Attr::Integers{1, 1}}});
  EXPECT_EQ(up.dim(2), Dim(2) * h);
}

TEST(Windows, DecompositionOfASymbolicTransposeInfers) {
  Graph graph;
  GraphBuilder builder(graph, table());
  Value* x = graph.add_input("x", Type(DType::f32, {Dim::symbol("N"), Dim(2), Dim::symbol("H")}));
  Value* w = graph.add_input("w", Type(DType::f32, {Dim(2), Dim(3), Dim(3)}));
  Value* y =
      builder.call(builder.op("conv_transpose"), {x, w}, {{"strides", Attr::Integers{2}}})[0];
  Value* parts = y->producer()->op().decompose(builder, Call(*y->producer()))[0];
  ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
  EXPECT_EQ(parts->type(), y->type());
}

}  // namespace
}  // namespace tenon::ops
