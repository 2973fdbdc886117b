// Attention of all kinds, and the recurrences that stand in for it.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

Values attention(Context& c) {
  Attrs attrs{{"is_causal", c.flag("is_causal", false)},
              {"softcap", c.real("softcap", 0)},
              {"qk_matmul_output_mode", c.integer("qk_matmul_output_mode", 0)}};
  for (const char* number : {"q_num_heads", "kv_num_heads"})
    if (c.has_attr(number)) attrs.set(number, c.integer(number, 0));
  if (c.has_attr("scale")) attrs.set("scale", c.real("scale", 0));
  if (c.has_attr("softmax_precision"))
    attrs.set("softmax_precision", c.element_type("softmax_precision", DType::f32));
  return c.all("attention", c.inputs(), std::move(attrs), c.num_outputs());
}

Values rotary(Context& c) {
  Attrs attrs{{"interleaved", c.flag("interleaved", false)},
              {"rotary_dim", c.integer("rotary_embedding_dim", 0)}};
  if (const std::int64_t heads = c.integer("num_heads", 0); heads > 0)
    attrs.set("num_heads", heads);
  return {c.op("rotary_embedding", c.inputs(), std::move(attrs))};
}

// What a modifier sees: [batch, heads, queries, keys] of the softmax's precision.
Type score_type(Context& c, DType precision) {
  const Type &q = c.in(0)->type(), &k = c.in(1)->type();
  if (!q.ranked() || !k.ranked() || q.ndim() != 4 || k.ndim() != 4)
    return Type::unranked(precision);
  return Type(precision, {q.dim(0), q.dim(1), q.dim(2), k.dim(2)});
}

// y = prob_mod(softmax(score_mod(q k' scale))) v; the second modifier takes the first one's
// captures too.
Values flex_attention(Context& c) {
  Attrs attrs;
  DType precision = c.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  if (c.has_attr("softmax_precision")) {
    precision = c.element_type("softmax_precision", precision);
    attrs.set("softmax_precision", precision);
  }
  if (c.has_attr("scale")) attrs.set("scale", c.real("scale", 1));
  std::vector<std::unique_ptr<Graph>> regions;
  Values captures;
  for (const char* modifier : {"score_mod", "prob_mod"}) {
    if (!c.has_attr(modifier)) continue;
    Region region = c.region(modifier, {score_type(c, precision)}, captures);
    if (c.failed()) return c.fail(Error{});
    for (std::size_t i = captures.size(); !regions.empty() && i < region.captures.size(); ++i)
      regions[0]->add_input(region.captures[i]->name(), region.captures[i]->type());
    captures = region.captures;
    regions.push_back(std::move(region.graph));
    attrs.set(fmt::format("has_{}", modifier), true);
  }
  Values inputs = {c.in(0), c.in(1), c.in(2)};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return c.all("flex_attention", std::move(inputs), std::move(attrs), 1, std::move(regions));
}

Values causal_conv(Context& c) {
  return c.all("causal_conv_with_state", c.inputs(), {{"activation", c.text("activation", "none")}},
               c.num_outputs());
}

Values linear_attention(Context& c) {
  c.ignore({"chunk_size"});  // a hint for speed
  return c.all("linear_attention", c.inputs(),
               {{"update_rule", c.text("update_rule", "gated_delta")},
                {"q_num_heads", c.integer("q_num_heads", 0)},
                {"kv_num_heads", c.integer("kv_num_heads", 0)},
                {"scale", c.real("scale", 0)}},
               c.num_outputs());
}

}  // namespace

void add_attention_rows(Rows& rows) {
  rows.push_back({.domain = "", .op_type = "Attention", .convert = attention, .first = 23});
  rows.push_back({.domain = "", .op_type = "RotaryEmbedding", .convert = rotary, .first = 23});
  rows.push_back(
      {.domain = "", .op_type = "LinearAttention", .convert = linear_attention, .first = 27});
  rows.push_back(
      {.domain = "", .op_type = "CausalConvWithState", .convert = causal_conv, .first = 27});
  rows.push_back(
      {.domain = "ai.onnx.preview", .op_type = "FlexAttention", .convert = flex_attention});
}

}  // namespace tenon::onnx
