// Steps of small nets: in place, against the interpreter, and that they learn.
#include "tenon/train/training_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tenon/base/random.h"
#include "tenon/engine/engine.h"
#include "tenon/models/layers.h"
#include "tenon/ops/interpreter.h"
#include "tenon/train/model_source.h"

namespace tenon::train {
namespace {

std::unique_ptr<Graph> small_net() {
  models::Net net("small", 3);
  Value* x = net.input("image", DType::f32, {1, 8, 8});
  x = net.b().relu(
      models::batch_norm(net, "bn", models::conv2d(net, "conv", x, 4, 3, {1, 1, 1, false})));
  x = models::max_pool2d(net, x, 2, 2);
  x = models::dropout(net, net.b().flatten(x, Attrs{{"axis", 1}}), 0.25);
  net.output(models::linear(net, "fc", x, 3), "logits");
  auto graph = net.finish();
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

std::vector<BatchField> fields(Dim batch) {
  return {{"image", Type(DType::f32, {batch, 1, 8, 8})}, {"label", Type(DType::i64, {batch})}};
}

// Pictures whose class is written into them.
Datums samples(std::int64_t batch, std::uint64_t seed) {
  Tensor image(DType::f32, {batch, 1, 8, 8}), label(DType::i64, {batch});
  fill_normal(image.data<float>(), seed, 0);
  for (std::int64_t n = 0; n < batch; ++n) {
    label.data<std::int64_t>()[static_cast<std::size_t>(n)] = n % 3;
    for (int i = 0; i < 8; ++i)
      image.data<float>()[static_cast<std::size_t>(n * 64 + n % 3 * 16 + i)] += 3;
  }
  return {Datum(image), Datum(label)};
}

Datums with_scalars(const std::vector<Tensor>& state, const Datums& batch, float rate,
                    std::int64_t step) {
  Datums inputs(state.begin(), state.end());
  inputs.insert(inputs.end(), batch.begin(), batch.end());
  inputs.emplace_back(Tensor::scalar(rate));
  inputs.emplace_back(Tensor::scalar(step));
  inputs.emplace_back(Tensor::scalar<std::int64_t>(step * 77));
  return inputs;
}

struct Compiled {
  TrainingGraph graph;
  std::unique_ptr<Graph> untouched;
  std::unique_ptr<Executable> executable;
  std::vector<Tensor> state;
};

Compiled compiled(const Graph& model, const StepOptions& options, bool accumulates = false) {
  Compiled c;
  auto made = training_graph(model, fields(6), options, accumulates);
  EXPECT_TRUE(made.ok()) << made.error().text();
  c.graph = std::move(*made);
  c.untouched = c.graph.graph->clone();
  engine::CompileOptions how;
  how.donations = c.graph.donations;
  auto executable = engine::compile(std::move(c.graph.graph), **engine::backend_named("cpu"), how);
  EXPECT_TRUE(executable.ok()) << executable.error().text();
  c.executable = std::move(*executable);
  c.state = initial_state(model, c.graph.state);
  return c;
}

class EveryOptimizer : public testing::TestWithParam<Optimizer::Kind> {};

TEST_P(EveryOptimizer, StepEqualsTheInterpretersAndStaysInPlace) {
  const auto model = small_net();
  StepOptions options;
  options.optimizer.kind = GetParam();
  options.optimizer.weight_decay = 0.1;
  options.optimizer.clip_norm = 0.5;
  options.optimizer.ema = 0.9;
  Compiled c = compiled(*model, options);
  ThreadPool pool(2);
  std::vector<Tensor> expected;
  for (const Tensor& t : c.state) expected.push_back(t.clone());
  for (std::int64_t step = 1; step <= 2; ++step) {
    const Datums batch = samples(6, static_cast<std::uint64_t>(step));
    auto want = ops::interpret(*c.untouched, with_scalars(expected, batch, 0.01f, step));
    auto got = c.executable->run(with_scalars(c.state, batch, 0.01f, step), pool);
    ASSERT_TRUE(want.ok()) << want.error().text();
    ASSERT_TRUE(got.ok()) << got.error().text();
    for (std::size_t i = 0; i < got->size(); ++i) {
      const Tensor &a = (*got)[i].tensor(), &b = (*want)[i].tensor();
      for (std::int64_t k = 0; k < a.count(); ++k)
        ASSERT_NEAR(element(a, k), element(b, k), 2e-4 * (1 + std::abs(element(b, k))))
            << c.untouched->output_names()[i] << " step " << step;
      if (i >= c.state.size()) continue;
      EXPECT_EQ(a.raw(), c.state[i].raw()) << c.graph.state[i].name;
      expected[i] = b.clone();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EveryOptimizer,
                         testing::Values(Optimizer::Kind::sgd, Optimizer::Kind::adam,
                                         Optimizer::Kind::adamw, Optimizer::Kind::lamb,
                                         Optimizer::Kind::adafactor, Optimizer::Kind::lion));

TEST(TrainingGraph, UpdatesOverwriteTheirInputs) {
  const auto model = small_net();
  Compiled c = compiled(*model, {});
  auto memory = c.executable->memory(with_scalars(c.state, samples(6, 1), 0.1f, 1));
  ASSERT_TRUE(memory.ok()) << memory.error().text();
  EXPECT_GT(memory->donated_bytes, 0);
  EXPECT_EQ(memory->copied_bytes, 0);
}

TEST(TrainingGraph, Learns) {
  const auto model = small_net();
  StepOptions options;
  Compiled c = compiled(*model, options);
  ThreadPool pool(2);
  double first = 0, last = 0;
  for (std::int64_t step = 1; step <= 60; ++step) {
    auto out = c.executable->run(
        with_scalars(c.state, samples(6, static_cast<std::uint64_t>(step)), 0.05f, step), pool);
    ASSERT_TRUE(out.ok()) << out.error().text();
    last = element((*out)[c.state.size()].tensor(), 0);
    if (step == 1) first = last;
  }
  EXPECT_GT(first, 0.8);
  EXPECT_LT(last, 0.2);
}

// Two micro-batches of three samples move the weights as one batch of six does, without batch_norm.
TEST(TrainingGraph, MicroBatchesAddUp) {
  models::Net net("linear", 3);
  Value* x = net.input("image", DType::f32, {1, 8, 8});
  net.output(models::linear(net, "fc", net.b().flatten(x, Attrs{{"axis", 1}}), 3), "logits");
  const auto model = std::move(*net.finish());
  StepOptions options, halves;
  halves.micro_batches = 2;
  const Datums batch = samples(6, 1);
  const auto half = [&](std::int64_t first) {
    Tensor image(DType::f32, {3, 1, 8, 8}), label(DType::i64, {3});
    std::memcpy(image.raw(), batch[0].tensor().raw() + first * 64 * 4, 3 * 64 * 4);
    std::memcpy(label.raw(), batch[1].tensor().raw() + first * 8, 3 * 8);
    return Datums{Datum(image), Datum(label)};
  };
  Compiled whole = compiled(*model, options);
  ThreadPool pool(1);
  auto once = whole.executable->run(with_scalars(whole.state, batch, 0.1f, 1), pool);
  ASSERT_TRUE(once.ok());
  auto first = training_graph(*model, fields(3), halves, true),
       second = training_graph(*model, fields(3), halves);
  ASSERT_TRUE(first.ok() && second.ok());
  std::vector<Tensor> state = initial_state(*model, first->state);
  for (auto* part : {&*first, &*second}) {
    auto out =
        ops::interpret(*part->graph, with_scalars(state, half(part == &*first ? 0 : 3), 0.1f, 1));
    ASSERT_TRUE(out.ok()) << out.error().text();
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = (*out)[i].tensor();
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (first->state[i].role != Role::weight) continue;
    for (std::int64_t k = 0; k < state[i].count(); ++k)
      EXPECT_NEAR(element(state[i], k), element((*once)[i].tensor(), k), 1e-5);
  }
}

TEST(TrainingGraph, NamesWhatTheSamplesLack) {
  const auto model = small_net();
  auto made = training_graph(*model, {{"picture", Type(DType::f32, {2, 1, 8, 8})}}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("no field image"), std::string::npos) << made.error().text();
}

TEST(ModelSource, PatternsMatchNames) {
  EXPECT_TRUE(matches("*", "a.b"));
  EXPECT_TRUE(matches("layer*.weight", "layer4.0.weight"));
  EXPECT_FALSE(matches("layer*.weight", "layer4.0.bias"));
  EXPECT_TRUE(matches("fc", "fc"));
  EXPECT_FALSE(matches("fc", "fc2"));
}

}  // namespace
}  // namespace tenon::train
