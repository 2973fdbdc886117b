// Hugging Face config.json as a ModelSpec: a table of model types and of key spellings.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon/planner/model_spec.h"

namespace tenon::planner {
namespace {

using nlohmann::json;

/// What a `model_type` is to the planner.
struct Family {
  std::string_view model_type;
  ModelKind kind;
  bool gated, biases, dropout, learned_positions, causal;
};
constexpr Family kFamilies[] = {
    {"gpt2", ModelKind::gpt, false, true, true, true, true},
    {"gpt_neox", ModelKind::gpt, false, true, false, false, true},
    {"gptj", ModelKind::gpt, false, true, false, false, true},
    {"opt", ModelKind::gpt, false, true, true, true, true},
    {"bloom", ModelKind::gpt, false, true, false, false, true},
    {"falcon", ModelKind::gpt, false, false, false, false, true},
    {"gpt_bigcode", ModelKind::gpt, false, true, false, true, true},
    {"phi", ModelKind::gpt, false, true, false, false, true},
    {"starcoder2", ModelKind::gpt, false, true, false, false, true},
    {"llama", ModelKind::llama, true, false, false, false, true},
    {"mistral", ModelKind::llama, true, false, false, false, true},
    {"qwen2", ModelKind::llama, true, false, false, false, true},
    {"qwen3", ModelKind::llama, true, false, false, false, true},
    {"gemma", ModelKind::llama, true, false, false, false, true},
    {"gemma2", ModelKind::llama, true, false, false, false, true},
    {"gemma3_text", ModelKind::llama, true, false, false, false, true},
    {"phi3", ModelKind::llama, true, false, false, false, true},
    {"olmo", ModelKind::llama, true, false, false, false, true},
    {"olmo2", ModelKind::llama, true, false, false, false, true},
    {"granite", ModelKind::llama, true, false, false, false, true},
    {"smollm3", ModelKind::llama, true, false, false, false, true},
    {"stablelm", ModelKind::llama, true, false, false, false, true},
    {"cohere", ModelKind::llama, true, false, false, false, true},
    {"mixtral", ModelKind::moe, true, false, false, false, true},
    {"qwen2_moe", ModelKind::moe, true, false, false, false, true},
    {"qwen3_moe", ModelKind::moe, true, false, false, false, true},
    {"deepseek_v2", ModelKind::moe, true, false, false, false, true},
    {"deepseek_v3", ModelKind::moe, true, false, false, false, true},
    {"bert", ModelKind::bert, false, true, true, true, false},
    {"roberta", ModelKind::bert, false, true, true, true, false},
    {"xlm-roberta", ModelKind::bert, false, true, true, true, false},
    {"electra", ModelKind::bert, false, true, true, true, false},
    {"distilbert", ModelKind::bert, false, true, true, true, false},
    {"t5", ModelKind::t5, false, false, true, false, true},
    {"mt5", ModelKind::t5, true, false, true, false, true},
    {"vit", ModelKind::vit, false, true, false, true, false},
    {"deit", ModelKind::vit, false, true, false, true, false},
    {"resnet", ModelKind::resnet, false, false, false, false, false},
    {"clip_vision_model", ModelKind::vit, false, true, false, true, false},
    {"siglip_vision_model", ModelKind::vit, false, true, false, true, false},
    {"clip_text_model", ModelKind::gpt, false, true, false, true, true},
    {"clip", ModelKind::multimodal, false, false, false, false, true},
    {"llava", ModelKind::multimodal, false, false, false, false, true},
};

/// The first of several spellings that the config has as a whole number.
int first_of(const json& config, std::initializer_list<const char*> keys, int fallback = 0) {
  for (const char* key : keys) {
    const auto found = config.find(key);
    if (found != config.end() && found->is_number_integer()) return found->get<int>();
  }
  return fallback;
}

bool flag(const json& config, const char* key, bool fallback) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

const Family* family_of(const std::string& model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

void read_transformer(const json& c, ModelSpec& spec) {
  spec.layers = first_of(c, {"num_hidden_layers", "n_layer", "num_layers", "n_layers"});
  spec.hidden = first_of(c, {"hidden_size", "n_embd", "d_model", "dim"});
  spec.heads = first_of(c, {"num_attention_heads", "n_head", "num_heads", "n_heads"});
  spec.kv_heads = first_of(c, {"num_key_value_heads", "num_kv_heads"});
  // Falcon writes num_kv_heads even where its older layers share one.
  const bool one_head =
      flag(c, "multi_query", false) && !flag(c, "new_decoder_architecture", false);
  if (one_head) spec.kv_heads = 1;
  spec.head_dim = first_of(c, {"head_dim"});
  spec.ffn = first_of(
      c, {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "hidden_dim"});
  spec.vocab = first_of(c, {"vocab_size"});
  spec.sequence = first_of(
      c, {"max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_sequence_length"},
      spec.kind == ModelKind::t5 ? 512 : 2048);
  spec.tied_embeddings =
      flag(c, "tie_word_embeddings", spec.kind == ModelKind::gpt || spec.kind == ModelKind::bert);
}

void read_experts(const json& c, ModelSpec& spec) {
  spec.experts = first_of(c, {"num_local_experts", "n_routed_experts", "num_experts"});
  spec.top_k = first_of(c, {"num_experts_per_tok", "num_experts_per_token"});
  spec.expert_ffn = first_of(c, {"moe_intermediate_size"});
  spec.shared_experts = first_of(c, {"n_shared_experts"});
  spec.expert_groups = first_of(c, {"n_group"});
  spec.group_limit = first_of(c, {"topk_group"});
  const int shared_width = first_of(c, {"shared_expert_intermediate_size"});
  if (shared_width > 0 && spec.expert_ffn > 0) spec.shared_experts = shared_width / spec.expert_ffn;
  spec.dense_layers = first_of(c, {"first_k_dense_replace"});
  spec.query_rank = first_of(c, {"q_lora_rank"});
  spec.kv_rank = first_of(c, {"kv_lora_rank"});
  spec.rope_dim = first_of(c, {"qk_rope_head_dim"});
  spec.value_dim = first_of(c, {"v_head_dim"});
  if (spec.kv_rank > 0) spec.head_dim = first_of(c, {"qk_nope_head_dim"}, 128);
  spec.multi_token_layers = first_of(c, {"num_nextn_predict_layers"});
}

/// Classes by their labels, which configs list or count.
int num_classes(const json& c) {
  const auto labels = c.find("id2label");
  const bool listed = labels != c.end() && labels->is_object() && labels->size() > 2;
  return listed ? static_cast<int>(labels->size()) : first_of(c, {"num_labels"}, 1000);
}

/// Stages of bottlenecks of the usual widths.
Result<ModelSpec> read_resnet(const json& c, ModelSpec spec, std::string_view where) {
  spec.image = first_of(c, {"image_size"}, 224);
  spec.classes = num_classes(c);
  const auto depths = c.find("depths"), widths = c.find("hidden_sizes");
  if (depths == c.end() || !depths->is_array())
    return invalid("a resnet config needs depths").at(where);
  for (const json& depth : *depths) {
    if (!depth.is_number_integer()) return invalid("depths must be whole numbers").at(where);
    spec.stages.push_back(depth.get<int>());
  }
  const bool usual = widths == c.end() || *widths == json({256, 512, 1024, 2048});
  if (!usual || c.value("layer_type", "bottleneck") != "bottleneck") {
    return unsupported("only bottlenecks of widths 256, 512, 1024 and 2048 are known").at(where);
  }
  return spec;
}

Result<ModelSpec> read_multimodal(const json& c, ModelSpec spec, std::string_view where) {
  for (const char* key : {"vision_config", "text_config"}) {
    const auto tower = c.find(key);
    if (tower == c.end() || !tower->is_object()) {
      return invalid("a multimodal config needs {}", key).at(where);
    }
    json filled = *tower;
    if (!filled.contains("model_type")) {
      filled["model_type"] = key[0] == 'v' ? "clip_vision_model" : "llama";
    }
    spec.towers.push_back(TENON_TRY(spec_of_hugging_face(filled, std::string(where) + ": " + key)));
  }
  return spec;
}

}  // namespace

Result<ModelSpec> spec_of_hugging_face(const json& config, std::string_view where) {
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) return invalid("no model_type").at(where);
  const Family* family = family_of(type->get<std::string>());
  if (family == nullptr) {
    std::string list;
    for (const Family& f : kFamilies)
      list += (list.empty() ? "" : ", ") + std::string(f.model_type);
    return unsupported("model_type '{}' is not known to the planner", type->get<std::string>())
        .at(where)
        .with_help("known: " + list + "; or describe the model as TOML with kind = ...");
  }
  ModelSpec spec;
  spec.kind = family->kind;
  spec.name = std::string(where);
  spec.gated = family->gated, spec.biases = family->biases, spec.dropout = family->dropout;
  spec.learned_positions = family->learned_positions, spec.causal = family->causal;
  if (spec.kind == ModelKind::multimodal) {
    spec.contrastive = family->model_type == "clip";
    return read_multimodal(config, std::move(spec), where);
  }
  if (spec.kind == ModelKind::resnet) return read_resnet(config, std::move(spec), where);
  read_transformer(config, spec);
  if (spec.kind == ModelKind::moe) read_experts(config, spec);
  if (spec.kind == ModelKind::vit) {
    spec.image = first_of(config, {"image_size"}, 224);
    spec.patch = first_of(config, {"patch_size"}, 16);
    spec.sequence = 0;
    spec.classes = num_classes(config);
  }
  if (spec.kind == ModelKind::t5) {
    spec.decoder_layers = first_of(config, {"num_decoder_layers"});
    spec.head_dim = first_of(config, {"d_kv"});
    const auto projection = config.find("feed_forward_proj");
    spec.gated = projection != config.end() && projection->is_string() &&
                 projection->get<std::string>().starts_with("gated");
  }
  return spec;
}

}  // namespace tenon::planner
