// Exports read back to the same plan, but for what they name as lost.
#include "tenon/planner/exports/engine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tenon/planner/check.h"
#include "tenon/planner/search/search.h"
#include "tenon/planner/search/space.h"

namespace tenon::planner {
namespace {

constexpr Engine kEngines[] = {Engine::megatron, Engine::deepspeed, Engine::torchtitan};

std::set<std::string> keys_of(const std::vector<Remark>& remarks) {
  std::set<std::string> keys;
  for (const Remark& r : remarks) keys.insert(r.key);
  return keys;
}

/// Exports, reads the first file back, and compares all keys that are not lost.
void expect_round_trip(Engine engine, const Plan& plan, Pricer& pricer,
                       const std::optional<ModelSpec>& model) {
  const auto exported = export_plan(engine, plan, pricer, model);
  const bool splits_both = plan.pipeline_parallel > 1 && plan.context_parallel > 1;
  if (engine == Engine::deepspeed && splits_both && !exported.ok()) {
    EXPECT_EQ(exported.error().code, Code::unsupported);
    return;
  }
  ASSERT_TRUE(exported.ok()) << exported.error().text() << " " << summary(plan);
  const auto lost = keys_of(exported->lost);
  ImportRequest request;
  // What code sets is told again, as a user would.
  for (const char* key : {"tensor_parallel"}) {
    if (lost.contains(key)) request.set.emplace_back(key, to_json(plan)[key].dump());
  }
  const EngineFile& file = exported->files.front();
  auto imported = import_plan(engine, file.text, file.name, request);
  ASSERT_TRUE(imported.ok()) << imported.error().text() << "\n" << file.text;
  const int blocks = static_cast<int>(pricer.workload().blocks.size());
  auto before = to_json(canonical(plan, blocks)),
       after = to_json(canonical(imported->plan, blocks));
  for (const std::string& key : lost) before.erase(key), after.erase(key);
  EXPECT_EQ(before.dump(), after.dump()) << name(engine) << "\n" << file.text;
}

/// Valid plans drawn from the space of the search, with choices that it seldom takes among them.
std::vector<Plan> drawn_plans(Pricer& pricer, std::int64_t batch, int count, unsigned seed) {
  SearchRequest request;
  request.global_batch = batch;
  const SearchSpace space = search_space(pricer.workload(), pricer.cluster(), request).value();
  const auto all = meshes(space, pricer.workload(), pricer.cluster().num_devices());
  std::mt19937 random(seed);
  const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
  std::vector<Plan> plans;
  for (int tries = 0; tries < 200 * count && static_cast<int>(plans.size()) < count; ++tries) {
    Plan plan = plan_of(space, pick(all));
    const ScheduleChoice schedule = pick(space.schedules);
    plan.schedule = schedule.kind, plan.virtual_stages = schedule.virtual_stages;
    plan.micro_batch = pick(space.micro_batch), plan.global_batch = batch;
    plan.zero_stage = pick(space.zero), plan.recompute = pick(space.recompute);
    plan.sequence_parallel = random() % 2 == 0, plan.offload = pick(space.offload);
    plan.context_method = static_cast<ContextMethod>(random() % 2);
    plan.optimizer = static_cast<Optimizer>(random() % 6);
    plan.precision = static_cast<Precision>(random() % 4);
    plan.gradient_compression = static_cast<GradientCompression>(random() % 3);
    plan.collective = static_cast<CollectiveAlgorithm>(random() % 4);
    plan.placement = pick(space.placements);
    if (random() % 3 == 0) plan.recompute_layers = 1 + static_cast<int>(random() % 3);
    if (check_structure(pricer.workload(), pricer.cluster(), plan).empty()) plans.push_back(plan);
  }
  return plans;
}

TEST(Exports, RoundTripOverPresetsAndTheWholeSpace) {
  for (const std::string& preset : model_names()) {
    const ModelSpec model = model_named(preset).value();
    Pricer pricer(workload_of(model), load_cluster("H100-SXM:64").value());
    const auto plans = drawn_plans(pricer, 512, 12, 7);
    ASSERT_FALSE(plans.empty()) << preset;
    for (const Plan& plan : plans) {
      for (Engine engine : kEngines) {
        SCOPED_TRACE(preset + ": " + to_json(plan).dump());
        expect_round_trip(engine, plan, pricer, model);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Exports, PlansOfTheSearchComeBack) {
  for (const char* preset :
       {"llama3-8b", "llama3-70b", "mixtral-8x7b", "gpt3-175b", "deepseek-v3"}) {
    const ModelSpec model = model_named(preset).value();
    Pricer pricer(workload_of(model), load_cluster("H100-SXM:512").value());
    SearchRequest request;
    request.global_batch = 1024;
    request.max_evaluations = 20000;
    const auto report = search(pricer, request);
    ASSERT_TRUE(report.ok()) << preset << report.error().text();
    std::vector<Plan> plans = {report->best.plan};
    for (const auto& other : report->runners_up) plans.push_back(other.candidate.plan);
    for (const Plan& plan : plans) {
      for (Engine engine : kEngines) {
        SCOPED_TRACE(std::string(preset) + ": " + to_json(plan).dump());
        expect_round_trip(engine, plan, pricer, model);
      }
    }
  }
}

TEST(Exports, WhatAnEngineHasIsNotCalledLost) {
  const ModelSpec model = model_named("llama3-70b").value();
  Pricer pricer(workload_of(model), load_cluster("H100-SXM:64").value());
  Plan plan;
  plan.tensor_parallel = 8, plan.pipeline_parallel = 4, plan.data_parallel = 2;
  plan.sequence_parallel = true, plan.micro_batch = 1, plan.global_batch = 128;
  plan.zero_stage = 1, plan.schedule = ScheduleKind::interleaved, plan.virtual_stages = 5;
  plan.recompute = Recompute::full, plan.recompute_layers = 10;
  EXPECT_EQ(keys_of(export_plan(Engine::megatron, plan, pricer, model)->lost),
            std::set<std::string>{});
  plan.zero_stage = 3, plan.recompute_layers = 0;
  EXPECT_EQ(keys_of(export_plan(Engine::torchtitan, plan, pricer, model)->lost),
            std::set<std::string>{});
  plan.pipeline_parallel = 1, plan.data_parallel = 8, plan.sequence_parallel = false;
  plan.schedule = ScheduleKind::one_f_one_b, plan.virtual_stages = 1;
  plan.recompute = Recompute::none;
  EXPECT_EQ(keys_of(export_plan(Engine::deepspeed, plan, pricer, model)->lost),
            std::set<std::string>{});
}

TEST(Exports, TheModelComesBackFromMegatronArguments) {
  for (const std::string& preset : model_names()) {
    const ModelSpec model = model_named(preset).value();
    if (model.kind != ModelKind::gpt && model.kind != ModelKind::llama &&
        model.kind != ModelKind::moe)
      continue;
    Pricer pricer(workload_of(model), load_cluster("H100-SXM:8").value());
    Plan plan;
    plan.data_parallel = 8, plan.global_batch = 8;
    const auto exported = export_plan(Engine::megatron, plan, pricer, model);
    ASSERT_TRUE(exported.ok());
    const auto imported = import_plan(Engine::megatron, exported->files.front().text, "a.sh", {});
    ASSERT_TRUE(imported.ok()) << imported.error().text();
    ASSERT_TRUE(imported->model.has_value()) << preset;
    EXPECT_EQ(workload_of(*imported->model).num_parameters(), workload_of(model).num_parameters())
        << preset;
    EXPECT_EQ(workload_of(*imported->model).model_flops(), workload_of(model).model_flops())
        << preset;
  }
}

TEST(Exports, AScriptThatSomebodyWrote) {
  constexpr std::string_view kScript = R"(#!/bin/bash
# Pretrain GPT
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-16}
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
TP=8; PP=16
CHECKPOINT_PATH=$1 #<Specify path>
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr "$MASTER_ADDR"
)
GPT_MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96   # heads
    --seq-length 2048 --max-position-embeddings 2048
    --attention-backend auto
)
TRAINING_ARGS="--micro-batch-size 1 \
    --global-batch-size $((WORLD_SIZE * 12)) \
    --clip-grad 1.0 --fp16 --lr 6.0e-5 --use-distributed-optimizer"
MODEL_PARALLEL_ARGS=(
  --tensor-model-parallel-size ${TP}
  --pipeline-model-parallel-size $PP
  --num-layers-per-virtual-pipeline-stage 3
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} \
    $TRAINING_ARGS \
    "${MODEL_PARALLEL_ARGS[@]}" --save "$CHECKPOINT_PATH" 2>&1 | tee log.txt
)";
  const auto imported = import_plan(Engine::megatron, kScript, "train.sh", {});
  ASSERT_TRUE(imported.ok()) << imported.error().text();
  const Plan& plan = imported->plan;
  EXPECT_EQ(plan.tensor_parallel, 8);
  EXPECT_EQ(plan.pipeline_parallel, 16);
  EXPECT_EQ(plan.data_parallel, 1);
  EXPECT_EQ(plan.global_batch, 1536);
  EXPECT_EQ(plan.zero_stage, 1);
  EXPECT_EQ(plan.precision, Precision::fp16);
  EXPECT_EQ(plan.schedule, ScheduleKind::interleaved);
  EXPECT_EQ(plan.virtual_stages, 2);
  ASSERT_TRUE(imported->model.has_value());
  EXPECT_EQ(imported->model->hidden, 12288);
  EXPECT_NE(std::find(imported->ignored.begin(), imported->ignored.end(), "clip-grad"),
            imported->ignored.end());
}

TEST(Exports, LayoutsOfStages) {
  ImportRequest request;
  request.devices = 8;
  const auto read = [&](const std::string& layout) {
    return import_plan(Engine::megatron,
                       "--pipeline-model-parallel-size 4 --num-layers 8 --hidden-size 64 "
                       "--num-attention-heads 4 --vocab-size 100 --micro-batch-size 1 "
                       "--global-batch-size 16 --pipeline-model-parallel-layout \"" +
                           layout + "\"",
                       "args.txt", request);
  };
  EXPECT_EQ(read("Et|(tt|)*2,tttL")->plan.layers_per_stage, (std::vector<int>{1, 2, 2, 3}));
  EXPECT_FALSE(read("Et|(tt|)*2,ttt|L").ok());  // five stages
  EXPECT_EQ(read("E|t*3|t*3|t*2,L")->plan.layers_per_stage, (std::vector<int>{0, 3, 3, 2}));
  EXPECT_EQ(read("E(t|)*7tL")->plan.virtual_stages, 2);
  EXPECT_FALSE(read("E(t|*7tL").ok());
  EXPECT_FALSE(read("Ex|t|t|L").ok());
}

TEST(Exports, WrongSettingsAreNamedTogether) {
  ImportRequest request;
  request.devices = 8;
  const auto megatron =
      import_plan(Engine::megatron, "--tensor-model-paralel-size 8\n--micro-batch-size two\n",
                  "args.txt", request);
  ASSERT_FALSE(megatron.ok());
  EXPECT_NE(megatron.error().help.find("tensor-model-parallel-size"), std::string::npos);
  EXPECT_EQ(megatron.error().others.size(), 1u);
  const auto deepspeed = import_plan(
      Engine::deepspeed, R"({"train_batch_size": 64, "zero_optimisation": {"stage": 2}})",
      "ds.json", request);
  ASSERT_FALSE(deepspeed.ok());
  EXPECT_NE(deepspeed.error().help.find("zero_optimization"), std::string::npos);
  const auto batch = import_plan(Engine::deepspeed,
                                 R"({"train_batch_size": 63, "train_micro_batch_size_per_gpu": 2,
                                     "gradient_accumulation_steps": 4})",
                                 "ds.json", request);
  ASSERT_FALSE(batch.ok());
  EXPECT_NE(batch.error().help.find("64"), std::string::npos);
  const auto titan = import_plan(Engine::torchtitan, "[parallelism]\ntensor_paralel_degree = 8\n",
                                 "a.toml", request);
  ASSERT_FALSE(titan.ok());
  EXPECT_NE(titan.error().help.find("tensor_parallel_degree"), std::string::npos);
  const auto none = import_plan(Engine::megatron, "--micro-batch-size 1", "args.txt", {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().help.find("--devices"), std::string::npos);
}

TEST(Exports, DeepSpeedFilesThatPeopleWrite) {
  ImportRequest request;
  request.devices = 16;
  const auto imported = import_plan(Engine::deepspeed, R"({
    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "gradient_clipping": 1.0,
    "bf16": {"enabled": "auto"}, "fp16": {"enabled": true},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "pin_memory": true},
                          "stage3_max_live_parameters": 1e9},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": [0.9, 0.95]}}})",
                                    "ds.json", request);
  ASSERT_TRUE(imported.ok()) << imported.error().text();
  EXPECT_EQ(imported->plan.data_parallel, 16);
  EXPECT_EQ(imported->plan.global_batch, 128);
  EXPECT_EQ(imported->plan.zero_stage, 3);
  EXPECT_EQ(imported->plan.offload, Offload::optimizer);
  EXPECT_EQ(imported->plan.precision, Precision::fp16);
}

TEST(Exports, CanonicalPlansKeepTheirPrice) {
  const ModelSpec model = model_named("llama3-8b").value();
  Pricer pricer(workload_of(model), load_cluster("H100-SXM:16").value());
  for (const Plan& plan : drawn_plans(pricer, 256, 60, 3)) {
    if (plan.pipeline_parallel == 1) continue;  // one stage has no schedule to keep
    const Plan shorter = canonical(plan, static_cast<int>(pricer.workload().blocks.size()));
    const Price a = pricer.price(plan), b = pricer.price(shorter);
    EXPECT_DOUBLE_EQ(a.step_seconds, b.step_seconds) << to_json(plan).dump();
    EXPECT_DOUBLE_EQ(a.memory.total(), b.memory.total()) << to_json(plan).dump();
    EXPECT_EQ(canonical(shorter, static_cast<int>(pricer.workload().blocks.size())), shorter);
  }
}

}  // namespace
}  // namespace tenon::planner
