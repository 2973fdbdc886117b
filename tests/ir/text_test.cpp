// Printing and parsing graphs: the same graph comes back, and bad text is refused with its line.
#include "tenon/ir/text.h"

#include <gtest/gtest.h>

#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

std::unique_ptr<Graph> sample_graph() {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", Type(DType::f32, {Dim::symbol("N"), 4}));
  Value* w = g->add_constant(
      "w\"quoted\"", Tensor::of<float>({4, 2}, std::vector<float>{1, 2, 3, 4, 5.5f, 6, 7, -1e-8f}));
  w->trainable = true;
  GraphBuilder builder(*g, ops::table());
  builder.set_origin("enc/proj", {"model.onnx", 7, "enc"});
  ops::B b(builder);
  Value* h = b.softmax(b.matmul(x, w), Attrs{{"axis", -1}});
  h->set_name("h");
  Value* y = b.reshape(h, b.ints({-1}));
  EXPECT_TRUE(builder.status().ok());
  g->add_output(y, "y");
  g->add_output(h, "h");
  g->metadata()["producer"] = "a \"test\"\n";
  return g;
}

TEST(Text, ParsesBackToTheSameText) {
  const std::string once = to_text(*sample_graph());
  auto again = parse_graph(once, ops::table());
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << once;
  EXPECT_EQ(to_text(**again), once);
}

TEST(Text, LargeConstantsLieBeside) {
  auto g = std::make_unique<Graph>();
  const Tensor big = Tensor::full(DType::f16, {100}, 2.5);
  g->add_output(g->add_constant("big", big), "y");
  TextOptions options;
  options.key = [](const Value& v) { return v.name(); };
  const std::string text = to_text(*g, options);
  EXPECT_FALSE(parse_graph(text, ops::table()).ok());
  auto again = parse_graph(text, ops::table(), [&](std::string_view key) -> Result<Tensor> {
    EXPECT_EQ(key, "big");
    return big;
  });
  ASSERT_TRUE(again.ok()) << again.error().text();
}

TEST(Text, BadTextIsRefusedWithItsLine) {
  const std::string head = "graph \"g\"(%0 \"x\": f32[2]) {\n";
  for (const char* body :
       {"  return %1 \"y\"\n}\n", "  %1: f32[2] = frobnicate(%0)\n  return %1 \"y\"\n}\n",
        "  %1: f32[2] = neg(%9)\n  return %1 \"y\"\n}\n",
        "  %1: f32[2] = neg(%0) {bogus = 1}\n  return %1 \"y\"\n}\n",
        "  const %0: f32[2] = [1.0, 2.0]\n  return %0 \"y\"\n}\n",
        "  const %1: f32[2] = [1.0]\n  return %1 \"y\"\n}\n", "  %1: f32[2] = neg(%0", "",
        "  return %0 \"y\"\n}\n}\n", "  %1: f32[2] = add(%0, %0, %0)\n  return %1 \"y\"\n}\n"}) {
    auto r = parse_graph(head + body, ops::table());
    ASSERT_FALSE(r.ok()) << body;
    EXPECT_NE(r.error().text().find("line "), std::string::npos) << r.error().text();
  }
}

TEST(Text, TypesAreInferredNotBelieved) {
  auto r = parse_graph(
      "graph \"g\"(%0 \"x\": f32[2]) {\n  %1: i64[7, 7] = neg(%0)\n  return %1 \"y\"\n}\n",
      ops::table());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ((*r)->outputs()[0]->type().text(), "f32[2]");
}

TEST(Text, DeepRegionsAreRefusedNotFatal) {
  std::string text = "graph \"g\"() {\n";
  for (int i = 0; i < 10000; ++i) text += "%1: f32[2] = fused() regions {\ngraph \"g\"() {\n";
  EXPECT_FALSE(parse_graph(text, ops::table()).ok());
}

}  // namespace
}  // namespace tenon
