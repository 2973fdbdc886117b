// Pages on symbolic sizes: decompositions and gradients build with the types that inference
// promises, and one graph with symbols computes what the page means at several sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon::ops {
namespace {

struct Input {
  const char* type;       // "f64[N, 3]", nullptr: absent
  std::int64_t high = 0;  // integers are drawn from [0, high)
};

struct Case {
  const char* op;
  std::vector<Input> inputs;
  Attrs attrs;
  int num_outputs = -1;
};

Tensor numbers(const Type& type, const Bindings& sizes, std::int64_t high, double phase) {
  const Dims dims = *evaluate(type.shape(), sizes);
  std::vector<double> v(static_cast<std::size_t>(num_elements(dims)));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double wave = std::sin(1.7 * static_cast<double>(i) + phase);
    v[i] = high > 0 ? std::floor((wave + 1) / 2 * (static_cast<double>(high) - 0.01)) : wave;
  }
  return from_doubles(v, type.dtype(), dims);
}

// The call, its decomposition and its gradients in one graph.
struct Built {
  Graph graph;
  std::vector<Type> types;
  std::vector<std::int64_t> highs;
  std::size_t num_results = 0;
};

void build(const Case& c, Built& b) {
  GraphBuilder builder(b.graph, table());
  B g(builder);
  Values inputs;
  for (const Input& in : c.inputs) {
    if (!in.type) {
      inputs.push_back(nullptr);
      continue;
    }
    b.types.push_back(*Type::parse(in.type));
    b.highs.push_back(in.high);
    inputs.push_back(b.graph.add_input(fmt::format("x{}", inputs.size()), b.types.back()));
  }
  const Values ys = builder.call(builder.op(c.op), inputs, c.attrs, {}, c.num_outputs);
  ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
  b.num_results = ys.size();
  for (Value* y : ys) b.graph.add_output(y, "y");
  const Call call(*ys[0]->producer());
  if (call.op().decompose) {
    const Values parts = call.op().decompose(builder, call);
    ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
    for (std::size_t i = 0; i < ys.size(); ++i) {
      EXPECT_EQ(parts[i]->type().text(), ys[i]->type().text()) << "decomposition";
      b.graph.add_output(parts[i], "part");
    }
  }
  if (!call.op().gradient) return;
  Values dys;
  for (Value* y : ys)
    dys.push_back(is_floating(y->type().dtype()) ? g.expand(g.number(1, y), g.shape(y)) : nullptr);
  const Values dxs = call.op().gradient(builder, call, dys);
  ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
  for (std::size_t i = 0; i < dxs.size(); ++i)
    if (dxs[i]) {
      EXPECT_EQ(dxs[i]->type().text(), inputs[i]->type().text()) << "gradient of input " << i;
      b.graph.add_output(dxs[i], "dx");
    }
}

void check(const Case& c) {
  SCOPED_TRACE(c.op);
  Built b;
  build(c, b);
  if (testing::Test::HasFatalFailure()) return;
  for (const Bindings& sizes : {Bindings{{"N", 2}, {"S", 5}, {"T", 7}, {"H", 8}},
                                Bindings{{"N", 1}, {"S", 4}, {"T", 4}, {"H", 9}}}) {
    Datums inputs;
    for (std::size_t i = 0; i < b.types.size(); ++i)
      inputs.emplace_back(numbers(b.types[i], sizes, b.highs[i], static_cast<double>(i)));
    auto out = interpret(b.graph, inputs);
    ASSERT_TRUE(out.ok()) << out.error().text();
    Bindings found = sizes;
    for (std::size_t i = 0; i < out->size(); ++i) {
      const Verdict fits = accepts(b.graph.outputs()[i]->type(), (*out)[i], found);
      EXPECT_TRUE(fits) << fits.reason;
    }
    if (b.graph.output_names()[b.num_results % out->size()] != "part") continue;
    for (std::size_t i = 0; i < b.num_results; ++i) {
      const auto y = to_doubles((*out)[i].tensor()),
                 p = to_doubles((*out)[i + b.num_results].tensor());
      ASSERT_EQ(y.size(), p.size());
      for (std::size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(y[k], p[k], 1e-9) << "output " << i;
    }
  }
}

TEST(Symbolic, Contractions) {
  check({"conv",
         {{"f64[N, 2, H, S]"}, {"f64[4, 2, 3, 3]"}, {"f64[4]"}},
         {{"pads", Attr::Integers{1, 1, 1, 1}}, {"strides", Attr::Integers{2, 1}}}});
  check({"conv",
         {{"f64[N, 2, H]"}, {"f64[2, 1, 3]"}},
         {{"auto_pad", "SAME_UPPER"}, {"strides", Attr::Integers{2}}, {"group", 2}}});
  check({"conv_transpose",
         {{"f64[N, 2, H, S]"}, {"f64[2, 3, 3, 2]"}, {"f64[3]"}},
         {{"strides", Attr::Integers{2, 3}}, {"output_padding", Attr::Integers{1, 0}}}});
  check({"deform_conv",
         {{"f64[N, 2, H, S]"},
          {"f64[4, 2, 2, 2]"},
          {"f64[N, 8, H - 1, S - 1]"},
          {"f64[4]"},
          {"f64[N, 4, H - 1, S - 1]"}},
         {}});
  check({"einsum", {{"f64[N, S, 3]"}, {"f64[N, T, 3]"}}, {{"equation", "bik,bjk->bij"}}});
  check({"einsum", {{"f64[N, S, 2, 3]"}, {"f64[2, 3, T]"}}, {{"equation", "bihd,hdk->bik"}}});
  check({"einsum", {{"f64[S, N]"}, {"f64[T]"}}, {{"equation", "ij,k->ki"}}});
  check({"linear", {{"f64[N, S, 3]"}, {"f64[3, 4]"}, {"f64[4]"}}, {}});
  check(
      {"gemm", {{"f64[S, N]"}, {"f64[4, S]"}, {"f64[4]"}}, {{"trans_a", true}, {"trans_b", true}}});
  check({"matmul", {{"f64[N, S, 3]"}, {"f64[3, 4]"}}, {}});
  check({"det", {{"f64[N, S, 3, 3]"}}, {}});
}

TEST(Symbolic, Pools) {
  const Attr::Integers two = {2, 2};
  check({"max_pool",
         {{"f64[N, 2, H, S]"}},
         {{"kernel", two}, {"strides", two}, {"ceil_mode", true}}});
  check({"average_pool", {{"f64[N, 2, H, S]"}}, {{"kernel", two}, {"auto_pad", "SAME_LOWER"}}});
  check({"lp_pool", {{"f64[N, 2, H]"}}, {{"kernel", Attr::Integers{3}}, {"p", 3}}});
  for (const char* op : {"global_average_pool", "global_max_pool", "global_lp_pool"})
    check({op, {{"f64[N, 2, H, S]"}}, {}});
  check({"max_unpool",
         {{"f64[N, 1, S]"}, {"i64[N, 1, S]", 6}},
         {{"kernel", Attr::Integers{2}}, {"strides", Attr::Integers{2}}}});
  check({"max_roi_pool", {{"f64[N, 2, H, S]"}, {"f64[T, 5]", 1}}, {{"pooled_shape", two}}});
  check({"roi_align",
         {{"f64[N, 2, H, S]"}, {"f64[T, 4]"}, {"i64[T]", 1}},
         {{"sampling_ratio", 2}, {"output_height", 2}}});
  check({"roi_align",
         {{"f64[N, 2, H, S]"}, {"f64[T, 4]"}, {"i64[T]", 1}},
         {{"coordinate_transformation_mode", "output_half_pixel"}, {"mode", "max"}}});
}

TEST(Symbolic, Normalisations) {
  check({"layer_norm", {{"f64[N, S, 4]"}, {"f64[4]"}, {"f64[4]"}}, {}});
  check({"layer_norm", {{"f64[N, S, T]"}}, {{"axis", 1}}});
  check({"rms_norm", {{"f64[N, S, 4]"}, {"f64[4]"}}, {}});
  check({"group_norm", {{"f64[N, 4, H, S]"}, {"f64[4]"}, {"f64[4]"}}, {{"num_groups", 2}}});
  check({"instance_norm", {{"f64[N, 4, H, S]"}, {"f64[4]"}, {"f64[4]"}}, {}});
  check({"batch_norm",
         {{"f64[N, 4, H]"}, {"f64[4]"}, {"f64[4]"}, {"f64[4]"}, {"f64[4]"}},
         {{"training", true}}});
  check({"lrn", {{"f64[N, 4, H]"}}, {{"size", 3}}});
  check({"mean_variance_norm", {{"f64[N, 4, H, S]"}}, {}});
  check({"lp_norm", {{"f64[N, S]"}}, {{"axis", 0}}});
  check({"log_softmax", {{"f64[N, S]"}}, {}});
  check({"hardmax", {{"f64[N, S]"}}, {}});
}

TEST(Symbolic, Attention) {
  check({"attention",
         {{"f64[N, 4, S, 3]"}, {"f64[N, 2, T, 3]"}, {"f64[N, 2, T, 2]"}},
         {{"is_causal", true}}});
  check({"attention",
         {{"f64[N, S, 8]"},
          {"f64[N, S, 4]"},
          {"f64[N, S, 4]"},
          {"f64[N, 1, S, T + S]"},
          {"f64[N, 2, T, 2]"},
          {"f64[N, 2, T, 2]"}},
         {{"q_num_heads", 4}, {"kv_num_heads", 2}, {"is_causal", true}, {"softcap", 1.5}},
         3});
  check({"attention",
         {{"f64[N, 2, S, 3]"},
          {"f64[N, 2, T, 3]"},
          {"f64[N, 2, T, 2]"},
          {nullptr},
          {nullptr},
          {nullptr},
          {"i64[N]", 4}},
         {}});
  check({"flex_attention", {{"f64[N, 4, S, 3]"}, {"f64[N, 2, T, 3]"}, {"f64[N, 2, T, 2]"}}, {}});
  check({"rotary_embedding",
         {{"f64[N, S, 8]"}, {"f64[9, 2]"}, {"f64[9, 2]"}, {"i64[N, S]", 9}},
         {{"num_heads", 2}}});
  check({"rotary_embedding",
         {{"f64[N, 2, S, 6]"}, {"f64[N, S, 2]"}, {"f64[N, S, 2]"}},
         {{"interleaved", true}, {"rotary_dim", 4}}});
  check({"linear_attention",
         {{"f64[N, 3, 4]"},
          {"f64[N, 3, 4]"},
          {"f64[N, 3, 2]"},
          {nullptr},
          {"f64[N, 3, 2]"},
          {"f64[N, 3, 2]"}},
         {{"q_num_heads", 2}, {"kv_num_heads", 2}}});
  check({"causal_conv_with_state",
         {{"f64[N, 4, S]"}, {"f64[4, 1, 3]"}, {"f64[4]"}},
         {{"activation", "silu"}}});
}

TEST(Symbolic, Recurrences) {
  check({"lstm",
         {{"f64[3, N, 2]"}, {"f64[2, 12, 2]"}, {"f64[2, 12, 3]"}, {"f64[2, 24]"}, {"i64[N]", 4}},
         {{"direction", "bidirectional"}}});
  check({"gru", {{"f64[N, 3, 2]"}, {"f64[1, 9, 2]"}, {"f64[1, 9, 3]"}}, {{"layout", 1}}});
  check({"rnn",
         {{"f64[3, N, 2]"},
          {"f64[1, 3, 2]"},
          {"f64[1, 3, 3]"},
          {nullptr},
          {nullptr},
          {"f64[1, N, 3]"}},
         {{"direction", "reverse"}}});
}

TEST(Symbolic, Losses) {
  check({"nll_loss", {{"f64[N, 3, S]"}, {"i64[N, S]", 3}, {"f64[3]"}}, {{"ignore_index", 1}}});
  check({"softmax_cross_entropy", {{"f64[N, 3]"}, {"i64[N]", 3}}, {}, 2});
  check({"softmax_cross_entropy", {{"f64[N, S]"}, {"i64[N]", 3}}, {{"reduction", "none"}}});
  check({"momentum",
         {{"f64[]"}, {"i64[]", 3}, {"f64[N, S]"}, {"f64[N, S]"}, {"f64[N, S]"}},
         {{"alpha", 0.9}, {"beta", 0.5}}});
}

TEST(Symbolic, Quantisation) {
  check({"dequantize_linear", {{"i8[N, S, 4]", 9}, {"f32[4]"}, {"i8[4]", 3}}, {{"axis", 2}}});
  check({"dequantize_linear",
         {{"u8[S, 4]", 9}, {"f32[div(S + 1, 2), 4]"}},
         {{"axis", 0}, {"block_size", 2}}});
  check({"quantize_linear", {{"f32[N, S]"}, {"f32[]"}}, {{"output_dtype", DType::i8}}});
  check({"matmul_integer", {{"u8[N, S, 3]", 9}, {"i8[3, 4]", 9}}, {}});
  check({"qlinear_conv",
         {{"u8[N, 2, H]", 9},
          {"f32[]"},
          {"u8[]", 3},
          {"i8[4, 2, 3]", 9},
          {"f32[4]"},
          {"i8[4]", 3},
          {"f32[]"},
          {"u8[]", 3},
          {"i32[4]", 9}},
         {}});
}

}  // namespace
}  // namespace tenon::ops
