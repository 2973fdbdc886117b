// Every kind of model, small: it builds, its step runs, and a repeated batch is learnt.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tenon/base/random.h"
#include "tenon/base/toml.h"
#include "tenon/engine/engine.h"
#include "tenon/models/model.h"
#include "tenon/train/training_graph.h"

namespace tenon::train {
namespace {

struct Drawn {
  std::string name;
  Dims dims;               // without the batch
  std::int64_t below = 0;  // integers; 0: normal f32, or for "boxes" and "label" f32 in {0, 1}
};

struct Case {
  std::string model;  // TOML
  std::vector<Drawn> fields;
  std::string target;
  Loss::Kind loss = Loss::Kind::automatic;
  double rate = 0.003;
};

constexpr std::int64_t kBatch = 4;

std::vector<Case> cases() {
  const Drawn picture = {"image", {3, 32, 32}, 0}, label = {"label", {}, 5},
              tokens = {"tokens", {12}, 50}, targets = {"targets", {12}, 50};
  const auto resnet = [](int depth) {
    return fmt::format("kind = \"resnet\"\ndepth = {}\nwidth = 8\nclasses = 5", depth);
  };
  return {
      {"kind = \"mlp\"\nhidden = [32]\nclasses = 5", {picture, label}, "label"},
      {"kind = \"lenet\"\nclasses = 5", {picture, label}, "label"},
      {"kind = \"cnn\"\nchannels = [8, 16]\nclasses = 5", {picture, label}, "label"},
      {resnet(18), {picture, label}, "label"},
      {resnet(50), {picture, label}, "label"},
      {"kind = \"vit\"\npatch = 8\nwidth = 24\nlayers = 2\nclasses = 5", {picture, label}, "label"},
      {"kind = \"detector\"\nchannels = [8, 16, 16]\nclasses = 3",
       {picture, {"boxes", {16, 8}, 0}},
       "boxes",
       Loss::Kind::detection},
      {"kind = \"bert\"\nlayers = 2\nhidden = 24\nheads = 3\nvocab = 50\nsequence = 16\nclasses = "
       "5",
       {tokens, {"lengths", {}, 11}, label},
       "label"},
      {"kind = \"gpt\"\nlayers = 2\nhidden = 24\nheads = 3\nvocab = 50\nsequence = 16",
       {tokens, targets},
       "targets",
       Loss::Kind::automatic,
       0.01},
      {"kind = \"lstm_tagger\"\nvocab = 50\nembedding = 8\nhidden = 8\nclasses = 50",
       {tokens, targets},
       "targets",
       Loss::Kind::automatic,
       0.03},
      {"kind = \"wide_and_deep\"\nbuckets = 10\nembedding = 4\nhidden = [16, 8]",
       {{"numeric", {5}, 0}, {"categories", {3}, 10}, {"label", {}, 0}},
       "label",
       Loss::Kind::automatic,
       0.02}};
}

Tensor draw(const Drawn& d, std::uint64_t stream) {
  Dims dims = d.dims;
  dims.insert(dims.begin(), kBatch);
  CounterRandom random(3, stream);
  Tensor t(d.below > 0 ? DType::i64 : DType::f32, dims);
  if (d.below > 0) {
    for (auto& v : t.data<std::int64_t>())
      v = random.below(static_cast<std::uint32_t>(d.below)) + (d.name == "lengths" ? 1 : 0);
    return t;
  }
  fill_normal(t.data<float>(), 3, stream);
  if (d.name == "label" || d.name == "boxes")
    for (float& v : t.data<float>()) v = v > 0 ? 1 : 0;
  return t;
}

class EveryModel : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryModel, LearnsABatchByHeart) {
  const Case c = cases()[GetParam()];
  auto section = parse_toml(c.model);
  ASSERT_TRUE(section.ok());
  models::ModelRequest request;
  std::vector<BatchField> fields;
  Datums batch;
  for (const Drawn& d : c.fields) {
    batch.emplace_back(draw(d, fields.size()));
    request.fields.push_back({d.name, batch.back().tensor().dtype(), d.dims});
    fields.push_back({d.name, Type::of(batch.back().tensor())});
  }
  auto model = models::build_model(*section, request);
  ASSERT_TRUE(model.ok()) << model.error().text();
  StepOptions options;
  options.optimizer.kind = Optimizer::Kind::adam;
  options.target = c.target;
  options.loss.kind = c.loss;
  auto graph = training_graph(**model, fields, options);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  engine::CompileOptions how;
  how.donations = graph->donations;
  engine::CompileReport report;
  auto executable =
      engine::compile(std::move(graph->graph), **engine::backend_named("cpu"), how, &report);
  ASSERT_TRUE(executable.ok()) << executable.error().text();
  EXPECT_TRUE((*executable)->is_static());
  // What is still interpreted; the list only gets shorter.
  const std::set<std::string> known = {"gather_elements", "slice_adjoint", "random_uniform_like"};
  std::set<std::string> left;
  for (const engine::Fallback& f : report.fallbacks)
    if (!known.contains(f.op)) left.insert(f.op + ": " + f.reason + " " + f.node);
  std::vector<Tensor> state = initial_state(**model, graph->state);
  ThreadPool pool(2);
  double first = 0, last = 0;
  constexpr int kSteps = 12;
  for (int step = 1; step <= kSteps; ++step) {
    Datums inputs(state.begin(), state.end());
    for (const std::string& name : graph->fields)
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (fields[i].name == name) inputs.push_back(batch[i]);
    inputs.emplace_back(Tensor::scalar(static_cast<float>(c.rate)));
    inputs.emplace_back(Tensor::scalar(std::int64_t{step}));
    inputs.emplace_back(Tensor::scalar(std::int64_t{step}));
    auto out = (*executable)->run(inputs, pool);
    ASSERT_TRUE(out.ok()) << out.error().text();
    for (std::size_t i = 0; i < state.size(); ++i)
      EXPECT_EQ((*out)[i].tensor().raw(), state[i].raw()) << graph->state[i].name;
    last = element((*out)[state.size()].tensor(), 0);
    ASSERT_TRUE(std::isfinite(last));
    if (step == 1) first = last;
    if (step > 1) continue;
    auto memory = (*executable)->memory(inputs);
    ASSERT_TRUE(memory.ok()) << memory.error().text();
    // Passes may move a reader of a small weight behind its update.
    EXPECT_LT(20 * memory->copied_bytes, memory->donated_bytes);
  }
  EXPECT_LT(last, 0.9 * first);
  EXPECT_TRUE(left.empty()) << "interpreted: " << testing::PrintToString(left);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::Range<std::size_t>(0, cases().size()));

TEST(Models, MistakesAreNamed) {
  models::ModelRequest request;
  request.fields = {{"image", DType::f32, {3, 32, 32}}};
  request.where = "model";
  auto none = models::build_model({{"kind", "cnn"}}, request);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("classes"), std::string::npos) << none.error().text();
  auto unknown = models::build_model({{"kind", "cnn"}, {"classes", 3}, {"chanels", {3}}}, request);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("chanels"), std::string::npos) << unknown.error().text();
  auto fields = models::build_model({{"kind", "gpt"}}, request);
  ASSERT_FALSE(fields.ok());
  EXPECT_NE(fields.error().text().find("tokens"), std::string::npos) << fields.error().text();
}

}  // namespace
}  // namespace tenon::train
