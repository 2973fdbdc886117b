#include "tenon/formats/onnx/write.h"

#include <gtest/gtest.h>

#include "tenon/base/test_folder.h"
#include "tenon/formats/onnx/read.h"
#include "tenon/ir/builder.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/registry.h"

namespace tenon::onnx {
namespace {

// y = softmax(x * w + b), z = rsqrt-like decomposition partner of x, both outputs named.
std::unique_ptr<Graph> small_graph() {
  auto g = std::make_unique<Graph>("small");
  GraphBuilder b(*g, ops::table());
  Value* x = g->add_input("x", Type(DType::f32, {Dim::symbol("N"), Dim(2)}));
  Value* w = g->add_constant("w", Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  Value* y = b.call(b.op("softmax"), b.call(b.op("matmul"), {x, w}), {{"axis", -1}})[0];
  g->add_output(y, "y");
  g->add_output(x, "x_again");
  return g;
}

Tensor input() { return Tensor::of<float>({2, 2}, std::vector<float>{0.1f, -0.2f, 0.3f, 0.4f}); }

void expect_same_answers(const Graph& a, const Graph& b) {
  auto x = ops::interpret(a, {Datum(input())}), y = ops::interpret(b, {Datum(input())});
  ASSERT_TRUE(x.ok() && y.ok());
  ASSERT_EQ(x->size(), y->size());
  for (std::size_t i = 0; i < x->size(); ++i)
    EXPECT_EQ(to_doubles((*x)[i].tensor()), to_doubles((*y)[i].tensor()));
}

TEST(OnnxWrite, ReadsBackTheSameGraph) {
  const auto graph = small_graph();
  Written written;
  auto bytes = write_bytes(*graph, {}, &written);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  auto again = read_bytes(*bytes, nullptr, "again.onnx");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->graph->inputs()[0]->type().text(), "f32[N, 2]");
  EXPECT_EQ(again->graph->output_names(), graph->output_names());
  EXPECT_EQ(written.opset, 21);
  expect_same_answers(*graph, *again->graph);
}

TEST(OnnxWrite, PutsLargeWeightsBeside) {
  const TestFolder folder;
  const auto graph = small_graph();
  auto written = write(*graph, folder.path() / "m.onnx", {.external_bytes = 8});
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(written->data_files, std::vector<std::string>{"m.onnx.data"});
  auto again = read(folder.path() / "m.onnx");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->data_files, written->data_files);
  expect_same_answers(*graph, *again->graph);
}

TEST(OnnxWrite, RefusesOldOperatorSets) {
  EXPECT_EQ(write_bytes(*small_graph(), {.opset = 7}).error().code, Code::unsupported);
}

TEST(OnnxWrite, KeepsRuntimeValues) {
  const Type tensor = Type::unranked(DType::f32);
  const Datum one(Tensor::scalar<float>(3));
  const std::vector<std::pair<Datum, Type>> values = {
      {one, tensor},
      {Datum::sequence({one, one}), Type::sequence(tensor)},
      {Datum(), Type::optional(tensor)},
      {one, Type::optional(tensor)},
      {Datum(from_int64s(std::vector<std::int64_t>{1, -2, 3}, DType::i4, {3})),
       Type::unranked(DType::i4)}};
  for (const auto& [value, type] : values) {
    const std::string bytes = datum_bytes(value, type);
    auto again = parse_datum(bytes, nullptr, type);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(datum_bytes(*again, type), bytes);
    EXPECT_EQ(again->is_absent(), value.is_absent());
  }
}

}  // namespace
}  // namespace tenon::onnx
