// com.microsoft: attention with packed weights, key lengths, caches and rotary positions.
#include <cmath>

#include "tenon/formats/onnx/contrib_internal.h"

namespace tenon::onnx {
namespace {

// [b, s, heads * width] -> [b, heads, s, width]
Value* split_heads(Context& c, Value* x, std::int64_t heads) {
  return c.transpose(c.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}
// [b, heads, s, width] -> [b, s, heads * width]
Value* join_heads(Context& c, Value* x) {
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), {0, 0, -1});
}

Value* size_scalar(Context& c, Value* x, std::int64_t axis) {
  return c.squeeze(c.size_of_axis(x, axis), {0});
}
Value* positions(Context& c, Value* length) {
  return c.op("range", {c.integer_scalar(0), length, c.integer_scalar(1)});
}

// 0 where `keep`, the filter value elsewhere.
Value* penalty(Context& c, Value* keep, double filter, DType dtype) {
  return c.op("where", {keep, c.number(0, dtype), c.number(filter, dtype)});
}
Value* sum_of(Context& c, Value* a, Value* b) { return !a ? b : !b ? a : c.op("add", {a, b}); }

// Scores of keys after the query get the filter value; query i stands at past + i of all keys.
Value* causal_penalty(Context& c, Value* q, Value* k, double filter) {
  Value *queries = size_scalar(c, q, 2), *keys = size_scalar(c, k, 2);
  Value* at = c.op("add", {c.unsqueeze(positions(c, queries), {1}), c.op("sub", {keys, queries})});
  return penalty(c, c.op("less_equal", {c.unsqueeze(positions(c, keys), {0}), at}), filter,
                 q->type().dtype());
}

// Masks by rank: [b] lengths, [b, keys] and [b, queries, keys] of 0 and 1, [b, 1, max, max] cut to
// size.
Value* mask_penalty(Context& c, Value* mask, Value* q, Value* k, double filter) {
  if (!mask) return nullptr;
  const DType dtype = q->type().dtype();
  const int rank = c.ndim(mask);
  if (rank == 1) {
    const Dim batch = q->type().ranked() ? q->type().dim(0) : Dim(-1);
    if (same(mask->type().dim(0), batch) == Truth::no)
      return c.fail_value(unsupported("a mask of {} entries for a batch of {}",
                                      mask->type().dim(0).text(), batch.text()));
    Value* keys = c.cast(positions(c, size_scalar(c, k, 2)), mask->type().dtype());
    return c.unsqueeze(
        penalty(c, c.op("less", {c.unsqueeze(keys, {0}), c.unsqueeze(mask, {1})}), filter, dtype),
        {1, 2});
  }
  Value* kept = c.cast(mask, dtype);
  Value* lost = c.op("mul", {c.op("sub", {c.number(1, dtype), kept}), c.number(filter, dtype)});
  if (rank == 2) return c.unsqueeze(lost, {1, 2});
  if (rank == 3) return c.unsqueeze(lost, {1});
  Value *keys = c.size_of_axis(k, 2), *first = c.op("sub", {keys, c.size_of_axis(q, 2)});
  return c.op("slice",
              {lost, c.concat({first, c.ints({0})}, 0), c.concat({keys, keys}, 0), c.ints({2, 3})});
}

// softmax(q k' scale + bias) v for [b, heads, length, width]; scale 0 means 1 / sqrt(width).
Value* attend(Context& c, Value* q, Value* k, Value* v, Value* bias, double scale,
              double softcap = 0) {
  Attrs attrs{{"softcap", softcap}};
  if (scale != 0) attrs.set("scale", scale);
  return c.all("attention", {q, k, v, bias}, std::move(attrs), 1)[0];
}

// Puts the cached keys or values before the new ones.
Value* after_past(Context& c, Value* past, Value* x) { return past ? c.concat({past, x}, 2) : x; }

// ---- MultiHeadAttention
// -------------------------------------------------------------------------------

struct Heads {
  Value *q, *k, *v;  // [b, heads, length, width]
};

Value* part_of(Context& c, Value* packed, std::int64_t i) {
  return c.transpose(c.squeeze(c.slice(packed, 3, i, i + 1), {3}), {0, 2, 1, 3});
}

// query alone packs [b, s, heads, 3, width]; key may pack [b, s, heads, 2, width]; else rank 3 (or
// 4 for a cache that is given whole).
Heads multi_heads(Context& c, std::int64_t heads) {
  Value *q = c.in(0), *k = c.in(1), *v = c.in(2), *bias = c.in(3);
  if (c.ndim(q) == 5) return {part_of(c, q, 0), part_of(c, q, 1), part_of(c, q, 2)};
  if (!k) {
    c.fail(invalid("the input key is absent"));
    return {q, q, q};
  }
  if (bias) {
    const auto width = c.ndim(q) == 3 ? q->type().dim(2).known() : std::nullopt;
    if (!width) {
      c.fail(unsupported("the width of the query must be known beside a bias"));
      return {q, q, q};
    }
    q = c.op("add", {q, c.slice(bias, 0, 0, *width)});
    if (c.ndim(k) == 3) k = c.op("add", {k, c.slice(bias, 0, *width, 2 * *width)});
    if (v && c.ndim(v) == 3)
      v = c.op("add", {v, c.slice(bias, 0, 2 * *width, std::int64_t{1} << 40)});
  }
  Heads h{split_heads(c, q, heads), nullptr, nullptr};
  if (c.ndim(k) == 5) return {h.q, part_of(c, k, 0), part_of(c, k, 1)};
  if (!v) {
    c.fail(invalid("the input value is absent"));
    return {q, q, q};
  }
  h.k = c.ndim(k) == 4 ? k : split_heads(c, k, heads);
  h.v = c.ndim(v) == 4 ? v : split_heads(c, v, heads);
  return h;
}

Values multi_head_attention(Context& c) {
  const std::int64_t heads = c.integer("num_heads", 0);
  const double filter = c.real("mask_filter_value", -10000), scale = c.real("scale", 0);
  const bool unidirectional = c.flag("unidirectional", false);
  if (c.has(9) || c.wants(3)) return c.fail(unsupported("cache_indirection and the output qk"));
  Heads h = multi_heads(c, heads);
  if (c.failed()) return c.fail(Error{});
  h.k = after_past(c, c.in(6), h.k);
  h.v = after_past(c, c.in(7), h.v);
  Value* bias = sum_of(c, mask_penalty(c, c.in(4), h.q, h.k, filter), c.in(5));
  if (unidirectional) bias = sum_of(c, bias, causal_penalty(c, h.q, h.k, filter));
  return {join_heads(c, attend(c, h.q, h.k, h.v, bias, scale)), h.k, h.v};
}

Values attention(Context& c) {
  return packed_attention(c, {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), c.in(5)});
}

// ---- rotary positions and GroupQueryAttention
// -----------------------------------------------------------

Value* rotated(Context& c, Value* x, Value* at, Value* cos, Value* sin, bool interleaved,
               std::int64_t width, std::int64_t heads) {
  Attrs attrs{{"interleaved", interleaved}, {"rotary_dim", width}};
  if (heads > 0) attrs.set("num_heads", heads);
  return c.op("rotary_embedding", {x, cos, sin, at}, std::move(attrs));
}

// Position ids of one element are an offset for all.
Values rotary(Context& c) {
  const bool interleaved = c.flag("interleaved", false);
  const std::int64_t width = c.integer("rotary_embedding_dim", 0);
  std::int64_t heads = c.integer("num_heads", 0);
  for (int i : {1, 2, 3})
    if (!c.has(i)) return c.fail(invalid("input {} is absent", i));
  if (c.flag("is_packed_batching", false)) return c.fail(unsupported("packed batches"));
  if (c.real("scale", 1) != 1) return c.fail(unsupported("a scale"));
  Value *x = c.in(0), *at = c.in(1);
  if (heads == 0 && c.ndim(x) == 3 && c.ndim(c.in(2)) == 2) {  // heads as wide as the tables say
    const auto all = x->type().dim(2).known(), half = c.in(2)->type().dim(1).known();
    if (all && half && *half > 0) heads = *all / (2 * *half);
  }
  if (c.ndim(at) == 1) {
    const int time = c.ndim(x) == 4 ? 2 : 1;
    Value* ids = c.op(
        "add", {c.unsqueeze(positions(c, size_scalar(c, x, time)), {0}), c.cast(at, DType::i64)});
    at = c.op("expand", {ids, c.concat({c.size_of_axis(x, 0), c.size_of_axis(x, time)}, 0)});
  }
  return {rotated(c, x, at, c.in(2), c.in(3), interleaved, width, heads)};
}

struct GroupQuery {
  Value *q, *k, *v;       // [b, heads, s, width]
  Value *before, *total;  // i64[b]: keys cached for each sample; i64[1]: keys of the longest sample
};

// Keys of each sample before this call: none for a prompt (all keys are new), else its length minus
// the new ones.
void group_query_lengths(Context& c, GroupQuery& g) {
  Value* now = c.size_of_axis(g.q, 2);
  g.total = c.cast(c.reshape(c.in(6), {1}), DType::i64);
  Value* lengths = c.op("add", {c.cast(c.reshape(c.in(5), {-1}), DType::i64), c.ints({1})});
  Value* is_prompt = c.op("equal", {now, g.total});
  g.before = c.op("where", {is_prompt, c.ints({0}), c.op("sub", {lengths, now})});
}

// The cache grown to the longest sample, with the new rows written behind each sample's own.
Value* cached(Context& c, const GroupQuery& g, Value* past, Value* x) {
  if (!past) return x;
  Value* missing = c.op("max", {c.op("sub", {g.total, c.size_of_axis(past, 2)}), c.ints({0})});
  Value* room = c.full(
      c.concat(
          {c.op("shape", {past}, {{"start", 0}, {"end", 2}}), missing, c.size_of_axis(past, 3)}, 0),
      0, past->type().dtype());
  return c.op("tensor_scatter", {c.concat({past, room}, 2), x, g.before}, {{"axis", 2}});
}

// Key j counts for query i of a sample when it is not later, and not further back than the window.
Value* group_query_mask(Context& c, const GroupQuery& g, Value* keys, std::int64_t window) {
  Value* at = c.op("add", {c.unsqueeze(g.before, {1}),
                           c.unsqueeze(positions(c, size_scalar(c, g.q, 2)), {0})});  // [b, s]
  at = c.unsqueeze(at, {1, 3});
  Value* j = c.unsqueeze(positions(c, size_scalar(c, keys, 2)), {0, 1, 2});
  Value* keep = c.op("less_equal", {j, at});
  if (window > 0)
    keep = c.op("logical_and",
                {keep, c.op("greater", {j, c.op("sub", {at, c.integer_scalar(window)})})});
  return keep;
}

Values group_query_attention(Context& c) {
  const std::int64_t heads = c.integer("num_heads", 0), kv_heads = c.integer("kv_num_heads", 0),
                     window = c.integer("local_window_size", -1);
  const double scale = c.real("scale", 0), softcap = c.real("softcap", 0);
  const bool interleaved = c.flag("rotary_interleaved", false),
             rotates = c.flag("do_rotary", false);
  if (c.flag("smooth_softmax", false) || c.has(11))
    return c.fail(unsupported("smooth softmax and head sinks"));
  if (c.wants(3) || c.num_inputs() > 12)
    return c.fail(unsupported("quantised caches and the output qk"));
  c.ignore({"qk_output", "k_quant_type", "v_quant_type", "kv_cache_bit_width"});
  const bool has_tables = !rotates || (c.has(7) && c.has(8)), has_parts = !c.has(1) || c.has(2);
  if (!c.has(5) || !c.has(6) || !has_tables || !has_parts || heads < 1 || kv_heads < 1)
    return c.fail(invalid("seqlens_k, total_sequence_length and the numbers of heads are needed"));
  GroupQuery g{};
  if (c.has(1)) {
    g.q = split_heads(c, c.in(0), heads);
    g.k = split_heads(c, c.in(1), kv_heads);
    g.v = split_heads(c, c.in(2), kv_heads);
  } else {  // packed: query heads, then key heads, then value heads
    Value* all = split_heads(c, c.in(0), heads + 2 * kv_heads);
    g.q = c.slice(all, 1, 0, heads);
    g.k = c.slice(all, 1, heads, heads + kv_heads);
    g.v = c.slice(all, 1, heads + kv_heads, heads + 2 * kv_heads);
  }
  group_query_lengths(c, g);
  if (rotates) {
    Value* ids = c.op("add", {c.unsqueeze(g.before, {1}),
                              c.unsqueeze(positions(c, size_scalar(c, g.q, 2)), {0})});
    Value* at =
        c.has(9)
            ? c.in(9)
            : c.op("expand", {ids, c.concat({c.size_of_axis(g.q, 0), c.size_of_axis(g.q, 2)}, 0)});
    g.q = rotated(c, g.q, at, c.in(7), c.in(8), interleaved, 0, heads);
    g.k = rotated(c, g.k, at, c.in(7), c.in(8), interleaved, 0, kv_heads);
  }
  Value *k = cached(c, g, c.in(3), g.k), *v = cached(c, g, c.in(4), g.v);
  Value* bias = penalty(c, group_query_mask(c, g, k, window), -INFINITY, g.q->type().dtype());
  return {join_heads(c, attend(c, g.q, k, v, sum_of(c, bias, c.in(10)), scale, softcap)), k, v};
}

}  // namespace

Values packed_attention(Context& c, const PackedAttention& in) {
  const std::int64_t heads = c.integer("num_heads", 0);
  const double filter = c.real("mask_filter_value", -10000), scale = c.real("scale", 0);
  auto sizes = c.integers("qkv_hidden_sizes");
  const bool unidirectional = c.flag("unidirectional", false);
  if (c.flag("do_rotary", false) || c.flag("past_present_share_buffer", false))
    return c.fail(unsupported("rotary positions and shared cache buffers"));
  c.ignore({"rotary_embedding_dim"});
  if (!in.weight) return c.fail(invalid("the weight is absent"));
  if (sizes.empty()) {
    const auto width = c.ndim(in.weight) == 2 ? in.weight->type().dim(1).known() : std::nullopt;
    if (!width || *width % 3)
      return c.fail(unsupported("the width of the weight must be known and hold q, k and v"));
    sizes.assign(3, *width / 3);
  }
  if (sizes.size() != 3 || heads < 1)
    return c.fail(invalid("{} sizes and {} heads", sizes.size(), heads));
  Value* packed = c.op("matmul", {in.x, in.weight});
  if (in.bias) packed = c.op("add", {packed, in.bias});
  const Values parts =
      c.all("split", {packed, c.ints(sizes)}, {{"axis", -1}, {"num_outputs", 3}}, 3);
  if (c.failed() || parts.size() < 3) return c.fail(Error{});
  Value *q = split_heads(c, parts[0], heads), *k = split_heads(c, parts[1], heads),
        *v = split_heads(c, parts[2], heads);
  if (in.past) {  // [2, b, heads, past, width]
    k = c.concat({c.squeeze(c.slice(in.past, 0, 0, 1), {0}), k}, 2);
    v = c.concat({c.squeeze(c.slice(in.past, 0, 1, 2), {0}), v}, 2);
  }
  Value* bias = sum_of(c, mask_penalty(c, in.mask, q, k, filter), in.attention_bias);
  if (unidirectional) bias = sum_of(c, bias, causal_penalty(c, q, k, filter));
  Value* present = c.wants(1) ? c.concat({c.unsqueeze(k, {0}), c.unsqueeze(v, {0})}, 0) : nullptr;
  return {join_heads(c, attend(c, q, k, v, bias, scale)), present};
}

void add_contrib_attention_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&)) {
    rows.push_back({kMicrosoft, op, convert});
  };
  add("Attention", attention);
  add("MultiHeadAttention", multi_head_attention);
  add("GroupQueryAttention", group_query_attention);
  add("RotaryEmbedding", rotary);
}

}  // namespace tenon::onnx
