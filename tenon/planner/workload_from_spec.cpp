// A ModelSpec expanded to its chain of blocks.
#include "tenon/planner/layer_builders_internal.h"

namespace tenon::planner {
namespace {

int add_class(Workload& w, LayerClass layer) {
  w.classes.push_back(std::move(layer));
  return static_cast<int>(w.classes.size()) - 1;
}

/// Appends `count` copies of a block made of `classes`.
void add_blocks(Workload& w, const StackSizes& s, const std::string& name,
                const std::vector<int>& classes, int count) {
  if (count <= 0) return;
  w.block_types.push_back({name, classes, 2 * s.tokens * s.hidden});
  w.blocks.insert(w.blocks.end(), static_cast<std::size_t>(count),
                  static_cast<int>(w.block_types.size()) - 1);
}

StackSizes stack_of(const ModelSpec& spec, double tokens, bool causal, bool trained = true) {
  StackSizes s;
  s.tokens = s.keys = tokens;
  s.hidden = spec.hidden;
  s.spec = &spec;
  s.causal = causal, s.trained = trained;
  return s;
}

void add_divisors(const ModelSpec& spec, Workload& w) {
  w.tensor_divisors.push_back({"heads", spec.heads});
  w.tensor_divisors.push_back({"kv_heads", spec.kv_heads});
  w.tensor_divisors.push_back({"ffn", spec.kind == ModelKind::moe ? spec.expert_ffn : spec.ffn});
  w.context_divisors.push_back({"sequence", spec.sequence});
}

int attention_class(Workload& w, const StackSizes& s) {
  return add_class(w, s.spec->kv_rank > 0 ? latent_attention_layer(s) : attention_layer(s));
}

void add_decoder_stack(const ModelSpec& spec, const StackSizes& s, Workload& w) {
  const int attention = attention_class(w, s);
  if (spec.experts == 0) {
    const int ffn = add_class(w, ffn_layer(s, spec.ffn));
    return add_blocks(w, s, "layer", {attention, ffn}, spec.layers);
  }
  if (spec.dense_layers > 0) {
    const int ffn = add_class(w, ffn_layer(s, spec.ffn));
    add_blocks(w, s, "dense_layer", {attention, ffn}, spec.dense_layers);
  }
  const int experts = add_class(w, experts_layer(s));
  add_blocks(w, s, "expert_layer", {attention, experts}, spec.layers - spec.dense_layers);
}

/// One more block and head for each token predicted ahead; they ride with the last stage.
void add_multi_token(const ModelSpec& spec, const StackSizes& s, int head, Workload& w) {
  for (int i = 0; i < spec.multi_token_layers; ++i) {
    LayerClass joint = ffn_layer(s, spec.ffn);
    joint.name = "multi_token_projection";
    joint.ops = {matmul_op("join", s.tokens, 2 * s.hidden, s.hidden)};
    joint.parameters = {matrix("join", 2 * s.hidden * s.hidden, false)};
    joint.tensor_reduces = joint.tensor_reduces_backward = 0;
    w.last.push_back(add_class(w, joint));
    for (int c : w.block_types.back().classes) w.last.push_back(c);
    LayerClass again = w.classes[head];
    std::erase_if(again.parameters, [](const Parameter& p) { return p.name == "output_table"; });
    w.last.push_back(add_class(w, again));
  }
}

Workload decoder_workload(const ModelSpec& spec) {
  Workload w;
  const StackSizes s = stack_of(spec, spec.sequence, spec.causal);
  w.tokens_per_sample = spec.sequence;
  w.first.push_back(add_class(w, token_embedding(s)));
  add_decoder_stack(spec, s, w);
  const int head = add_class(w, vocabulary_head(s));
  w.last.push_back(head);
  add_multi_token(spec, s, head, w);
  w.tied_embeddings = spec.tied_embeddings;
  w.num_experts = spec.experts;
  add_divisors(spec, w);
  return w;
}

Workload vit_workload(const ModelSpec& spec) {
  Workload w;
  const StackSizes s = stack_of(spec, spec.sequence, false);
  w.first.push_back(add_class(w, patch_embedding(s)));
  add_decoder_stack(spec, s, w);
  w.last.push_back(add_class(w, class_head(1, spec.hidden, spec.classes)));
  add_divisors(spec, w);
  return w;
}

Workload t5_workload(const ModelSpec& spec) {
  Workload w;
  const StackSizes encoder = stack_of(spec, spec.sequence, false);
  StackSizes decoder = stack_of(spec, spec.decoder_sequence, true);
  w.tokens_per_sample = spec.sequence + spec.decoder_sequence;
  w.first.push_back(add_class(w, token_embedding(encoder)));
  add_decoder_stack(spec, encoder, w);
  const int self = add_class(w, attention_layer(decoder));
  StackSizes cross = decoder;
  cross.keys = spec.sequence, cross.causal = false;
  const int across = add_class(w, attention_layer(cross, "cross_attention"));
  const int ffn = add_class(w, ffn_layer(decoder, spec.ffn));
  add_blocks(w, decoder, "decoder_layer", {self, across, ffn}, spec.decoder_layers);
  // The encoder's output travels along with the decoder's.
  w.block_types.back().boundary_bytes += 2 * encoder.tokens * encoder.hidden;
  w.last.push_back(add_class(w, vocabulary_head(decoder)));
  w.tied_embeddings = spec.tied_embeddings;
  add_divisors(spec, w);
  return w;
}

/// Appends tower `from` to `w`, renumbering classes and block types.
void append(Workload& w, const Workload& from, bool trained, bool with_head) {
  const int class_shift = static_cast<int>(w.classes.size());
  const int block_shift = static_cast<int>(w.block_types.size());
  for (LayerClass layer : from.classes) {
    layer.trained = layer.trained && trained;
    w.classes.push_back(std::move(layer));
  }
  for (Block block : from.block_types) {
    for (int& c : block.classes) c += class_shift;
    w.block_types.push_back(std::move(block));
  }
  for (int b : from.blocks) w.blocks.push_back(b + block_shift);
  for (int c : from.first) w.first.push_back(c + class_shift);
  if (with_head) {
    for (int c : from.last) w.last.push_back(c + class_shift);
  }
  w.num_experts = std::max(w.num_experts, from.num_experts);
  w.tensor_divisors.insert(w.tensor_divisors.end(), from.tensor_divisors.begin(),
                           from.tensor_divisors.end());
  w.context_divisors.insert(w.context_divisors.end(), from.context_divisors.begin(),
                            from.context_divisors.end());
}

/// Two products that carry a tower's tokens into the width of the language model.
LayerClass projector(const ModelSpec& tower, const ModelSpec& main) {
  const double n = tower.sequence, in = tower.hidden, out = main.hidden;
  LayerClass layer;
  layer.name = "projector";
  layer.kind = LayerKind::embedding;
  layer.tokens = n;
  layer.ops.push_back(matmul_op("project", n, in, out));
  layer.ops.push_back(memory_op("activation", 4 * n * out, 6 * n * out, Split::whole));
  layer.ops.push_back(matmul_op("project_again", n, out, out));
  layer.parameters.push_back(matrix("project", in * out + out, false));
  layer.parameters.push_back(matrix("project_again", out * out + out, false));
  layer.kept.push_back({"project_in", 2 * n * in, Split::whole, false, false});
  layer.kept.push_back({"project_hidden", 4 * n * out, Split::whole, false, false});
  return layer;
}

Workload multimodal_workload(const ModelSpec& spec) {
  Workload w;
  for (std::size_t i = 0; i < spec.towers.size(); ++i) {
    const ModelSpec& tower = spec.towers[i];
    const Workload part = workload_of(tower);
    const bool is_main = i + 1 == spec.towers.size();
    append(w, part, is_main || spec.towers_trained, is_main && !spec.contrastive);
    if (is_main && !spec.contrastive) {
      w.tokens_per_sample = part.tokens_per_sample;
      w.tied_embeddings = part.tied_embeddings;
    }
  }
  if (!spec.contrastive) {
    for (std::size_t i = 0; i + 1 < spec.towers.size(); ++i) {
      w.first.push_back(add_class(w, projector(spec.towers[i], spec.towers.back())));
    }
    return w;
  }
  // Each tower has its own way into the common space.
  for (const ModelSpec& tower : spec.towers) {
    w.last.push_back(add_class(w, class_head(1, tower.hidden, spec.towers.back().hidden)));
  }
  return w;
}

}  // namespace

Workload workload_of(const ModelSpec& spec) {
  Workload w;
  switch (spec.kind) {
    case ModelKind::gpt:
    case ModelKind::llama:
    case ModelKind::bert:
    case ModelKind::moe: w = decoder_workload(spec); break;
    case ModelKind::t5: w = t5_workload(spec); break;
    case ModelKind::vit: w = vit_workload(spec); break;
    case ModelKind::resnet: w = resnet_workload(spec); break;
    case ModelKind::dlrm: w = dlrm_workload(spec); break;
    case ModelKind::multimodal: w = multimodal_workload(spec); break;
  }
  w.name = spec.name;
  return w;
}

}  // namespace tenon::planner
