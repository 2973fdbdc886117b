// Transformer layers: operators, parameters and kept tensors.
//
// Shapes, for one sample: x[n, h] activations, n tokens, h hidden, a heads of d, g kv heads, f ffn
// width. Elements are two bytes. The kept tensors of a classic GPT layer add up to
// n h (34 + 5 a n / h) bytes, of which n h 10 stay whole under tensor parallelism
// (arXiv 2205.05198, equations 1 and 2).
#include <algorithm>

#include "tenon/planner/layer_builders_internal.h"

namespace tenon::planner {
namespace {

constexpr double kElement = 2;

/// Norm: reads and writes x once; backward reads x and dy, writes dx.
LayerOp norm_op(const StackSizes& s) {
  return memory_op("norm", 4 * s.tokens * s.hidden, 6 * s.tokens * s.hidden, Split::sequence);
}

/// Residual addition, with bias and dropout where the kind has them (a mask byte an element).
LayerOp residual_op(const StackSizes& s) {
  const double n = s.tokens * s.hidden;
  return s.spec->dropout ? memory_op("bias_dropout_add", 7 * n, 5 * n, Split::sequence)
                         : memory_op("residual_add", 6 * n, 4 * n, Split::sequence);
}

void keep(LayerClass& layer, std::string name, double bytes, Split split, bool core = false,
          bool unfused_only = false) {
  layer.kept.push_back({std::move(name), bytes, split, core, unfused_only});
}

void add_norm_parameters(const StackSizes& s, LayerClass& layer) {
  layer.parameters.push_back(matrix("norm", (s.spec->biases ? 2 : 1) * s.hidden, false));
}

/// What every sublayer of a transformer block shares: norm in front, residual behind, one
/// reduction.
LayerClass sublayer(const StackSizes& s, std::string name, LayerKind kind) {
  LayerClass layer;
  layer.name = std::move(name);
  layer.kind = kind;
  layer.trained = s.trained;
  layer.tokens = s.tokens;
  layer.input_bytes = kElement * s.tokens * s.hidden;
  layer.tensor_reduces = layer.tensor_reduces_backward = 1;
  layer.reduce_bytes = kElement * s.tokens * s.hidden;
  layer.ops.push_back(norm_op(s));
  add_norm_parameters(s, layer);
  keep(layer, "norm_in", kElement * s.tokens * s.hidden, Split::sequence);
  keep(layer, "norm_out", kElement * s.tokens * s.hidden, Split::sequence);
  return layer;
}

void add_residual(const StackSizes& s, LayerClass& layer) {
  layer.ops.push_back(residual_op(s));
  if (s.spec->dropout) keep(layer, "dropout_mask", s.tokens * s.hidden, Split::sequence);
}

LayerOp columns_split(LayerOp op) {
  op.splits_columns = true;
  return op;
}
LayerOp inner_split(LayerOp op) {
  op.splits_inner = true;
  return op;
}

/// The attention core: scores, softmax, dropout, context.
void add_core(const StackSizes& s, double head_dim, double value_dim, LayerClass& layer) {
  LayerOp core;
  core.name = "core";
  core.kind = OpKind::attention;
  core.rows = s.tokens, core.keys = s.keys;
  core.heads = s.spec->heads, core.kv_heads = s.spec->kv_heads;
  core.head_dim = head_dim, core.value_dim = value_dim;
  core.causal = s.causal, core.dropout = s.spec->dropout;
  layer.ops.push_back(core);
  const double scores = core.heads * s.tokens * s.keys;
  keep(layer, "softmax", kElement * scores, Split::tensor, true, true);
  if (s.spec->dropout) {
    keep(layer, "attention_mask", scores, Split::tensor, true, true);
    keep(layer, "attention_dropped", kElement * scores, Split::tensor, true, true);
  }
}

void add_mlp(const StackSizes& s, double width, LayerClass& layer) {
  const ModelSpec& spec = *s.spec;
  const double in = spec.gated ? 2 * width : width, n = s.tokens;
  layer.ops.push_back(columns_split(matmul_op("up", n, s.hidden, in)));
  layer.ops.push_back(spec.gated
                          ? memory_op("gate", 6 * n * width, 10 * n * width, Split::tensor)
                          : memory_op("activation", 4 * n * width, 6 * n * width, Split::tensor));
  layer.ops.push_back(inner_split(matmul_op("down", n, width, s.hidden)));
  layer.parameters.push_back(matrix("up", s.hidden * in, true));
  layer.parameters.push_back(matrix("down", s.hidden * width, true));
  if (spec.biases) {
    layer.parameters.push_back(matrix("up_bias", in, true));
    layer.parameters.push_back(matrix("down_bias", s.hidden, false));
  }
  keep(layer, "activation_in", kElement * n * in, Split::tensor);
  keep(layer, "activation_out", kElement * n * width, Split::tensor);
}

}  // namespace

LayerOp matmul_op(std::string name, double rows, double inner, double columns) {
  LayerOp op;
  op.name = std::move(name);
  op.kind = OpKind::matmul;
  op.rows = rows, op.inner = inner, op.columns = columns;
  return op;
}

LayerOp memory_op(std::string name, double forward_bytes, double backward_bytes, Split split) {
  LayerOp op;
  op.name = std::move(name);
  op.forward_bytes = forward_bytes, op.backward_bytes = backward_bytes;
  op.split = split;
  return op;
}

Parameter matrix(std::string name, double elements, bool splits_tensor) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.elements = elements;
  parameter.splits_tensor = splits_tensor;
  return parameter;
}

LayerClass attention_layer(const StackSizes& s, const std::string& name) {
  const ModelSpec& spec = *s.spec;
  const double n = s.tokens, q = double(spec.heads) * spec.head_dim;
  const double kv = double(spec.kv_heads) * spec.head_dim;
  LayerClass layer = sublayer(s, name, LayerKind::attention);
  layer.ops.push_back(columns_split(matmul_op("qkv", n, s.hidden, q + 2 * kv)));
  layer.ops.push_back(
      memory_op("heads", 4 * n * (q + 2 * kv), 4 * n * (q + 2 * kv), Split::tensor));
  add_core(s, spec.head_dim, spec.head_dim, layer);
  layer.ops.push_back(inner_split(matmul_op("projection", n, q, s.hidden)));
  layer.parameters.push_back(matrix("qkv", s.hidden * (q + 2 * kv), true));
  layer.parameters.push_back(matrix("projection", q * s.hidden, true));
  if (spec.biases) {
    layer.parameters.push_back(matrix("qkv_bias", q + 2 * kv, true));
    layer.parameters.push_back(matrix("projection_bias", s.hidden, false));
  }
  keep(layer, "query", kElement * n * q, Split::tensor);
  keep(layer, "key", kElement * s.keys * kv, Split::tensor);
  keep(layer, "value", kElement * s.keys * kv, Split::tensor);
  keep(layer, "projection_in", kElement * n * q, Split::tensor);
  layer.context_bytes = 2 * kElement * n * kv;
  layer.context_exchange_bytes = kElement * n * (2 * q + 2 * kv);
  add_residual(s, layer);
  return layer;
}

LayerClass latent_attention_layer(const StackSizes& s) {
  // x -> query_rank -> heads x (nope + rope); x -> kv_rank + rope -> heads x (nope + value).
  const ModelSpec& spec = *s.spec;
  const double n = s.tokens, a = spec.heads, qk = spec.head_dim + spec.rope_dim;
  const double q_in = spec.query_rank > 0 ? spec.query_rank : s.hidden;
  LayerClass layer = sublayer(s, "latent_attention", LayerKind::attention);
  if (spec.query_rank > 0) {
    layer.ops.push_back(matmul_op("query_down", n, s.hidden, spec.query_rank));
    layer.parameters.push_back(matrix("query_down", s.hidden * spec.query_rank, false));
    keep(layer, "query_latent", 2 * kElement * n * spec.query_rank, Split::sequence);
  }
  layer.ops.push_back(columns_split(matmul_op("query_up", n, q_in, a * qk)));
  layer.ops.push_back(matmul_op("kv_down", n, s.hidden, spec.kv_rank + spec.rope_dim));
  layer.ops.push_back(
      columns_split(matmul_op("kv_up", n, spec.kv_rank, a * (spec.head_dim + spec.value_dim))));
  layer.ops.push_back(memory_op("heads", 8 * n * a * qk, 8 * n * a * qk, Split::tensor));
  add_core(s, qk, spec.value_dim, layer);
  layer.ops.push_back(inner_split(matmul_op("projection", n, a * spec.value_dim, s.hidden)));
  layer.parameters.push_back(matrix("query_up", q_in * a * qk, true));
  layer.parameters.push_back(matrix("kv_down", s.hidden * (spec.kv_rank + spec.rope_dim), false));
  layer.parameters.push_back(
      matrix("kv_up", spec.kv_rank * a * (spec.head_dim + spec.value_dim), true));
  layer.parameters.push_back(matrix("projection", a * spec.value_dim * s.hidden, true));
  keep(layer, "kv_latent", 2 * kElement * n * (spec.kv_rank + spec.rope_dim), Split::sequence);
  keep(layer, "query", kElement * n * a * qk, Split::tensor);
  keep(layer, "key", kElement * s.keys * a * qk, Split::tensor);
  keep(layer, "value", kElement * s.keys * a * spec.value_dim, Split::tensor);
  keep(layer, "projection_in", kElement * n * a * spec.value_dim, Split::tensor);
  layer.context_bytes = kElement * n * a * (qk + spec.value_dim);
  layer.context_exchange_bytes = kElement * n * a * 2 * (qk + spec.value_dim);
  add_residual(s, layer);
  return layer;
}

LayerClass ffn_layer(const StackSizes& s, double width) {
  LayerClass layer = sublayer(s, "ffn", LayerKind::ffn);
  add_mlp(s, width, layer);
  add_residual(s, layer);
  return layer;
}

LayerClass experts_layer(const StackSizes& s) {
  const ModelSpec& spec = *s.spec;
  const double n = s.tokens, f = spec.expert_ffn, in = spec.gated ? 2 * f : f;
  const double routed = n * spec.top_k * spec.capacity;  // rows of all experts together
  LayerClass layer = sublayer(s, "experts", LayerKind::experts);
  layer.ops.push_back(matmul_op("router", n, s.hidden, spec.experts));
  layer.ops.push_back(
      memory_op("dispatch", 4 * routed * s.hidden, 4 * routed * s.hidden, Split::whole));
  LayerOp up = columns_split(matmul_op("experts_up", routed, s.hidden, in));
  LayerOp down = inner_split(matmul_op("experts_down", routed, f, s.hidden));
  up.experts = down.experts = spec.experts;
  layer.ops.push_back(up);
  layer.ops.push_back(memory_op("gate", 6 * routed * f, 10 * routed * f, Split::tensor));
  layer.ops.push_back(down);
  layer.ops.push_back(
      memory_op("combine", 4 * routed * s.hidden, 4 * routed * s.hidden, Split::whole));
  layer.parameters.push_back(matrix("router", s.hidden * spec.experts, false));
  for (auto [name, elements] : {std::pair{"experts_up", s.hidden * in * spec.experts},
                                {"experts_down", s.hidden * f * spec.experts}}) {
    Parameter parameter = matrix(name, elements, true);
    parameter.expert = true;
    layer.parameters.push_back(parameter);
  }
  keep(layer, "expert_in", kElement * routed * s.hidden, Split::whole);
  keep(layer, "expert_activation_in", kElement * routed * in, Split::tensor);
  keep(layer, "expert_activation_out", kElement * routed * f, Split::tensor);
  keep(layer, "expert_out", kElement * routed * s.hidden, Split::whole);
  keep(layer, "router_scores", 4 * n * spec.experts, Split::sequence);
  if (spec.shared_experts > 0) add_mlp(s, f * spec.shared_experts, layer);
  layer.exchange_bytes = 2 * kElement * routed * s.hidden;
  layer.choices = spec.top_k;
  if (spec.expert_groups > 0 && spec.group_limit > 0)
    layer.reachable_share = std::min(1.0, double(spec.group_limit) / spec.expert_groups);
  add_residual(s, layer);
  return layer;
}

LayerClass token_embedding(const StackSizes& s) {
  const ModelSpec& spec = *s.spec;
  const double n = s.tokens * s.hidden;
  LayerClass layer;
  layer.name = "embedding";
  layer.kind = LayerKind::embedding;
  layer.trained = s.trained;
  layer.tokens = s.tokens;
  layer.ops.push_back(memory_op("gather", (spec.dropout ? 9 : 4) * n, 10 * n, Split::sequence));
  Parameter table = matrix("token_table", double(spec.vocab) * s.hidden, true);
  table.padded_row = s.hidden;
  layer.parameters.push_back(table);
  if (spec.learned_positions) {
    layer.parameters.push_back(matrix("positions", s.tokens * s.hidden, false));
  }
  if (spec.dropout) keep(layer, "embedding_mask", n, Split::sequence);
  layer.tensor_reduces = 1;
  layer.reduce_bytes = kElement * n;
  return layer;
}

LayerClass patch_embedding(const StackSizes& s) {
  const ModelSpec& spec = *s.spec;
  const double inner = double(spec.patch) * spec.patch * spec.channels;
  LayerClass layer;
  layer.name = "patch_embedding";
  layer.kind = LayerKind::embedding;
  layer.trained = s.trained;
  layer.tokens = s.tokens;
  layer.ops.push_back(matmul_op("patches", s.tokens, inner, s.hidden));
  layer.ops.push_back(
      memory_op("positions", 6 * s.tokens * s.hidden, 4 * s.tokens * s.hidden, Split::sequence));
  layer.parameters.push_back(matrix("patches", inner * s.hidden, false));
  layer.parameters.push_back(matrix("positions", s.tokens * s.hidden, false));
  keep(layer, "pixels", kElement * s.tokens * inner, Split::whole);
  return layer;
}

LayerClass vocabulary_head(const StackSizes& s) {
  const ModelSpec& spec = *s.spec;
  LayerClass layer;
  layer.name = "head";
  layer.kind = LayerKind::head;
  layer.tokens = s.tokens;
  layer.ops.push_back(norm_op(s));
  if (spec.kind == ModelKind::bert) {
    layer.ops.push_back(matmul_op("transform", s.tokens, s.hidden, s.hidden));
    layer.parameters.push_back(matrix("transform", s.hidden * s.hidden, false));
  }
  layer.ops.push_back(columns_split(matmul_op("logits", s.tokens, s.hidden, spec.vocab)));
  LayerOp loss;
  loss.name = "loss", loss.kind = OpKind::loss;
  loss.rows = s.tokens, loss.columns = spec.vocab, loss.split = Split::tensor;
  layer.ops.push_back(loss);
  add_norm_parameters(s, layer);
  if (!spec.tied_embeddings) {
    Parameter table = matrix("output_table", double(spec.vocab) * s.hidden, true);
    table.padded_row = s.hidden;
    layer.parameters.push_back(table);
  }
  keep(layer, "head_norm_in", kElement * s.tokens * s.hidden, Split::sequence);
  keep(layer, "head_in", kElement * s.tokens * s.hidden, Split::sequence);
  // fp32 softmax, 16-bit logits and their 16-bit gradient live together at the turn.
  keep(layer, "logits", 8 * s.tokens * spec.vocab, Split::tensor);
  layer.tensor_reduces_backward = 1;  // of the gradient of x; the loss reduces only sums
  layer.reduce_bytes = kElement * s.tokens * s.hidden;
  return layer;
}

LayerClass class_head(double rows, double hidden, double classes) {
  LayerClass layer;
  layer.name = "head";
  layer.kind = LayerKind::head;
  layer.tokens = rows;
  layer.ops.push_back(matmul_op("classes", rows, hidden, classes));
  LayerOp loss;
  loss.name = "loss", loss.kind = OpKind::loss;
  loss.rows = rows, loss.columns = classes;
  layer.ops.push_back(loss);
  layer.parameters.push_back(matrix("classes", hidden * classes + classes, false));
  keep(layer, "head_in", kElement * rows * hidden, Split::whole);
  return layer;
}

}  // namespace tenon::planner
