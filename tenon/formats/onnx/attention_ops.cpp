// Attention of all kinds, and the recurrences that stand in for it.
#include "tenon/formats/onnx/attention_internal.h"

#include <cmath>

#include "tenon/formats/onnx/importer_internal.h"
#include "tenon/formats/onnx/region_internal.h"

namespace tenon::onnx {

Value* inverse_root(Context& c, Value* x, std::int64_t axis, DType dtype) {
  if (x->type().ranked())
    if (const auto size = x->type().dim(static_cast<int>(axis)).known(); size && *size > 0) return c.number(1 / std::sqrt(static_cast<double>(*size)), dtype);
  Value* size = c.cast(c.squeeze(c.size_of_axis(x, axis), {0}), dtype);
  return c.op("div", {c.number(1, dtype), c.op("sqrt", {size})});
}

// [batch, kv heads, length, width] -> [batch, heads, length, width], each head `heads / kv heads` times in a row
Value* repeat_heads(Context& c, Value* kv, Value* heads) {
  Value *batch = c.size_of_axis(kv, 0), *kv_heads = c.size_of_axis(kv, 1), *length = c.size_of_axis(kv, 2), *width = c.size_of_axis(kv, 3);
  Value* wide = c.op("expand", {c.unsqueeze(kv, {2}), c.concat({batch, kv_heads, c.op("div", {heads, kv_heads}), length, width}, 0)});
  return c.op("reshape", {wide, c.concat({batch, heads, length, width}, 0)});
}

namespace {

Values attention(Context& c) {
  Attrs attrs{{"is_causal", c.flag("is_causal", false)}, {"softcap", c.real("softcap", 0)}, {"qk_matmul_output_mode", c.integer("qk_matmul_output_mode", 0)}};
  for (const char* number : {"q_num_heads", "kv_num_heads"})
    if (c.has_attr(number)) attrs.set(number, c.integer(number, 0));
  if (c.has_attr("scale")) attrs.set("scale", c.real("scale", 0));
  if (c.has_attr("softmax_precision")) attrs.set("softmax_precision", c.element_type("softmax_precision", DType::f32));
  return c.all("attention", c.inputs(), std::move(attrs), c.num_outputs());
}

Values rotary(Context& c) {
  Attrs attrs{{"interleaved", c.flag("interleaved", false)}, {"rotary_dim", c.integer("rotary_embedding_dim", 0)}, {"num_heads", c.integer("num_heads", 0)}};
  return {c.op("rotary_embedding", c.inputs(), std::move(attrs))};
}

// A modifier's graph, applied in place to one value.
Value* modified(Context& c, std::string_view attribute, Value* x) {
  const GraphProto* g = c.graph(attribute);
  if (!g) return x;
  Scope body(c.scope().graph, c.scope().builder, &c.scope());
  const Values outputs = c.importer().import_body(*g, body, c.frame(), {x}, c.scope().builder);
  return outputs.size() == 1 ? outputs[0] : c.fail_value(invalid("the graph {} must give one output", attribute));
}

// y = prob_mod(softmax(score_mod(q k' scale))) v, scores in softmax_precision.
Values flex_attention(Context& c) {
  Value *q = c.in(0), *k = c.in(1), *v = c.in(2);
  if (!q || !k || !v) return c.fail(invalid("q, k and v are needed"));
  const DType precision = c.element_type("softmax_precision", c.dtype(0) == DType::f64 ? DType::f64 : DType::f32);
  Value* scale = c.has_attr("scale") ? c.number(c.real("scale", 1), q) : inverse_root(c, q, -1, c.dtype(0));
  Value* heads = c.size_of_axis(q, 1);
  const bool one_to_one = q->type().ranked() && k->type().ranked() && q->type().ndim() == 4 && same(q->type().dim(1), k->type().dim(1)) == Truth::yes;
  if (!one_to_one) {
    k = repeat_heads(c, k, heads);
    v = repeat_heads(c, v, heads);
  }
  Value* scores = c.cast(c.op("mul", {c.op("matmul", {q, c.transpose(k, {0, 1, 3, 2})}), scale}), precision);
  Value* probabilities = modified(c, "prob_mod", c.op("softmax", {modified(c, "score_mod", scores)}, {{"axis", -1}}));
  return {c.op("matmul", {c.cast(probabilities, c.dtype(0)), v})};
}

// x[batch, channels, length] after past[batch, channels, k - 1] or zeros, then a depthwise convolution.
Values causal_conv(Context& c) {
  Value *x = c.in(0), *w = c.in(1), *past = c.in(3);
  const std::string activation = c.text("activation", "none");
  const auto channels = c.ndim(w) == 3 ? w->type().dim(0).known() : std::nullopt;
  const auto taps = c.ndim(w) == 3 ? w->type().dim(2).known() : std::nullopt;
  if (!channels || !taps) return c.fail(unsupported("the sizes of the weight must be known"));
  if (activation != "none" && activation != "silu" && activation != "swish") return c.fail(invalid("attribute activation is '{}'", activation));
  if (!past) past = c.full(c.concat({c.op("shape", {x}, {{"start", 0}, {"end", 2}}), c.ints({*taps - 1})}, 0), 0, c.dtype(0));
  Value* padded = c.concat({past, x}, 2);
  Value* y = c.op("conv", {padded, w, c.in(2)}, {{"group", *channels}});
  if (activation != "none") y = c.cast_like(c.op("silu", {c.cast(y, DType::f32)}), y);
  Value* length = c.size_of_axis(padded, 2);
  return {y, c.op("slice", {padded, c.op("sub", {length, c.ints({*taps - 1})}), length, c.ints({2})})};
}

// ---- LinearAttention: a state S[batch, heads, dk, dv] carried over time ---------------------------

struct LinearAttention {
  Context& c;
  std::int64_t q_heads, kv_heads;
  bool gated, delta;
  DType precision;

  // [batch, time, heads * width] -> [time, batch, heads, width]
  Value* by_time(Value* x, std::int64_t heads) {
    Value* split = c.op("reshape", {c.cast(x, precision), c.ints({0, 0, heads, -1})});
    return c.transpose(split, {1, 0, 2, 3});
  }
};

// One step; q, k, v, decay and beta are [batch, heads, width].
void linear_step(const LinearAttention& a, HandRegion& body, Value* state, const Values& x, Value* scale) {
  Context& c = body.c;
  Value *q = x[0], *k = x[1], *v = x[2], *decay = x[3], *beta = x[4];
  if (a.gated) state = c.op("mul", {state, c.op("exp", {c.unsqueeze(decay, {3})})});
  Value* update = v;
  if (a.delta) {
    Value* known = c.squeeze(c.op("matmul", {c.unsqueeze(k, {2}), state}), {2});  // S' k
    update = c.op("mul", {beta, c.op("sub", {v, known})});
  }
  state = c.op("add", {state, c.op("mul", {c.unsqueeze(k, {3}), c.unsqueeze(update, {2})})});
  Value* grouped = c.reshape(q, {0, a.kv_heads, a.q_heads / a.kv_heads, -1});
  Value* y = c.op("mul", {c.op("matmul", {grouped, state}), scale});
  body.output(state, "state");
  body.output(c.op("flatten", {y}, {{"axis", 1}}), "y");
}

Value* initial_state(LinearAttention& a, Value* k, Value* v) {
  Context& c = a.c;
  if (c.has(3)) return c.cast(c.in(3), a.precision);
  Value* heads = c.ints({a.kv_heads});
  const auto width = [&](Value* x) { return c.op("div", {c.size_of_axis(x, 2), heads}); };
  return c.full(c.concat({c.size_of_axis(k, 0), heads, width(k), width(v)}, 0), 0, a.precision);
}

Values linear_attention(Context& c) {
  const std::string rule = c.text("update_rule", "gated_delta");
  const double scale = c.real("scale", 0);
  c.ignore({"chunk_size"});
  LinearAttention a{c, c.integer("q_num_heads", 0), c.integer("kv_num_heads", 0), rule.starts_with("gated"), rule.ends_with("delta"),
                    c.has(0) && c.dtype(0) == DType::f64 ? DType::f64 : DType::f32};
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") return c.fail(invalid("attribute update_rule is '{}'", rule));
  if (a.q_heads < 1 || a.kv_heads < 1 || a.q_heads % a.kv_heads) return c.fail(invalid("q_num_heads is {} and kv_num_heads {}", a.q_heads, a.kv_heads));
  if ((a.gated && !c.has(4)) || (a.delta && !c.has(5))) return c.fail(invalid("the update rule {} needs decay or beta", rule));
  Values sequences = {a.by_time(c.in(0), a.q_heads), a.by_time(c.in(1), a.kv_heads), a.by_time(c.in(2), a.kv_heads)};
  Value* factor = scale != 0 ? c.number(scale, a.precision) : inverse_root(c, sequences[0], 3, a.precision);
  if (a.gated) sequences.push_back(a.by_time(c.in(4), a.kv_heads));
  if (a.delta) sequences.push_back(c.transpose(c.unsqueeze(c.cast(c.in(5), a.precision), {3}), {1, 0, 2, 3}));
  Value* state = initial_state(a, c.in(1), c.in(2));
  if (c.failed()) return c.fail(Error{});

  HandRegion body(c, "step");
  Value* inner_state = body.input("state", state->type());
  Values x;
  for (Value* s : sequences) x.push_back(body.input(fmt::format("x{}", x.size()), Type(a.precision, Shape(s->type().shape().begin() + 1, s->type().shape().end()))));
  if (!a.gated) x.insert(x.begin() + 3, nullptr);
  if (!a.delta) x.push_back(nullptr);
  linear_step(a, body, inner_state, x, body.capture(factor));
  Region region = body.finish();
  if (c.failed()) return c.fail(Error{});
  Values inputs = {state};
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  inputs.insert(inputs.end(), region.captures.begin(), region.captures.end());
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(region.graph));
  const Values results = c.all("scan", std::move(inputs), {{"num_states", 1}, {"num_scan_inputs", static_cast<std::int64_t>(sequences.size())}}, 2, std::move(regions));
  return {c.cast_like(c.transpose(results[1], {1, 0, 2}), c.in(0)), c.cast(results[0], c.has(3) ? c.dtype(3) : c.dtype(0))};
}

}  // namespace

void add_attention_rows(Rows& rows) {
  rows.push_back({.domain = "", .op_type = "Attention", .convert = attention, .first = 23});
  rows.push_back({.domain = "", .op_type = "RotaryEmbedding", .convert = rotary, .first = 23});
  rows.push_back({.domain = "", .op_type = "LinearAttention", .convert = linear_attention, .first = 27});
  rows.push_back({.domain = "", .op_type = "CausalConvWithState", .convert = causal_conv, .first = 27});
  rows.push_back({.domain = "ai.onnx.preview", .op_type = "FlexAttention", .convert = flex_attention});
}

}  // namespace tenon::onnx
