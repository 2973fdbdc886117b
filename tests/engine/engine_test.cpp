// Graphs through the pipeline and the runtime, against the interpreter on the untouched graph.
#include "tenon/engine/engine.h"

#include <gtest/gtest.h>

#include "tenon/ir/text.h"
#include "tenon/ops/interpreter.h"
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"

namespace tenon {
namespace {

Tensor ramp(Dims dims) {
  Tensor t(DType::f32, std::move(dims));
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>((i * 37) % 11) * 0.25f - 1.0f;
  return t;
}

// y = softmax(relu(x w + b) reshaped by computed sizes), and the hidden layer as second output
std::unique_ptr<Graph> network() {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", Type(DType::f32, {Dim::symbol("N"), Dim::symbol("T"), 4}));
  GraphBuilder builder(*g, ops::table());
  ops::B b(builder);
  Value* h = b.relu(b.add(b.matmul(x, b.constant(ramp({4, 6}))), b.constant(ramp({6}))));
  Value* batch = b.slice(b.shape(h), b.ints({0}), b.ints({1}));
  Value* flat = b.reshape(h, b.concat(batch, b.ints({-1}), Attrs{{"axis", 0}}));
  Value* y = b.softmax(b.mul(b.exp(b.neg(flat)), b.number(0.5, flat)), Attrs{{"axis", 1}});
  EXPECT_TRUE(builder.status().ok()) << builder.status().error().text();
  g->add_output(y, "y");
  g->add_output(h, "h");
  return g;
}

class OnEveryBackend : public testing::TestWithParam<std::string_view> {};

TEST_P(OnEveryBackend, EqualsTheInterpreterForEverySize) {
  auto graph = network();
  auto backend = engine::backend_named(GetParam());
  ASSERT_TRUE(backend.ok());
  engine::CompileReport report;
  auto executable = engine::compile(graph->clone(), **backend, {}, &report);
  ASSERT_TRUE(executable.ok()) << executable.error().text();
  EXPECT_TRUE((*executable)->is_static()) << to_text((*executable)->graph());
  ThreadPool pool(2);
  for (const Dims& dims : {Dims{2, 3, 4}, Dims{1, 5, 4}, Dims{2, 3, 4}, Dims{3, 1, 4}}) {
    const Datums inputs = {Datum(ramp(dims))};
    auto got = (*executable)->run(inputs, pool), want = ops::interpret(*graph, inputs);
    ASSERT_TRUE(got.ok()) << got.error().text();
    ASSERT_TRUE(want.ok()) << want.error().text();
    for (std::size_t i = 0; i < want->size(); ++i) {
      ASSERT_EQ((*got)[i].tensor().dims(), (*want)[i].tensor().dims());
      if (GetParam() == "null") continue;
      for (std::int64_t k = 0; k < (*want)[i].tensor().count(); ++k)
        ASSERT_NEAR(element((*got)[i].tensor(), k), element((*want)[i].tensor(), k), 1e-5);
    }
  }
}

TEST_P(OnEveryBackend, RefusesWrongInputsByName) {
  auto executable = engine::compile(network(), **engine::backend_named(GetParam()), {});
  ASSERT_TRUE(executable.ok());
  ThreadPool pool(1);
  auto r = (*executable)->run({Datum(ramp({2, 3, 5}))}, pool);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("input x"), std::string::npos) << r.error().text();
  EXPECT_FALSE((*executable)->run({}, pool).ok());
}

INSTANTIATE_TEST_SUITE_P(Backends, OnEveryBackend, testing::ValuesIn(engine::backend_names()));

// w' = w - x, and y either sum(w + x), which reads w before or after w' is made, or sum(w w'),
// which must read it after: then w' is copied.
TEST_P(OnEveryBackend, DonatedInputsBecomeOutputs) {
  enum { early, late, after };
  for (const int reads : {early, late, after}) {
    auto g = std::make_unique<Graph>();
    const Type type(DType::f32, {3});
    Value *w = g->add_input("w", type), *x = g->add_input("x", type);
    GraphBuilder builder(*g, ops::table());
    ops::B b(builder);
    const Attrs whole = {{"keepdims", false}};
    Value* first = reads == early ? b.reduce_sum(b.add(w, x), whole) : nullptr;
    Value* next = b.sub(w, x);
    Value* y = reads == early  ? first
               : reads == late ? b.reduce_sum(b.add(w, x), whole)
                               : b.reduce_sum(b.mul(w, next), whole);
    g->add_output(next, "w'");
    g->add_output(y, "y");
    engine::CompileOptions options;
    options.donations = {{0, 0}};
    auto executable = engine::compile(std::move(g), **engine::backend_named(GetParam()), options);
    ASSERT_TRUE(executable.ok()) << executable.error().text();
    ThreadPool pool(1);
    const Tensor weight = Tensor::vector<float>({5, 6, 7}), step = Tensor::vector<float>({1, 2, 3});
    for (int k = 1; k <= 2; ++k) {
      auto out = (*executable)->run({Datum(weight), Datum(step)}, pool);
      ASSERT_TRUE(out.ok()) << out.error().text();
      EXPECT_EQ((*out)[0].tensor().raw(), weight.raw());
      if (GetParam() == "null") continue;
      EXPECT_EQ(element(weight, 2), 7 - 3 * k);
      EXPECT_EQ(element((*out)[1].tensor(), 0),
                reads == after ? (k == 1 ? 72 : 24) : 18 - 6 * (k - 1) + 6);
    }
    auto memory = (*executable)->memory({Datum(weight), Datum(step)});
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(memory->donated_bytes + memory->copied_bytes, 12);
    if (GetParam() == "cpu" && reads != after) {
      EXPECT_EQ(memory->copied_bytes, 0);
    }
  }
}

// A product without a kernel that takes steps keeps them apart: nothing of it is interpreted.
TEST(Passes, OnlyJoinStepsToProductsThatTakeThem) {
  auto g = std::make_unique<Graph>();
  Value *x = g->add_input("x", Type(DType::f32, {2, 3, 8, 8})),
        *dy = g->add_input("dy", Type(DType::f32, {2, 4, 6, 6})),
        *m = g->add_input("m", Type(DType::f32, {4, 3, 3, 3}));
  GraphBuilder builder(*g, ops::table());
  ops::B b(builder);
  g->add_output(b.add(b.conv_weight_adjoint(x, dy, b.ints({3, 3})), m), "y");
  engine::CompileReport report;
  auto executable = engine::compile(std::move(g), **engine::backend_named("cpu"), {}, &report);
  ASSERT_TRUE(executable.ok()) << executable.error().text();
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST(Passes, AreIdempotentAndKeepTheMeaning) {
  auto graph = network();
  const Datums inputs = {Datum(ramp({2, 3, 4}))};
  auto want = ops::interpret(*graph, inputs);
  ASSERT_TRUE(want.ok());
  passes::PassContext context;
  context.backend = *engine::backend_named("null");
  for (const passes::Pass& pass : passes::all_passes()) {
    auto copy = graph->clone();
    ASSERT_TRUE(passes::run_passes(*copy, {pass.name}, context).ok());
    auto again = passes::run_passes(*copy, {pass.name}, context);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)[0].rewrites, 0) << pass.name << "\n" << to_text(*copy);
    auto got = ops::interpret(*copy, inputs);
    ASSERT_TRUE(got.ok()) << pass.name << ": " << got.error().text();
    for (std::int64_t k = 0; k < (*want)[0].tensor().count(); ++k)
      ASSERT_NEAR(element((*got)[0].tensor(), k), element((*want)[0].tensor(), k), 1e-6)
          << pass.name;
  }
}

// What branches of different ranks leave without rank is compiled when a run tells its sizes.
TEST(LateKernels, RunWhatHasNoRankBeforeTheRun) {
  auto g = std::make_unique<Graph>();
  Value* x = g->add_input("x", Type::unranked(DType::f32));
  GraphBuilder builder(*g, ops::table());
  ops::B b(builder);
  Value* w = b.constant(ramp({1, 8, 4}));
  Value* r = b.constant(ramp({1, 8, 2}));
  const Values y = b.all_of("lstm", {b.relu(x), w, r}, {}, 3);
  ASSERT_TRUE(builder.status().ok()) << builder.status().error().text();
  g->add_output(y[0], "y");
  engine::CompileReport report;
  auto executable = engine::compile(g->clone(), **engine::backend_named("cpu"), {}, &report);
  ASSERT_TRUE(executable.ok()) << executable.error().text();
  EXPECT_TRUE(report.fallbacks.empty());
  ThreadPool pool(1);
  for (const Dims& dims : {Dims{3, 2, 4}, Dims{1, 1, 4}}) {
    const Datums inputs = {Datum(ramp(dims))};
    auto got = (*executable)->run(inputs, pool), want = ops::interpret(*g, inputs);
    ASSERT_TRUE(got.ok()) << got.error().text();
    ASSERT_TRUE(want.ok()) << want.error().text();
    for (std::int64_t k = 0; k < (*want)[0].tensor().count(); ++k)
      ASSERT_NEAR(element((*got)[0].tensor(), k), element((*want)[0].tensor(), k), 1e-5);
  }
  EXPECT_TRUE((*executable)->declined().empty()) << (*executable)->declined()[0].reason;
}

TEST(Memory, IsPlannedNearTheLiveSet) {
  engine::CompileOptions options;
  options.disabled_passes = {"fuse_epilogue"};  // fused, too few buffers are left to share any
  auto executable = engine::compile(network(), **engine::backend_named("null"), options);
  ASSERT_TRUE(executable.ok());
  auto use = (*executable)->memory({Datum(ramp({8, 16, 4}))});
  ASSERT_TRUE(use.ok()) << use.error().text();
  EXPECT_GE(use->arena_bytes, use->lower_bound_bytes);
  EXPECT_LT(use->arena_bytes, use->no_reuse_bytes);
}

}  // namespace
}  // namespace tenon
