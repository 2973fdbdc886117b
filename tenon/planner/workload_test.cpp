// Workloads against published sizes and the formulas of the papers.
#include "tenon/planner/workload.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tenon::planner {
namespace {

double parameters(const char* model) {
  auto spec = model_named(model);
  EXPECT_TRUE(spec.ok()) << model << (spec.ok() ? "" : spec.error().text());
  return spec.ok() ? workload_of(*spec).num_parameters() : 0;
}

TEST(Workload, ParameterCountsArePublishedOnes) {
  const std::pair<const char*, double> published[] = {{"gpt3-175b", 174.6e9},
                                                      {"gpt-530b", 529.6e9},
                                                      {"gpt-1t", 1008e9},
                                                      {"llama2-7b", 6.738e9},
                                                      {"llama2-70b", 68.98e9},
                                                      {"llama3-8b", 8.030e9},
                                                      {"llama3-70b", 70.55e9},
                                                      {"llama3-405b", 405.9e9},
                                                      {"mixtral-8x7b", 46.70e9},
                                                      {"mixtral-8x22b", 140.6e9},
                                                      {"deepseek-v3", 671e9 + 11.5e9},
                                                      {"deepseek-v2-lite", 15.7e9},
                                                      {"bert-large", 335e6},
                                                      {"vit-large", 304e6},
                                                      {"vit-huge", 632e6},
                                                      {"resnet50", 25.56e6},
                                                      {"resnet101", 44.55e6},
                                                      {"t5-11b", 11.3e9},
                                                      {"gpt2", 124e6},
                                                      {"qwen2.5-72b", 72.7e9}};
  for (const auto& [model, count] : published) {
    EXPECT_NEAR(parameters(model) / count, 1.0, 0.015) << model;
  }
}

TEST(Workload, EveryPresetExpands) {
  ASSERT_GE(model_names().size(), 40u);
  for (const auto& name : model_names()) {
    auto spec = model_named(name);
    ASSERT_TRUE(spec.ok()) << name << ": " << spec.error().text();
    const Workload w = workload_of(*spec);
    EXPECT_GT(w.num_parameters(), 1e6) << name;
    EXPECT_GT(w.model_flops(), 1e6) << name;
    EXPECT_FALSE(w.blocks.empty()) << name;
    auto again = parse_model(to_json(*spec).dump(), "again");
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, *spec) << name;
  }
}

TEST(Workload, ModelFlopsAreThePapersFormula) {
  // 72 B s L h^2 (1 + s/6h + V/12hL), arXiv 2205.05198 equation 7.
  for (const char* model : {"gpt-22b", "gpt3-175b", "gpt-1t"}) {
    const ModelSpec spec = *model_named(model);
    const double s = spec.sequence, h = spec.hidden, L = spec.layers, V = spec.vocab;
    const double formula = 72 * s * L * h * h * (1 + s / (6 * h) + V / (12 * h * L));
    EXPECT_NEAR(workload_of(spec).model_flops() / formula, 1.0, 1e-9) << model;
  }
  // ResNet-50: 4.1 billion multiply-adds forward.
  EXPECT_NEAR(workload_of(*model_named("resnet50")).model_flops() / (3 * 2 * 4.09e9), 1.0, 0.03);
}

TEST(Workload, KeptTensorsAreThePapersFormulas) {
  // s h (10 + 24/t + 5 a s / (h t)) without sequence parallelism, equation 2.
  const ModelSpec spec = *model_named("gpt-22b");
  const Workload w = workload_of(spec);
  const double s = spec.sequence, h = spec.hidden, a = spec.heads;
  double whole = 0, tensor = 0, core = 0;
  for (int c : w.block_types[0].classes) {
    for (const auto& kept : w.classes[c].kept) {
      (kept.core ? core : kept.split == Split::tensor ? tensor : whole) += kept.bytes;
    }
  }
  EXPECT_DOUBLE_EQ(whole, s * h * 10);
  EXPECT_DOUBLE_EQ(tensor, s * h * 24);
  EXPECT_DOUBLE_EQ(core, s * h * 5 * a * s / h);
}

TEST(Model, HuggingFaceConfigsMeanTheSameAsPresets) {
  const char* config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 8192, "tie_word_embeddings": false})";
  auto spec = parse_model(config, "config.json");
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  auto preset = *model_named("llama3-8b");
  preset.name = spec->name;
  EXPECT_EQ(*spec, preset);
  auto strange = parse_model(R"({"model_type": "mamba"})", "config.json");
  ASSERT_FALSE(strange.ok());
  EXPECT_EQ(strange.error().code, Code::unsupported);
}

TEST(Model, MixtureConfigReadsExperts) {
  auto spec =
      parse_model(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
    "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
    "n_shared_experts": 1, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
    "max_position_embeddings": 4096, "num_nextn_predict_layers": 1})",
                  "config.json");
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  EXPECT_NEAR(workload_of(*spec).num_parameters() / parameters("deepseek-v3"), 1.0, 1e-9);
}

TEST(Model, BadSpecsGetOneAnswerWithAllReasons) {
  auto bad = parse_model("kind = \"gpt\"\nlayers = 2\nhidden = 100\nheads = 3\n", "m.toml");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().others.size(), 2u);  // sequence, vocab, and heads that do not divide
  EXPECT_EQ(model_named("llama3").error().help.substr(0, 26), "did you mean 'llama3-405b'");
  EXPECT_FALSE(parse_model("kind = \"gtp\"\n", "m.toml").ok());
}

}  // namespace
}  // namespace tenon::planner
