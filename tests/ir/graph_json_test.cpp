// Graphs as JSON: the same graph comes back, and what is no graph is refused with its place.
#include "tenon/ir/graph_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

std::unique_ptr<Graph> sample_graph() {
  auto g = std::make_unique<Graph>("net");
  Value* x = g->add_input("x", Type(DType::f32, {Dim::symbol("N"), 4}));
  Value* w = g->add_constant("w", Tensor::full(DType::f32, {4, 8}, 0.5));
  w->trainable = true;
  GraphBuilder builder(*g, ops::table());
  builder.set_origin("enc/proj", {"model.onnx", 7, "enc"});
  ops::B b(builder);
  Value* h = b.softmax(b.matmul(x, w), Attrs{{"axis", -1}});
  h->set_name("h");
  Value* y = b.clip(b.reshape(h, b.ints({-1})), nullptr,
                    b.number(std::numeric_limits<double>::infinity(), DType::f32));
  EXPECT_TRUE(builder.status().ok()) << builder.status().error().text();
  g->add_output(y, "y");
  g->add_output(h, "h");
  g->metadata()["producer"] = "a \"test\"\n";
  return g;
}

TextOptions with_keys() {
  TextOptions options;
  options.key = [](const Value& v) { return v.name(); };
  return options;
}

Result<Tensor> half(std::string_view) { return Tensor::full(DType::f32, {4, 8}, 0.5); }

TEST(GraphJson, ReadsBackToTheSameGraph) {
  const auto graph = sample_graph();
  const Json json = to_json(*graph, with_keys());
  EXPECT_EQ(json["schema"], "tenon.graph/1");
  EXPECT_EQ(json["nodes"][0]["origin"]["file"], "model.onnx");
  auto again = graph_from_json(*parse_json(write_json(json)), ops::table(), half);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(to_text(**again), to_text(*graph));
  EXPECT_EQ(to_json(**again, with_keys()), json);
}

// `change` is a JSON merge patch.
Error refusal(Json json, const Json& change) {
  json.merge_patch(change);
  auto read = graph_from_json(json, ops::table(), half);
  EXPECT_FALSE(read.ok()) << change;
  return read.ok() ? Error{} : read.error();
}

TEST(GraphJson, RefusesWhatIsNoGraphWithItsPlace) {
  const Json good = to_json(*sample_graph(), with_keys());
  EXPECT_EQ(refusal(good, {{"schema", "tenon.graph/9"}}).code, Code::unsupported);
  EXPECT_EQ(refusal(good, {{"schema", nullptr}}).message, "key 'schema' is missing");
  EXPECT_EQ(refusal(good, {{"nodes", 7}}).message, "nodes is a list, not a whole number");
  Json bad = good;
  bad["nodes"][1]["op"] = "frobnicate";
  EXPECT_EQ(refusal(bad, Json::object()).where, "nodes[1]");
  bad = good;
  bad["nodes"][0]["inputs"][1] = 99;
  EXPECT_EQ(refusal(bad, Json::object()).text(),
            "value 99 is read before it is made [nodes[0].inputs[1]]");
  bad = good;
  bad["nodes"][0]["outputs"][0]["id"] = 0;
  EXPECT_NE(refusal(bad, Json::object()).message.find("defined twice"), std::string::npos);
  bad = good;
  bad["inputs"][0]["type"] = "f32[";
  EXPECT_EQ(refusal(bad, Json::object()).where, "inputs[0]");
  for (const Json& hostile : {Json(), Json(3), Json::array(), Json::object()})
    EXPECT_FALSE(graph_from_json(hostile, ops::table()).ok());
}

TEST(GraphJson, WithoutElementsItIsForViewersOnly) {
  const Json json = to_json(*sample_graph());
  EXPECT_FALSE(json["constants"][0].contains("data"));
  auto read = graph_from_json(json, ops::table());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().text(), "this constant was written without its elements [constants[0]]");
}

TEST(GraphJson, TypesAreInferredNotBelieved) {
  Json json = to_json(*sample_graph(), with_keys());
  json["nodes"][0]["outputs"][0]["type"] = "i64[7]";
  auto read = graph_from_json(json, ops::table(), half);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ((*read)->first()->output(0)->type().text(), "f32[N, 8]");
}

}  // namespace
}  // namespace tenon
