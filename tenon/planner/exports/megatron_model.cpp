// A model as the arguments of Megatron-LM's GPT script, and back.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/planner/exports/engine_internal.h"

namespace tenon::planner {
namespace {

struct SizeRow {
  int ModelSpec::* size;
  std::string_view argument;
};

constexpr SizeRow kSizes[] = {
    {&ModelSpec::layers, "num-layers"},   {&ModelSpec::hidden, "hidden-size"},
    {&ModelSpec::ffn, "ffn-hidden-size"}, {&ModelSpec::heads, "num-attention-heads"},
    {&ModelSpec::sequence, "seq-length"}, {&ModelSpec::vocab, "vocab-size"}};
constexpr SizeRow kExpertSizes[] = {{&ModelSpec::experts, "num-experts"},
                                    {&ModelSpec::top_k, "moe-router-topk"},
                                    {&ModelSpec::expert_ffn, "moe-ffn-hidden-size"}};
constexpr SizeRow kLatentSizes[] = {{&ModelSpec::query_rank, "q-lora-rank"},
                                    {&ModelSpec::kv_rank, "kv-lora-rank"},
                                    {&ModelSpec::head_dim, "qk-head-dim"},
                                    {&ModelSpec::rope_dim, "qk-pos-emb-head-dim"},
                                    {&ModelSpec::value_dim, "v-head-dim"}};

void write_sizes(std::span<const SizeRow> rows, const ModelSpec& m, Settings& s) {
  for (const SizeRow& row : rows) {
    if (m.*row.size > 0) s.set(std::string(row.argument), std::to_string(m.*row.size));
  }
}

void read_sizes(std::span<const SizeRow> rows, Import& i, ModelSpec& m) {
  for (const SizeRow& row : rows) {
    if (const auto size = i.settings.take_count(row.argument, i.problems)) {
      m.*row.size = static_cast<int>(std::clamp<std::int64_t>(*size, 0, 1 << 30));
    }
  }
}

void write_experts(const ModelSpec& m, Settings& s) {
  write_sizes(kExpertSizes, m, s);
  if (m.shared_experts > 0) {
    s.set("moe-shared-expert-intermediate-size", std::to_string(m.shared_experts * m.expert_ffn));
  }
  if (m.dense_layers > 0) {
    s.set("moe-layer-freq",
          fmt::format("([0]*{}+[1]*{})", m.dense_layers, m.layers - m.dense_layers));
  }
  s.set("moe-token-dispatcher-type", "alltoall");
}

void write_attention(const ModelSpec& m, Settings& s) {
  if (m.kv_rank > 0) {
    s.flag("multi-latent-attention");
    return write_sizes(kLatentSizes, m, s);
  }
  if (m.kv_heads != m.heads) {
    s.flag("group-query-attention");
    s.set("num-query-groups", std::to_string(m.kv_heads));
  }
  if (m.head_dim * m.heads != m.hidden) s.set("kv-channels", std::to_string(m.head_dim));
}

void write_kind(const ModelSpec& m, Settings& s) {
  s.set("max-position-embeddings", std::to_string(m.sequence));
  if (!m.learned_positions) s.set("position-embedding-type", "rope");
  if (!m.tied_embeddings) s.flag("untie-embeddings-and-output-weights");
  if (m.gated) s.flag("swiglu");
  if (!m.biases) {
    s.flag("disable-bias-linear");
    s.set("normalization", "RMSNorm");
  }
  if (!m.dropout) {
    s.set("attention-dropout", "0.0");
    s.set("hidden-dropout", "0.0");
  }
  if (m.multi_token_layers > 0) s.set("mtp-num-layers", std::to_string(m.multi_token_layers));
}

}  // namespace

bool write_megatron_model(Export& e, Settings& s) {
  const bool known =
      e.model && (e.model->kind == ModelKind::gpt || e.model->kind == ModelKind::llama ||
                  e.model->kind == ModelKind::moe);
  if (!known) {
    e.lose(
        "model",
        fmt::format("{} is no decoder-only transformer, which is what the GPT script trains: give "
                    "the arguments of your own script in MODEL",
                    e.pricer.workload().name));
    return false;
  }
  const ModelSpec& m = *e.model;
  write_sizes(kSizes, m, s);
  write_attention(m, s);
  write_kind(m, s);
  if (m.experts > 0) write_experts(m, s);
  if (m.capacity != 1.0) e.note("model", "the imbalance of experts is not an argument");
  return true;
}

namespace {

/// "([0]*3+[1]*58)": how many leading layers have no experts; -1 where it is another pattern.
int leading_dense(const std::string& pattern) {
  int dense = 0, rest = 0, read = 0;
  if (pattern == "1") return 0;
  if (std::sscanf(pattern.c_str(), "([0]*%d+[1]*%d)%n", &dense, &rest, &read) == 2 &&
      read == static_cast<int>(pattern.size())) {
    return dense;
  }
  if (std::sscanf(pattern.c_str(), "[0]*%d+[1]*%d%n", &dense, &rest, &read) == 2 &&
      read == static_cast<int>(pattern.size())) {
    return dense;
  }
  return -1;
}

void read_experts(Import& i, ModelSpec& m) {
  read_sizes(kExpertSizes, i, m);
  if (m.experts == 0) return;
  m.kind = ModelKind::moe;
  if (m.top_k == 0) m.top_k = 2;
  if (m.expert_ffn == 0) m.expert_ffn = m.ffn;
  const auto shared =
      i.settings.take_count("moe-shared-expert-intermediate-size", i.problems).value_or(0);
  if (shared > 0 && m.expert_ffn > 0) {
    m.shared_experts = static_cast<int>((shared + m.expert_ffn - 1) / m.expert_ffn);
  }
  if (const auto pattern = i.settings.take("moe-layer-freq")) {
    m.dense_layers = leading_dense(*pattern);
    if (m.dense_layers < 0) {
      m.dense_layers = 0;
      i.lose("model", fmt::format("moe-layer-freq {}: expert layers between dense ones are not "
                                  "modelled; all layers were taken to have experts",
                                  *pattern));
    }
  }
  i.settings.take("moe-token-dispatcher-type");
}

void read_attention(Import& i, ModelSpec& m) {
  if (i.settings.take("multi-latent-attention")) {
    m.query_rank = 0, m.kv_rank = 32, m.head_dim = 128, m.rope_dim = 64, m.value_dim = 128;
    read_sizes(kLatentSizes, i, m);
  }
  if (const auto width = i.settings.take_count("kv-channels", i.problems)) {
    m.head_dim = static_cast<int>(*width);
  }
  const auto groups = i.settings.take_count("num-query-groups", i.problems);
  if (i.settings.take("group-query-attention") && groups) {
    m.kv_heads = static_cast<int>(*groups);
  }
}

bool is_zero(const std::optional<std::string>& text) {
  return text && std::strtod(text->c_str(), nullptr) == 0;
}

void read_kind(Import& i, ModelSpec& m) {
  Settings& s = i.settings;
  m.gated = s.take("swiglu").has_value();
  m.kind = m.gated ? ModelKind::llama : ModelKind::gpt;
  m.tied_embeddings = !s.take("untie-embeddings-and-output-weights");
  m.biases = !s.take("disable-bias-linear");
  s.take("normalization");
  m.learned_positions =
      s.take("position-embedding-type").value_or("learned_absolute") == "learned_absolute";
  if (s.take("use-rotary-position-embeddings")) m.learned_positions = false;
  const bool attention = is_zero(s.take("attention-dropout"));
  const bool hidden = is_zero(s.take("hidden-dropout"));
  m.dropout = !(attention && hidden);
  if (const auto layers = s.take_count("mtp-num-layers", i.problems)) {
    m.multi_token_layers = static_cast<int>(*layers);
  }
}

/// Megatron-LM's own default where the gate's width is not given: 8/3 of hidden, down to 64.
int default_ffn(const ModelSpec& m) { return m.gated ? m.hidden * 8 / 3 / 64 * 64 : 4 * m.hidden; }

void read_vocabulary(Import& i, ModelSpec& m) {
  if (const auto padded = i.settings.take_count("padded-vocab-size", i.problems)) {
    m.vocab = static_cast<int>(*padded);
  }
  if (m.vocab > 0) return;
  m.vocab = 51200;
  i.note("model",
         "the vocabulary is the tokenizer's and not in the arguments: 51200 was taken; "
         "give --model for the true one");
}

}  // namespace

void read_megatron_model(Import& i) {
  ModelSpec m;
  m.name = i.where.substr(i.where.find_last_of('/') + 1);
  read_sizes(kSizes, i, m);
  const auto positions = i.settings.take_count("max-position-embeddings", i.problems);
  if (m.layers == 0 || m.hidden == 0 || m.heads == 0) {
    i.note("model",
           "num-layers, hidden-size and num-attention-heads are not all there: give --model");
    return;
  }
  if (m.sequence == 0 && positions) m.sequence = static_cast<int>(*positions);
  if (m.sequence == 0) m.sequence = 2048;
  read_kind(i, m);
  if (m.ffn == 0) m.ffn = default_ffn(m);
  read_attention(i, m);
  read_experts(i, m);
  read_vocabulary(i, m);
  auto resolved = resolve(std::move(m));
  if (resolved.ok()) {
    i.out.model = std::move(resolved).value();
  } else {
    i.problems.push_back(std::move(resolved).error());
  }
}

}  // namespace tenon::planner
