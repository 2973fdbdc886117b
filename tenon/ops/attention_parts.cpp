// Attention step by step.
#include "tenon/ops/attention_parts.h"

namespace tenon::ops::attention_parts {
namespace {

Value* turned(B g, Value* x) { return g.transpose(x, Attrs{{"perm", Attr::Integers{0, 1, 3, 2}}}); }

Value* operand(B g, const Call& c, int input, const char* heads) {
  Value* x = g.cast_to(c.value(input), wide_float(c.in(kQ).dtype()));
  return c.in(input).ndim() == 3 ? split_heads(g, x, c.integer(heads)) : x;
}

// The mask as long as the scores: what it does not cover is hidden.
Value* full_mask(B g, const Call& c, Value* scores) {
  Value* mask = c.value(kMask);
  const auto have = c.in(kMask).dim(-1).known(), want = scores->type().dim(3).known();
  if (!have || !want || *have == *want) return mask;
  std::vector<std::int64_t> pads(static_cast<std::size_t>(c.in(kMask).ndim()) * 2, 0);
  pads.back() = *want - *have;
  const bool flags = c.in(kMask).dtype() == DType::boolean;
  return g.pad(mask, g.ints(pads),
               flags ? g.constant(Tensor::scalar(false)) : g.number(-INFINITY, mask));
}

// Scores with every mask applied.
Value* masked_scores(B g, const Call& c, Value* scores) {
  Value* hidden = g.number(-INFINITY, scores);
  if (c.has(kMask)) {
    Value* mask = full_mask(g, c, scores);
    const bool flags = c.in(kMask).dtype() == DType::boolean;
    scores = flags ? g.where(mask, scores, hidden)
                   : g.add(scores, g.cast_to(mask, scores->type().dtype()));
  }
  Value* column = positions_along(g, scores, 3);
  if (c.flag("is_causal")) {
    Value* row = positions_along(g, scores, 2);
    if (c.has(kPastK)) row = g.add(row, size_along(g, c.value(kPastK), 2, DType::i64));
    scores = g.where(g.less_equal(column, row), scores, hidden);
  }
  if (c.has(kLens)) {
    Value* lens = g.unsqueeze(g.cast_to(c.value(kLens), DType::i64), g.ints({1, 2, 3}));
    scores = g.where(g.less(column, lens), scores, hidden);
  }
  return scores;
}

}  // namespace

// Query heads that share a key head become more steps of it: [b, kv heads, group * s, d].
Value* fold_groups(B g, Value* x, Value* k) {
  const Dim &heads = x->type().dim(1), &key_heads = k->type().dim(1);
  if (heads == key_heads) return x;
  Value* rows = g.ints({-1});
  if (heads.is_constant() && key_heads.is_constant())
    rows = g.mul(g.shape(x, Attrs{{"start", 2}, {"end", 3}}),
                 g.ints({heads.value() / key_heads.value()}));
  return g.reshape(x, g.concat(g.shape(k, Attrs{{"end", 2}}), rows, g.shape(x, Attrs{{"start", 3}}),
                               Attrs{{"axis", 0}}));
}
Value* unfold_groups(B g, Value* x, Value* q) {
  if (x->type().dim(1) == q->type().dim(1)) return x;
  return g.reshape(x, g.concat(g.shape(q, Attrs{{"end", 3}}), g.shape(x, Attrs{{"start", 3}}),
                               Attrs{{"axis", 0}}));
}

Value* split_heads(B g, Value* x, std::int64_t heads) {
  return g.transpose(g.reshape(x, g.ints({0, 0, heads, -1})),
                     Attrs{{"perm", Attr::Integers{0, 2, 1, 3}}});
}

Value* join_heads(B g, Value* x) {
  return g.reshape(g.transpose(x, Attrs{{"perm", Attr::Integers{0, 2, 1, 3}}}), g.ints({0, 0, -1}));
}

Value* probabilities(B g, Value* scores, bool may_be_empty) {
  Value* p = g.softmax(scores);
  if (!may_be_empty) return p;
  return g.masked(g.less(g.number(-INFINITY, scores), g.reduce_max(scores, g.ints({-1}))), p);
}

Parts forward(B g, const Call& c) {
  Parts p{};
  p.q = operand(g, c, kQ, "q_num_heads");
  p.k = operand(g, c, kK, "kv_num_heads");
  p.v = operand(g, c, kV, "kv_num_heads");
  const DType wide = p.q->type().dtype();
  if (c.has(kPastK)) {
    p.k = g.concat(g.cast_to(c.value(kPastK), wide), p.k, Attrs{{"axis", 2}});
    p.v = g.concat(g.cast_to(c.value(kPastV), wide), p.v, Attrs{{"axis", 2}});
  }
  const auto size = p.q->type().dim(3).known();
  Value* scaled_q = nullptr;
  if (c.has_attr("scale") || size) {
    p.scale = c.has_attr("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(*size));
    scaled_q = g.mul(p.q, g.number(p.scale, p.q));
  } else {
    g.builder().fail(unsupported("attention: the size of a head must be known, or a scale given"));
    scaled_q = p.q;
  }
  p.raw = unfold_groups(g, g.matmul(fold_groups(g, scaled_q, p.k), turned(g, p.k)), p.q);
  const double cap = c.real("softcap");
  p.capped =
      cap > 0 ? g.mul(g.tanh(g.div(p.raw, g.number(cap, p.raw))), g.number(cap, p.raw)) : p.raw;
  Value* scores = masked_scores(g, c, p.capped);
  const DType precision = c.has_attr("softmax_precision") ? c.dtype("softmax_precision") : wide;
  p.p =
      g.cast_to(probabilities(g, g.cast_to(scores, precision), c.has(kMask) || c.has(kLens)), wide);
  p.y = unfold_groups(g, g.matmul(fold_groups(g, p.p, p.k), p.v), p.q);
  const std::int64_t mode = c.integer("qk_matmul_output_mode");
  p.shown = mode == 1 ? p.capped : mode == 2 ? scores : mode == 3 ? p.p : p.raw;
  return p;
}

Value* packed(B g, const Call& c, Value* y) {
  return g.cast_to(c.in(kQ).ndim() == 3 ? join_heads(g, y) : y, c.in(kQ).dtype());
}

namespace {

// What reaches k or v, past in front: split into the two inputs, in their layouts and types.
void split_past(B g, const Call& c, Value* d, Value* present, int input, int past, Values& dxs) {
  if (present) d = g.add(d, g.cast_to(present, d->type().dtype()));
  if (c.has(past)) {
    const Type& t = c.in(past);
    Value* length = t.dim(2).known() ? g.ints({t.dim(2).value()})
                                     : g.shape(c.value(past), Attrs{{"start", 2}, {"end", 3}});
    dxs[static_cast<std::size_t>(past)] =
        g.cast_to(g.slice(d, g.ints({0}), length, g.ints({2})), t.dtype());
    d = g.slice(d, length, g.ints({INT64_MAX}), g.ints({2}));
  }
  dxs[static_cast<std::size_t>(input)] =
      g.cast_to(c.in(input).ndim() == 3 ? join_heads(g, d) : d, c.in(input).dtype());
}

// The additive mask: ds summed over what it was broadcast along, the part that it covers.
Value* mask_gradient(B g, const Call& c, Value* ds) {
  if (!c.has(kMask) || c.in(kMask).dtype() == DType::boolean) return nullptr;
  const auto have = c.in(kMask).dim(-1).known(), want = ds->type().dim(3).known();
  if (have && want && *have < *want) ds = part_of(g, ds, 3, 0, *have);
  return g.cast_to(g.sum_to(ds, c.value(kMask)), c.in(kMask).dtype());
}

}  // namespace

// P = softmax(S): dV = P^T dY, dP = dY V^T, dS = P * (dP - rowsum(dY * Y)); the cap gives dS * (1 -
// (S / cap)^2); dQ = dS K * scale, dK = dS^T Q * scale. Hidden scores have P = 0, so nothing
// reaches them.
Values backward(B g, const Call& c, const Values& dys) {
  const Parts p = forward(g, c);
  Value* dy = g.cast_to(dys[0], p.y->type().dtype());
  if (c.in(kQ).ndim() == 3) dy = split_heads(g, dy, c.integer("q_num_heads"));
  Value* dv = g.matmul(turned(g, fold_groups(g, p.p, p.k)), fold_groups(g, dy, p.k));
  Value* dp = unfold_groups(g, g.matmul(fold_groups(g, dy, p.k), turned(g, p.v)), p.q);
  Value* ds = g.mul(p.p, g.sub(dp, g.reduce_sum(g.mul(dy, p.y), g.ints({3}))));
  Values dxs(static_cast<std::size_t>(std::max<int>(c.num_inputs(), kLens + 1)), nullptr);
  dxs[kMask] = mask_gradient(g, c, ds);
  if (const double cap = c.real("softcap"); cap > 0) {
    Value* t = g.div(p.capped, g.number(cap, ds));
    ds = g.mul(ds, g.sub(g.number(1, ds), g.mul(t, t)));
  }
  Value* folded = fold_groups(g, g.mul(ds, g.number(p.scale, ds)), p.k);
  Value* dq = unfold_groups(g, g.matmul(folded, p.k), p.q);
  Value* dk = g.matmul(turned(g, folded), fold_groups(g, p.q, p.k));
  dxs[kQ] = packed(g, c, dq);
  split_past(g, c, dk, dys.size() > 1 ? dys[1] : nullptr, kK, kPastK, dxs);
  split_past(g, c, dv, dys.size() > 2 ? dys[2] : nullptr, kV, kPastV, dxs);
  dxs.resize(static_cast<std::size_t>(c.num_inputs()));
  return dxs;
}

}  // namespace tenon::ops::attention_parts
