#include "tenon/formats/onnx/read.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tenon/base/test_folder.h"
#include "tenon/formats/onnx/testing_internal.h"
#include "tenon/ops/interpreter.h"

namespace tenon::onnx {
namespace {

using namespace testing;  // NOLINT: the vocabulary of these tests

Result<Imported> import(const std::string& bytes) { return read_bytes(bytes, nullptr, "m.onnx"); }
WireWriter x23() { return value_info("x", type({2, 3})); }
WireWriter y23() { return value_info("y", type({2, 3})); }

std::string all_text(const Error& e) {
  std::string text = e.text();
  for (const Error& other : e.others) text += "\n" + other.text();
  return text;
}
int count_problems(const Error& e) { return 1 + static_cast<int>(e.others.size()); }
void expect_problem(const std::string& bytes, std::string_view fragment) {
  auto r = import(bytes);
  ASSERT_FALSE(r.ok()) << fragment;
  EXPECT_NE(all_text(r.error()).find(fragment), std::string::npos) << all_text(r.error());
}

TEST(OnnxRead, ComputesASmallModel) {
  const Tensor w = Tensor::of<float>({3}, std::vector<float>{1, 2, 3});
  auto m = import(model(
      graph({{node("Add", {"x", "w"}, {"s"}, {}, "/enc/layer.0/add"), node("Relu", {"s"}, {"y"})},
             {tensor("w", w)},
             {x23()},
             {y23()}})));
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(m->graph->num_nodes(), 2);
  const Node* add = m->graph->first();
  EXPECT_EQ(add->origin().scope, "enc/layer.0");
  EXPECT_EQ(add->place(), "node /enc/layer.0/add in enc/layer.0, m.onnx #0");
  EXPECT_EQ(m->graph->outputs()[0]->type().text(), "f32[2, 3]");
  auto y = ops::interpret(
      *m->graph, {Datum(Tensor::of<float>({2, 3}, std::vector<float>{-9, 0, 0, 1, 1, 1}))});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(to_doubles((*y)[0].tensor()), (std::vector<double>{0, 2, 3, 2, 3, 4}));
}

TEST(OnnxRead, OrdersNodesAndReportsCycles) {
  auto m = import(model(
      graph({{node("Relu", {"s"}, {"y"}), node("Neg", {"x"}, {"s"})}, {}, {x23()}, {y23()}})));
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(m->graph->first()->op().name, "neg");
  expect_problem(
      model(graph({{node("Relu", {"b"}, {"a"}), node("Relu", {"a"}, {"b"})}, {}, {x23()}, {}})),
      "2 nodes wait for each other: a <- b");
}

TEST(OnnxRead, ReportsEveryProblemAtOnce) {
  auto m = import(model(graph(
      {{node("Rleu", {"x"}, {"a"}, {}, "first"), node("Add", {"x", "nowhere"}, {"b"}, {}, "second"),
        node("Relu", {"a"}, {"after_first"}), node("MatMul", {"x", "x"}, {"c"}, {}, "third"),
        node("Relu", {"x"}, {"b2"}, {attribute("speed", std::int64_t{1})}, "fourth")},
       {},
       {x23()},
       {y23()}})));
  ASSERT_FALSE(m.ok());
  const std::string text = all_text(m.error());
  EXPECT_EQ(count_problems(m.error()), 5) << text;
  EXPECT_EQ(m.error().help, "did you mean 'Relu'?");
  for (const char* part : {"operator Rleu", "[node first, m.onnx #0]",
                           "input 'nowhere' is made by no node", "node third, m.onnx #3",
                           "attribute speed has no meaning", "graph output 'y' is made by no node"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(OnnxRead, RefusesDuplicates) {
  expect_problem(
      model(graph({{node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}, {}, {x23()}, {y23()}})),
      "value 'y' is made a second time");
  expect_problem(model(graph({{node("Relu", {"x"}, {"y"})}, {}, {x23(), x23()}, {y23()}})),
                 "two graph inputs are named 'x'");
}

TEST(OnnxRead, RefusesEveryTruncation) {
  const Tensor w = Tensor::of<float>({3}, std::vector<float>{1, 2, 3});
  const std::string whole = model(
      graph({{node("Add", {"x", "w"}, {"y"}, {}, "add")}, {tensor("w", w)}, {x23()}, {y23()}}));
  for (std::size_t n = 0; n < whole.size(); ++n)
    static_cast<void>(import(whole.substr(0, n)));  // an error or a smaller model, never a crash
  EXPECT_FALSE(import(whole.substr(0, whole.size() / 2)).ok());
  expect_problem("hello", "");
  expect_problem("", "the file holds no graph");
}

TEST(OnnxRead, CountsTheDataOfTensors) {
  WireWriter lies;
  lies.integers(1, std::vector<std::int64_t>{1 << 20, 1 << 5})
      .integer(2, 1)
      .text(8, "w")
      .text(9, "1234");
  expect_problem(model(graph({{node("Relu", {"x"}, {"y"})}, {lies}, {x23()}, {y23()}})),
                 "but 4 are given");
  WireWriter huge;
  huge.integers(1, std::vector<std::int64_t>{1 << 30, 1 << 30, 1 << 30}).integer(2, 1).text(8, "w");
  expect_problem(model(graph({{node("Relu", {"x"}, {"y"})}, {huge}, {x23()}, {y23()}})),
                 "tensor 'w'");
}

TEST(OnnxRead, ReadsPackedAndTypedData) {
  WireWriter four;  // i4 values 1, -2, 7 as two numbers of two nibbles each
  four.integers(1, std::vector<std::int64_t>{3})
      .integer(2, 22)
      .integers(5, std::vector<std::int64_t>{0xe1, 0x07});
  auto i4 = parse_datum(four.bytes(), nullptr, Type::unranked(DType::i4));
  ASSERT_TRUE(i4.ok()) << i4.error().text();
  EXPECT_EQ(to_int64s(i4->tensor()), (std::vector<std::int64_t>{1, -2, 7}));
  WireWriter half;
  half.integers(1, std::vector<std::int64_t>{2})
      .integer(2, 10)
      .integers(5, std::vector<std::int64_t>{0x3c00, 0xc000});
  EXPECT_EQ(
      to_doubles(parse_datum(half.bytes(), nullptr, Type::unranked(DType::f16)).value().tensor()),
      (std::vector<double>{1, -2}));
  WireWriter texts;
  texts.integers(1, std::vector<std::int64_t>{2}).integer(2, 8).text(6, "a").text(6, "bc");
  EXPECT_EQ(parse_datum(texts.bytes(), nullptr, Type::unranked(DType::string))
                .value()
                .tensor()
                .data<std::string>()[1],
            "bc");
}

WireWriter external(std::string_view location, std::string_view offset, std::string_view length) {
  WireWriter t;
  t.integers(1, std::vector<std::int64_t>{3}).integer(2, 1).text(8, "w").integer(14, 1);
  t.message(13, WireWriter().text(1, "location").text(2, location));
  t.message(13, WireWriter().text(1, "offset").text(2, offset));
  return t.message(13, WireWriter().text(1, "length").text(2, length));
}

TEST(OnnxRead, MapsExternalData) {
  const TestFolder folder;
  const std::vector<float> values = {0, 5, 6, 7};
  std::ofstream(folder.path() / "w.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), 16);
  const auto with = [&](const WireWriter& w) {
    return read_bytes(model(graph({{node("Add", {"x", "w"}, {"y"})}, {w}, {x23()}, {y23()}})),
                      nullptr, "m.onnx", folder.path());
  };
  auto m = with(external("w.bin", "4", "12"));
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(m->data_files, std::vector<std::string>{"w.bin"});
  const Tensor w = m->graph->constants().at(0)->tensor();
  EXPECT_FALSE(w.buffer()->owned());
  EXPECT_EQ(to_doubles(w), (std::vector<double>{5, 6, 7}));
  EXPECT_NE(with(external("../w.bin", "0", "12")).error().text().find("leads upward"),
            std::string::npos);
  EXPECT_NE(with(external("/etc/passwd", "0", "12")).error().text().find("is absolute"),
            std::string::npos);
  EXPECT_NE(with(external("w.bin", "8", "12")).error().text().find("lie outside"),
            std::string::npos);
  EXPECT_NE(
      with(external("w.bin", "18446744073709551615", "12")).error().text().find("lie outside"),
      std::string::npos);
  EXPECT_EQ(with(external("gone.bin", "0", "12")).error().code, Code::not_found);
}

TEST(OnnxRead, InlinesFunctions) {
  WireWriter f;  // scaled(a; alpha) = LeakyRelu(a; alpha) + a
  f.text(1, "scaled").text(4, "a").text(5, "b").text(6, "alpha").text(10, "local");
  f.message(7, node("LeakyRelu", {"a"}, {"t"}, {reference("alpha", "alpha", 1)}))
      .message(7, node("Add", {"t", "a"}, {"b"}))
      .message(9, opset(20));
  auto m = import(
      model(graph({{node("scaled", {"x"}, {"y"}, {attribute("alpha", 0.5f)}, "call", "local")},
                   {},
                   {x23()},
                   {y23()}}),
            20, {f}));
  if (m.ok()) {
    EXPECT_EQ(m->graph->last()->name(), "call/b");
    EXPECT_EQ(m->graph->num_nodes(), 2);
  } else {
    EXPECT_NE(m.error().text().find("leaky_relu"), std::string::npos) << m.error().text();
  }
  WireWriter loop;
  loop.text(1, "again")
      .text(4, "a")
      .text(5, "b")
      .text(10, "local")
      .message(7, node("again", {"a"}, {"b"}, {}, "inner", "local"));
  expect_problem(
      model(graph({{node("again", {"x"}, {"y"}, {}, "call", "local")}, {}, {x23()}, {y23()}}), 20,
            {loop}),
      "function again calls itself");
}

TEST(OnnxRead, FindsAndFreesABakedBatch) {
  const auto shape = [](std::vector<std::int64_t> v) { return tensor("shape", Tensor::vector(v)); };
  const auto file = [&](std::vector<std::int64_t> v) {
    return model(graph({{node("Reshape", {"x", "shape"}, {"y"}, {}, "flat")},
                        {shape(std::move(v))},
                        {value_info("x", type({2, 3, 4}))},
                        {value_info("y", type({2, 12}))}}));
  };
  auto found = import(file({2, 12}));
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_TRUE(found->baked_batch.has_value());
  EXPECT_EQ(found->baked_batch->size, 2);
  EXPECT_EQ(found->baked_batch->places, std::vector<std::string>{"node flat, m.onnx #0"});
  for (const auto& wanted : {std::vector<std::int64_t>{2, 12}, std::vector<std::int64_t>{2, -1}}) {
    auto freed = read_bytes(file(wanted), nullptr, "m.onnx", {}, {.free_batch = true});
    ASSERT_TRUE(freed.ok()) << freed.error().text();
    EXPECT_EQ(freed->graph->outputs()[0]->type().text(), "f32[batch, 12]");
    EXPECT_TRUE(freed->baked_batch->freed);
    EXPECT_TRUE(freed->graph->constraints().empty());
  }
}

TEST(OnnxRead, TakesShapesFromTheCaller) {
  const std::string file =
      model(graph({{node("Relu", {"x"}, {"y"})}, {}, {value_info("x", type({-1, 3}))}, {y23()}}));
  auto m = read_bytes(file, nullptr, "m.onnx", {}, {.shapes = {{"x", {5, -1}}}});
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(m->graph->inputs()[0]->type().text(), "f32[5, 3]");
  EXPECT_FALSE(read_bytes(file, nullptr, "m.onnx", {}, {.shapes = {{"x", {5}}}}).ok());
  EXPECT_FALSE(read_bytes(file, nullptr, "m.onnx", {}, {.shapes = {{"z", {5}}}}).ok());
}

TEST(OnnxRead, BoundsNesting) {
  WireWriter inner = graph({{node("Relu", {"x"}, {"y"})}, {}, {}, {y23()}});
  for (int i = 0; i < 200; ++i)
    inner = graph({{node("If", {"c"}, {"y"}, {attribute("then_branch", inner)})}, {}, {}, {y23()}});
  expect_problem(model(inner), "nested more than 64 deep");
}

}  // namespace
}  // namespace tenon::onnx
