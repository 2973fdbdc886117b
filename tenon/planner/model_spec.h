// What a model is, as far as planning needs: its kind and a few sizes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::planner {

enum class ModelKind { gpt, llama, bert, t5, moe, vit, resnet, dlrm, multimodal };
std::string_view name(ModelKind kind);

/// Sizes of a model. Zero means "as the kind has it"; `resolve` fills those in.
struct ModelSpec {
  ModelKind kind = ModelKind::gpt;
  std::string name;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn = 0;
  int vocab = 0;
  int sequence = 0;
  bool tied_embeddings = false;
  bool gated = false;    // ffn has a gate (SwiGLU): three matrices instead of two
  bool biases = false;   // matrices carry biases, norms a shift
  bool dropout = false;  // dropout after attention, projection and ffn
  bool learned_positions = false;
  bool causal = true;
  // Mixture of experts.
  int experts = 0;
  int top_k = 0;
  int expert_ffn = 0;
  int shared_experts = 0;  // each as wide as one expert
  int dense_layers = 0;    // leading layers with a plain ffn
  // Routing limited to groups: a token chooses among the experts of `group_limit` of them. 0: all.
  int expert_groups = 0;
  int group_limit = 0;
  double capacity = 1.0;  // imbalance: the busiest expert's tokens relative to the mean
  // Latent attention (DeepSeek): ranks of the compressed query and key/value; 0: plain attention.
  int query_rank = 0;
  int kv_rank = 0;
  int rope_dim = 0;
  int value_dim = 0;
  int multi_token_layers = 0;  // extra prediction layers after the last (one block and a head each)
  // Encoder-decoder.
  int decoder_layers = 0;
  int decoder_sequence = 0;
  // Vision.
  int image = 0;
  int patch = 0;
  int channels = 3;
  int classes = 0;
  std::vector<int> stages;  // resnet: blocks in each stage
  // Recommendation.
  int tables = 0;
  std::int64_t table_rows = 0;
  int table_dim = 0;
  int lookups = 1;
  int dense_features = 0;
  std::vector<int> bottom_mlp, top_mlp;
  // Multimodal: the other tower (its own kind) and whether it is trained.
  std::vector<ModelSpec> towers;
  bool towers_trained = true;
  bool contrastive = false;  // towers meet only in the loss (CLIP)

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// Fills in what the kind implies and checks that sizes fit together; reports all problems.
Result<ModelSpec> resolve(ModelSpec spec);
/// A spec from TOML or JSON with the keys above, or from a Hugging Face config.json (known by its
/// `model_type` or `architectures`). The result is resolved.
Result<ModelSpec> parse_model(std::string_view text, std::string_view where);
/// A preset by name; the error lists the nearest. The result is resolved.
Result<ModelSpec> model_named(std::string_view name);
/// A preset name, or the path of a TOML or config.json.
Result<ModelSpec> load_model(const std::string& path_or_name);
std::vector<std::string> model_names();
/// Every field that differs from its kind's default; parse_model reads it back.
nlohmann::ordered_json to_json(const ModelSpec& spec);

/// The spec of a Hugging Face config (already parsed), not yet resolved.
Result<ModelSpec> spec_of_hugging_face(const nlohmann::json& config, std::string_view where);

}  // namespace tenon::planner
