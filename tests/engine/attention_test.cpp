// Attention as models write it, as one kernel, against the interpreter on the untouched graph.
#include <gtest/gtest.h>

#include "tenon/engine/engine.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon {
namespace {

using ops::B;

Tensor noise(const Dims& dims, std::uint32_t state) {
  Tensor t(DType::f32, dims);
  for (float& x : t.data<float>()) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>((state >> 8) / 8388608.0 - 1);
  }
  return t;
}
Attrs perm(Attr::Integers p) { return Attrs{{"perm", std::move(p)}}; }
Value* heads_first(B g, Value* x) { return g.transpose(x, perm({0, 2, 1, 3})); }

struct Case {
  std::string name;
  std::vector<Dims> inputs;  // q, k, v and what follows
  std::function<Value*(B g, const Values& x)> build;
  int kernels = 1;  // that are left
  bool symbolic = false;
};

std::unique_ptr<Graph> graph_of(const Case& c) {
  auto g = std::make_unique<Graph>();
  GraphBuilder builder(*g, ops::table());
  Values x;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Shape shape(c.inputs[i].begin(), c.inputs[i].end());
    if (c.symbolic && shape.size() == 4) shape[0] = Dim::symbol("N"), shape[1] = Dim::symbol("S");
    x.push_back(g->add_input("x" + std::to_string(i), Type(DType::f32, shape)));
  }
  Value* y = c.build(B(builder), x);
  EXPECT_TRUE(builder.status().ok()) << builder.status().error().text();
  g->add_output(y, "y");
  return g;
}

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  auto graph = graph_of(c);
  Datums inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    inputs.emplace_back(noise(c.inputs[i], static_cast<std::uint32_t>(i) + 1));
  auto want = ops::interpret(*graph, inputs);
  ASSERT_TRUE(want.ok()) << want.error().text();
  engine::CompileReport report;
  auto executable = engine::compile(std::move(graph), **engine::backend_named("cpu"), {}, &report);
  ASSERT_TRUE(executable.ok()) << executable.error().text();
  EXPECT_TRUE(report.fallbacks.empty());
  int kernels = 0;
  bool has_attention = false;
  for (const CompiledNode& n : (*executable)->nodes()) {
    kernels += !n.node->op().has(Trait::view);
    has_attention =
        has_attention || (n.kernel && n.kernel->describe().find("attention") != std::string::npos);
  }
  EXPECT_EQ(kernels, c.kernels);
  EXPECT_TRUE(has_attention);
  ThreadPool pool(2);
  auto got = (*executable)->run(inputs, pool);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_LE(ops::distance((*got)[0], (*want)[0]), 1e-5);
}

// Transposes of q, k and v, the scale on the scores, an additive mask, and the way back.
Value* encoder_layer(B g, const Values& x) {
  Value *q = heads_first(g, x[0]), *kt = g.transpose(x[1], perm({0, 2, 3, 1})),
        *v = heads_first(g, x[2]);
  Value* s = g.div(g.matmul(q, kt), g.number(8, q));
  if (x.size() > 3) s = g.add(s, x[3]);
  return heads_first(g, g.matmul(g.softmax(s), v));
}
// The scale split over q and k.
Value* scaled_operands(B g, const Values& x) {
  Value* c = g.number(0.35355339, x[0]);
  Value *q = g.mul(heads_first(g, x[0]), c),
        *kt = g.mul(g.transpose(heads_first(g, x[1]), perm({0, 1, 3, 2})), c);
  return heads_first(g, g.matmul(g.softmax(g.matmul(q, kt)), heads_first(g, x[2])));
}
// A mask of booleans that picks between scores and a low number.
Value* chosen(B g, const Values& x) {
  Value* kt = g.transpose(x[1], perm({0, 1, 3, 2}));
  Value* s = g.matmul(x[0], kt);
  Value* keep = g.less(x[3], g.number(0.3, s));
  return g.matmul(g.softmax(g.where(keep, s, g.number(-3.4e38, s))), x[2]);
}

TEST(FuseAttention, ExportedFormsBecomeOneKernel) {
  check({"encoder", {{2, 7, 3, 16}, {2, 7, 3, 16}, {2, 7, 3, 16}}, encoder_layer});
  check({"long", {{1, 300, 2, 64}, {1, 300, 2, 64}, {1, 300, 2, 64}}, encoder_layer});
  check({"other lengths", {{1, 150, 2, 20}, {1, 131, 2, 20}, {1, 131, 2, 36}}, encoder_layer});
  check(
      {"mask of keys", {{2, 7, 3, 16}, {2, 7, 3, 16}, {2, 7, 3, 16}, {2, 1, 1, 7}}, encoder_layer});
  check({"bias of heads",
         {{2, 49, 3, 32}, {2, 49, 3, 32}, {2, 49, 3, 32}, {1, 3, 49, 49}},
         encoder_layer});
  check({"scaled operands", {{2, 9, 3, 16}, {2, 9, 3, 16}, {2, 9, 3, 16}}, scaled_operands});
  check({"symbolic", {{2, 9, 3, 16}, {2, 9, 3, 16}, {2, 9, 3, 16}}, scaled_operands, 1, true});
  check({"chosen", {{2, 3, 7, 16}, {2, 3, 9, 16}, {2, 3, 9, 8}, {1, 1, 7, 9}}, chosen, 2});
}

// Packed q, k and v, cut from one product; keys turned through a reshape of all heads.
Value* packed_heads(B g, const Values& x) {
  Value* all = g.transpose(g.reshape(x[0], g.ints({2, 9, 3, 2, 8})), perm({2, 0, 3, 1, 4}));
  Values parts;
  for (std::int64_t i = 0; i < 3; ++i)
    parts.push_back(
        g.squeeze(g.slice(all, g.ints({i}), g.ints({i + 1}), g.ints({0})), g.ints({0})));
  Value* flat = g.transpose(g.reshape(parts[1], g.ints({4, 9, 8})), perm({0, 2, 1}));
  Value* kt = g.mul(g.reshape(flat, g.ints({2, 2, 8, 9})), g.number(0.6, x[0]));
  return heads_first(g, g.matmul(g.softmax(g.matmul(parts[0], kt)), parts[2]));
}
// What PyTorch's exporter writes for scaled_dot_product_attention with a mask: queries that see
// nothing give 0.
Value* without_nan(B g, const Values& x) {
  Value* row = g.constant(Tensor::vector<float>({0, 0, -INFINITY, 0, 0, 0, -INFINITY}));
  Value* hidden = g.reshape(row, g.ints({7, 1}));
  Value* kt = g.transpose(x[1], perm({0, 1, 3, 2}));
  Value* p = g.softmax(g.add(g.matmul(x[0], kt), hidden));
  return g.matmul(g.where(g.is_nan(p), g.number(0, p), p), x[2]);
}
// A mask of windows, added under an axis of one picture.
Value* windows(B g, const Values& x) {
  Value* s = g.matmul(x[0], g.transpose(x[1], perm({0, 1, 3, 2})));
  Value* m = g.add(g.reshape(s, g.ints({1, 4, 2, 7, 7})), g.constant(noise({1, 4, 1, 7, 7}, 9)));
  return g.matmul(g.softmax(g.reshape(m, g.ints({4, 2, 7, 7}))), x[2]);
}

TEST(FuseAttention, MovementsOfOperandsBecomeStrides) {
  check({"packed", {{2, 9, 48}}, packed_heads});
  check({"without nan", {{2, 3, 7, 16}, {2, 3, 9, 16}, {2, 3, 9, 8}}, without_nan});
  check({"windows", {{4, 2, 7, 16}, {4, 2, 7, 16}, {4, 2, 7, 16}}, windows});
}

TEST(FuseAttention, TheOperatorIsOneKernel) {
  const auto call = [](Attrs attrs) {
    return [attrs](B g, const Values& x) {
      return g.builder().call(g.builder().op("attention"), x, attrs)[0];
    };
  };
  check({"plain", {{2, 3, 40, 16}, {2, 3, 50, 16}, {2, 3, 50, 24}}, call({})});
  check({"causal",
         {{1, 2, 300, 16}, {1, 2, 300, 16}, {1, 2, 300, 16}},
         call({{"is_causal", true}, {"softcap", 2.0}})});
  check({"grouped", {{2, 6, 33, 16}, {2, 2, 40, 16}, {2, 2, 40, 16}}, call({{"scale", 0.3}})});
  check({"packed heads",
         {{2, 33, 96}, {2, 40, 32}, {2, 40, 32}},
         call({{"q_num_heads", 6}, {"kv_num_heads", 2}})});
  check({"causal with mask",
         {{1, 4, 140, 8}, {1, 2, 140, 8}, {1, 2, 140, 8}, {1, 4, 140, 140}},
         call({{"is_causal", true}})});
}

TEST(FuseAttention, KeepsApartWhatOthersRead) {
  // Probabilities that are a result, too.
  auto g = std::make_unique<Graph>();
  GraphBuilder builder(*g, ops::table());
  B b(builder);
  const Type t(DType::f32, {Dim(1), Dim(2), Dim(5), Dim(8)});
  Value *q = g->add_input("q", t), *k = g->add_input("k", t), *v = g->add_input("v", t);
  Value* p = b.softmax(b.matmul(q, b.transpose(k, perm({0, 1, 3, 2}))));
  g->add_output(b.matmul(p, v), "y");
  g->add_output(p, "p");
  passes::PassContext context;
  context.backend = *engine::backend_named("cpu");
  auto records = passes::run_passes(*g, {"fuse_attention"}, context);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ((*records)[0].rewrites, 0);
}

TEST(FuseAttention, IsIdempotent) {
  auto g = graph_of({"", {{2, 7, 3, 16}, {2, 7, 3, 16}, {2, 7, 3, 16}}, encoder_layer});
  passes::PassContext context;
  context.backend = *engine::backend_named("cpu");
  EXPECT_EQ((*passes::run_passes(*g, {"fuse_attention"}, context))[0].rewrites, 1);
  EXPECT_EQ((*passes::run_passes(*g, {"fuse_attention"}, context))[0].rewrites, 0);
}

}  // namespace
}  // namespace tenon
