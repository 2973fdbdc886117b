// Epilogues, folded channels, channels last: what fires, what must not, and that the compiled graph
// computes what the interpreter computes.
#include <gtest/gtest.h>

#include <random>

#include "tenon/engine/engine.h"
#include "tenon/ir/text.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

Tensor noise(Dims dims, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  Tensor t(DType::f32, std::move(dims));
  for (float& v : t.data<float>()) v = draw(random);
  return t;
}

class Network {
 public:
  Network() : graph(std::make_unique<Graph>()), builder(*graph, ops::table()), b(builder) {}
  Value* input(std::string name, Shape shape) {
    return graph->add_input(std::move(name), Type(DType::f32, std::move(shape)));
  }
  Value* weight(Dims dims) { return b.constant(noise(std::move(dims), ++seed_)); }
  Value* conv(Value* x, Dims w, Attrs attrs = {}) {
    return b.conv(x, weight(std::move(w)), std::move(attrs));
  }
  Value* pad1(Value* x, Dims w, std::int64_t group = 1, std::int64_t stride = 1) {
    return conv(x, std::move(w),
                Attrs{{"pads", Attr::Integers{1, 1, 1, 1}},
                      {"group", group},
                      {"strides", Attr::Integers{stride, stride}}});
  }
  // conv -> y * scale + bias, as a batch norm is written out
  Value* norm(Value* x, std::int64_t channels) {
    Value* scaled = b.mul(b.sub(x, weight({channels, 1, 1})), weight({channels, 1, 1}));
    return b.add(scaled, weight({1, channels, 1, 1}));
  }
  void output(Value* y) { graph->add_output(y, fmt::format("y{}", graph->outputs().size())); }

  std::unique_ptr<Graph> graph;
  GraphBuilder builder;
  ops::B b;

 private:
  unsigned seed_ = 0;
};

const Backend& cpu() { return **engine::backend_named("cpu"); }

int count(const Graph& g, std::string_view op) {
  int n = 0;
  for (const Node* node : g.nodes()) n += node->op().name == op;
  return n;
}

std::unique_ptr<Graph> after(const Graph& g, std::vector<std::string_view> passes) {
  auto copy = g.clone();
  passes::PassContext context;
  context.backend = &cpu();
  auto done = passes::run_passes(*copy, passes, context);
  EXPECT_TRUE(done.ok());
  for (std::string_view pass : passes) {  // the last pass of each kind finds nothing more
    if (pass != passes.back()) continue;
    auto again = passes::run_passes(*copy, {pass}, context);
    EXPECT_EQ((*again)[0].rewrites, 0) << pass << "\n" << to_text(*copy);
  }
  return copy;
}

// Compiled for the cpu, every kernel native, equal to the interpreter on one and on two threads.
std::unique_ptr<Executable> expect_same(const Graph& g, const std::vector<Dims>& sizes) {
  engine::CompileReport report;
  auto executable = engine::compile(g.clone(), cpu(), {}, &report);
  EXPECT_TRUE(executable.ok()) << executable.error().text();
  for (const auto& f : report.fallbacks) ADD_FAILURE() << f.node << " " << f.op << ": " << f.reason;
  Datums inputs;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    inputs.emplace_back(noise(sizes[i], static_cast<unsigned>(100 + i)));
  auto want = ops::interpret(g, inputs);
  EXPECT_TRUE(want.ok()) << want.error().text();
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    auto got = (*executable)->run(inputs, pool);
    EXPECT_TRUE(got.ok()) << got.error().text();
    for (std::size_t i = 0; got.ok() && i < want->size(); ++i) {
      const Tensor &a = (*got)[i].tensor(), &b = (*want)[i].tensor();
      EXPECT_EQ(a.dims(), b.dims());
      double worst = 0;
      for (std::int64_t k = 0; k < b.count(); ++k)
        worst = std::max(worst, std::abs(element(a, k) - element(b, k)) /
                                    std::max(1.0, std::abs(element(b, k))));
      EXPECT_LT(worst, 2e-5) << threads << " threads\n" << to_text((*executable)->graph());
    }
  }
  return std::move(*executable);
}

TEST(FuseEpilogue, TakesBiasActivationAndResidual) {
  Network n;
  Value *x = n.input("x", {2, 8, 16}), *r = n.input("r", {2, 8, 24});
  Value* h = n.b.relu(n.b.add(n.b.matmul(x, n.weight({16, 24})), n.weight({24})));
  n.output(n.b.add(h, r));
  auto g = after(*n.graph, {"fuse_epilogue"});
  EXPECT_EQ(count(*g, "fused"), 1) << to_text(*g);
  EXPECT_EQ(g->num_nodes(), 1) << to_text(*g);
  expect_same(*n.graph, {{2, 8, 16}, {2, 8, 24}});
}

TEST(FuseEpilogue, MustNotFireWhereTheProductIsReadTwiceOrLeaves) {
  Network n;
  Value* x = n.input("x", {4, 16});
  Value* y = n.b.matmul(x, n.weight({16, 8}));
  n.output(n.b.relu(y));
  n.output(y);
  EXPECT_EQ(count(*after(*n.graph, {"fuse_epilogue"}), "fused"), 0);
  Network m;
  x = m.input("x", {4, 16});
  y = m.b.matmul(x, m.weight({16, 8}));
  m.output(m.b.mul(m.b.relu(y), m.b.exp(y)));
  EXPECT_EQ(count(*after(*m.graph, {"fuse_epilogue"}), "fused"), 0);
  expect_same(*m.graph, {{4, 16}});
}

TEST(FuseEpilogue, MustNotFireWhereTheResultGrows) {
  Network n;
  Value* x = n.input("x", {1, 16});
  n.output(n.b.add(n.b.matmul(x, n.weight({16, 8})), n.weight({4, 8})));
  EXPECT_EQ(count(*after(*n.graph, {"fuse_epilogue"}), "fused"), 0);
  expect_same(*n.graph, {{1, 16}});
}

TEST(FuseEpilogue, KeepsTheOrderOfTwoConvolutionsThatMeet) {
  Network n;
  Value* x = n.input("x", {1, 16, 9, 9});
  Value *left = n.conv(x, {32, 16, 1, 1}), *right = n.pad1(x, {32, 16, 3, 3});
  n.output(n.b.relu(n.b.add(right, left)));
  auto e = expect_same(*n.graph, {{1, 16, 9, 9}});
  EXPECT_EQ(count(e->graph(), "add"), 0) << to_text(e->graph());
}

TEST(FuseEpilogue, EveryActivationIsTheInterpreters) {
  for (std::string_view op :
       {"relu", "sigmoid", "tanh", "silu", "hard_swish", "hard_sigmoid", "gelu", "elu", "exp",
        "abs", "square", "mish", "neg", "leaky_relu", "softplus", "erf", "sin", "ceil"}) {
    SCOPED_TRACE(op);
    Network n;
    Value *x = n.input("x", {5, 12}), *p = n.input("p", {1, 12, 6, 7});
    const auto f = [&](Value* v) { return n.builder.call(n.builder.op(op), {v})[0]; };
    n.output(
        n.b.mul(f(n.b.add(n.b.matmul(x, n.weight({12, 20})), n.weight({20}))), n.weight({20})));
    n.output(f(n.pad1(p, {16, 12, 3, 3})));
    expect_same(*n.graph, {{5, 12}, {1, 12, 6, 7}});
  }
}

TEST(FuseEpilogue, ClipsKeepsNumbersAndOperandsOfAnyShape) {
  Network n;
  Value *x = n.input("x", {3, 4, 12}), *row = n.input("row", {4, 1}),
        *all = n.input("all", {4, 10});
  Value* y = n.b.matmul(x, n.weight({12, 10}));
  y = n.b.clip(n.b.sub(n.b.number(1, y), y), n.b.number(-0.5, y), n.b.number(1.5, y));
  n.output(n.b.div(n.b.mul(n.b.add(y, row), all), n.b.number(3, y)));
  expect_same(*n.graph, {{3, 4, 12}, {4, 1}, {4, 10}});
}

TEST(FoldAffine, PutsBatchNormIntoTheWeights) {
  Network n;
  Value* x = n.input("x", {1, 8, 10, 10});
  n.output(n.b.relu(n.norm(n.pad1(x, {16, 8, 3, 3}), 16)));
  auto g = after(*n.graph, {"fold_affine"});
  EXPECT_EQ(g->num_nodes(), 2) << to_text(*g);
  expect_same(*n.graph, {{1, 8, 10, 10}});
  Network m;
  Value* y = m.b.matmul(m.input("x", {4, 8}), m.weight({8, 6}));
  m.output(m.b.div(m.b.mul(y, m.weight({6})), m.b.number(8, y)));
  EXPECT_EQ(after(*m.graph, {"fold_affine"})->num_nodes(), 1);
  expect_same(*m.graph, {{4, 8}});
}

TEST(FoldAffine, MustNotFireOnSpatialConstantsAndSharedWeights) {
  Network n;
  Value* x = n.input("x", {1, 4, 6, 6});
  n.output(n.b.mul(n.conv(x, {4, 4, 1, 1}), n.weight({6, 6})));
  EXPECT_EQ(after(*n.graph, {"fold_affine"})->num_nodes(), 2);
  Network m;
  x = m.input("x", {4, 8});
  Value *w = m.weight({8, 8}), *c = m.weight({8});
  m.output(m.b.mul(m.b.matmul(m.b.matmul(x, w), w), c));
  EXPECT_EQ(after(*m.graph, {"fold_affine"})->num_nodes(), 3);
}

TEST(RecogniseActivations, FindsWhatExportersWrite) {
  Network n;
  Value* x = n.input("x", {4, 8});
  const auto number = [&](double v) { return n.b.number(v, x); };
  n.output(n.b.mul(x, n.b.sigmoid(x)));
  n.output(n.b.mul(n.b.hard_sigmoid(x, Attrs{{"alpha", 1.0 / 6}}), x));
  n.output(n.b.div(n.b.mul(x, n.b.clip(n.b.add(x, number(3)), number(0), number(6))), number(6)));
  Value* e = n.b.add(n.b.erf(n.b.div(x, number(1.41421356))), number(1));
  n.output(n.b.mul(n.b.mul(x, e), number(0.5)));
  n.output(n.b.mul(n.b.mul(number(0.5), x), e));
  Value* cube = n.b.mul(number(0.044715), n.b.pow(x, number(3)));
  Value* t = n.b.tanh(n.b.mul(number(0.7978845608), n.b.add(x, cube)));
  n.output(n.b.mul(n.b.mul(number(0.5), x), n.b.add(number(1), t)));
  auto g = after(*n.graph, {"recognise_activations", "dead_code"});
  EXPECT_EQ(count(*g, "silu"), 1);
  EXPECT_EQ(count(*g, "hard_swish"), 2);
  EXPECT_EQ(count(*g, "gelu"), 3);
  EXPECT_EQ(g->num_nodes(), 6) << to_text(*g);
  expect_same(*n.graph, {{4, 8}});
}

TEST(RecogniseActivations, MustNotFireOnOtherNumbers) {
  Network n;
  Value* x = n.input("x", {4, 8});
  n.output(n.b.mul(x, n.b.sigmoid(n.b.mul(x, n.b.number(1.702, x)))));
  n.output(n.b.mul(x, n.b.hard_sigmoid(x, Attrs{{"alpha", 0.2}})));
  n.output(n.b.mul(x, n.b.add(n.b.erf(x), n.b.number(1, x))));
  auto g = after(*n.graph, {"recognise_activations"});
  EXPECT_EQ(g->num_nodes(), n.graph->num_nodes());
}

// A residual block with squeeze-and-excitation, pooling, concatenation and a head.
TEST(ChannelsLast, StaysBetweenConvolutions) {
  Network n;
  Value* x = n.input("x", {Dim::symbol("N"), 3, 17, 19});
  Value* h = n.b.hard_swish(n.norm(n.pad1(x, {16, 3, 3, 3}, 1, 2), 16));
  Value* d = n.b.relu(n.norm(n.pad1(h, {16, 1, 3, 3}, 16), 16));
  Value* s = n.b.global_average_pool(d);
  s = n.b.hard_sigmoid(n.conv(n.b.relu(n.conv(s, {8, 16, 1, 1})), {16, 8, 1, 1}));
  Value* e = n.b.add(n.conv(n.b.mul(d, s), {16, 16, 1, 1}), h);
  Value* p = n.b.max_pool(e, Attrs{{"kernel", Attr::Integers{3, 3}},
                                   {"strides", Attr::Integers{2, 2}},
                                   {"pads", Attr::Integers{1, 1, 1, 1}}});
  Value* q = n.b.average_pool(
      p, Attrs{{"kernel", Attr::Integers{2, 2}}, {"pads", Attr::Integers{1, 1, 1, 1}}});
  Value* c = n.b.concat(n.pad1(p, {8, 16, 3, 3}), p, Attrs{{"axis", 1}});
  n.output(n.b.add(n.conv(c, {12, 24, 1, 1}), n.weight({12, 1, 1})));
  n.output(q);
  Value* flat = n.b.reshape(n.b.global_average_pool(c), n.b.ints({0, 24}));
  n.output(n.b.matmul(flat, n.weight({24, 10})));
  auto e1 = expect_same(*n.graph, {{1, 3, 17, 19}});
  // One in, one for each of the two outputs that are pictures.
  EXPECT_EQ(count(e1->graph(), "transpose"), 3) << to_text(e1->graph());
  expect_same(*n.graph, {{4, 3, 17, 19}});
}

TEST(ChannelsLast, TakesOneAndThreeSpatialAxesGroupsAndStrides) {
  Network n;
  Value *a = n.input("a", {2, 6, 31}), *v = n.input("v", {1, 4, 5, 6, 7}),
        *g = n.input("g", {1, 12, 9, 9});
  n.output(n.b.relu(n.conv(a, {10, 6, 5}, Attrs{{"strides", Attr::Integers{3}}})));
  n.output(n.conv(v, {6, 4, 2, 3, 3}, Attrs{{"dilations", Attr::Integers{1, 2, 1}}}));
  n.output(n.b.sigmoid(n.pad1(g, {18, 4, 3, 3}, 3)));
  n.output(n.b.relu(n.pad1(g, {24, 1, 3, 3}, 12, 2)));
  expect_same(*n.graph, {{2, 6, 31}, {1, 4, 5, 6, 7}, {1, 12, 9, 9}});
}

TEST(ChannelsLast, RunsOneFilterAChannelForAnyNumberOfChannels) {
  for (std::int64_t c : {16, 20, 33, 72}) {
    SCOPED_TRACE(c);
    Network n;
    Value* x = n.input("x", {2, c, 15, 14});
    for (std::int64_t stride : {1, 2}) {
      Value* y = n.conv(x, {c, 1, 5, 3},
                        Attrs{{"pads", Attr::Integers{2, 1, 2, 1}},
                              {"group", c},
                              {"strides", Attr::Integers{stride, stride}}});
      n.output(n.b.hard_swish(n.norm(y, c)));
      n.output(n.b.mul(n.b.silu(n.b.add(y, n.weight({c, 1, 1}))), n.input("s", {2, c, 1, 1})));
      n.output(n.b.clip(n.pad1(x, {c, 1, 3, 3}, c), n.b.number(0, x), n.b.number(0.5, x)));
    }
    expect_same(*n.graph, {{2, c, 15, 14}, {2, c, 1, 1}, {2, c, 1, 1}});
  }
}

TEST(SinkTransposes, LetsNothingMoveThatDoesNotPay) {
  Network n;
  Value *x = n.input("x", {2, 3, 4, 5}), *r = n.input("r", {2, 4, 5, 3});
  Value* t = n.b.transpose(x, Attrs{{"perm", Attr::Integers{0, 2, 3, 1}}});
  n.output(n.b.add(t, r));
  auto g = after(*n.graph, {"sink_transposes"});
  EXPECT_EQ(count(*g, "transpose"), 1);
  EXPECT_EQ(g->num_nodes(), 2);
}

TEST(SinkTransposes, CancelsThoseThatAnExporterPutAround) {
  Network n;
  Value* x = n.input("x", {2, 3, 4, 5});
  const Attrs there{{"perm", Attr::Integers{0, 2, 3, 1}}},
      back{{"perm", Attr::Integers{0, 3, 1, 2}}};
  Value* h = n.b.relu(n.b.add(n.b.transpose(x, there), n.weight({3})));
  h = n.b.pad(h, n.b.ints({0, 1, 0, 0, 0, 1, 2, 0}));
  h = n.b.slice(h, n.b.ints({1, 0}), n.b.ints({4, 2}), n.b.ints({1, -1}));
  h = n.b.softmax(h, Attrs{{"axis", 3}});
  n.output(n.b.transpose(n.b.sub(n.b.concat(h, h, Attrs{{"axis", -1}}), n.b.number(1, h)), back));
  n.output(n.b.reduce_max(h, n.b.ints({1}), Attrs{{"keepdims", false}}));
  auto g = after(*n.graph, {"sink_transposes", "simplify", "dead_code"});
  EXPECT_EQ(count(*g, "transpose"), 1) << to_text(*g);  // of what the second output has left
  expect_same(*n.graph, {{2, 3, 4, 5}});
}

}  // namespace
}  // namespace tenon
