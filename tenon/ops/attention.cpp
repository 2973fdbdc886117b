// attention(q, k, v, mask, past_k, past_v, kv_lens): scaled dot-product attention.
#include "tenon/ops/attention_parts.h"

namespace tenon::ops {
namespace {

using namespace attention_parts;

Result<bool> check_heads(const Call& c, const Dim& q_heads, const Dim& kv_heads) {
  if (!q_heads.is_constant() || !kv_heads.is_constant()) return true;
  if (kv_heads.value() < 1 || q_heads.value() % kv_heads.value())
    return invalid("{} query heads do not divide by {} key heads", q_heads.value(),
                   kv_heads.value());
  if ((c.value(kPastK) == nullptr) != (c.value(kPastV) == nullptr))
    return invalid("past_k and past_v come together");
  return true;
}

// Heads, size of a head and steps of one operand, packed [b, s, heads * d] or [b, heads, s, d].
struct Packed {
  Dim heads, steps, size;
};
Result<Packed> unpack(const Call& c, int input, const char* attr) {
  const Type& t = c.in(input);
  if (t.ndim() == 4) return Packed{t.dim(1), t.dim(2), t.dim(3)};
  if (t.ndim() != 3) return invalid("q, k and v have 3 or 4 axes but {} is given", t.text());
  if (!c.has_attr(attr)) return invalid("{} is needed for operands of 3 axes", attr);
  const std::int64_t heads = c.integer(attr);
  if (heads < 1) return invalid("{} is at least 1 but {} is given", attr, heads);
  if (auto n = t.dim(2).known(); n && *n % heads)
    return invalid("{} elements do not divide into {} heads", *n, heads);
  return Packed{Dim(heads), t.dim(1), floor_div(t.dim(2), Dim(heads))};
}

Result<Types> infer(const Call& c) {
  const Type &q = c.in(kQ), &k = c.in(kK), &v = c.in(kV);
  if (!q.ranked() || !k.ranked() || !v.ranked())
    return Types(static_cast<std::size_t>(std::max(1, c.num_outputs())), Type::unranked(q.dtype()));
  const Packed pq = TENON_TRY(unpack(c, kQ, "q_num_heads")),
               pk = TENON_TRY(unpack(c, kK, "kv_num_heads")),
               pv = TENON_TRY(unpack(c, kV, "kv_num_heads"));
  TENON_TRY(check_heads(c, pq.heads, pk.heads));
  TENON_EXPECT_SAME(pq.size, pk.size, "q.head_size == k.head_size");
  TENON_EXPECT_SAME(pk.steps, pv.steps, "k.steps == v.steps");
  TENON_EXPECT_SAME(pk.heads, pv.heads, "k.heads == v.heads");
  const Dim &batch = q.dim(0), total = c.has(kPastK) ? c.in(kPastK).dim(2) + pk.steps : pk.steps;
  const Shape scores = {batch, pq.heads, pq.steps, total};
  if (c.has(kMask) && c.in(kMask).ranked()) {
    TENON_EXPECT(c.in(kMask).ndim() >= 1 && c.in(kMask).ndim() <= 4,
                 "mask broadcasts to [b, heads, s, t]", c.in(kMask));
    TENON_EXPECT(at_least(total, c.in(kMask).dim(-1)) != Truth::no,
                 "mask is not longer than the keys", c.in(kMask));
    TENON_TRY(broadcast(Shape(scores.begin(), scores.end() - 1),
                        Shape(c.in(kMask).shape().begin(), c.in(kMask).shape().end() - 1)));
  }
  Types out = {q.ndim() == 4 ? q.with_dim(3, pv.size) : q.with_dim(2, pq.heads * pv.size)};
  if (c.num_outputs() > 1) {
    out.push_back(k.with_shape({batch, pk.heads, total, pk.size}));
    out.push_back(v.with_shape({batch, pv.heads, total, pv.size}));
  }
  if (c.num_outputs() > 3) out.push_back(q.with_shape(scores));
  return out;
}

Values decompose(B g, const Call& c) {
  const Parts p = forward(g, c);
  Values out = {packed(g, c, p.y)};
  if (c.num_outputs() > 1)
    out.insert(out.end(), {g.cast_to(p.k, c.in(kK).dtype()), g.cast_to(p.v, c.in(kV).dtype())});
  if (c.num_outputs() > 3) out.push_back(g.cast_to(p.shown, c.in(kQ).dtype()));
  return out;
}

Values gradient(B g, const Call& c, const Values& dys) {
  if (!dys[0] || (dys.size() > 3 && dys[3])) return gradient_of_decomposition(g, c, dys);
  return backward(g, c, dys);
}

// Two products of s * t * d for each head, and about five operations for each score.
Cost cost(const Call& c) {
  const bool packed3 = c.in(kQ).ndim() == 3;
  const Dim heads = packed3 ? Dim(c.integer("q_num_heads")) : c.in(kQ).dim(1),
            steps = c.in(kQ).dim(packed3 ? 1 : 2);
  const Dim total = c.in(kK).dim(packed3 ? 1 : 2) + (c.has(kPastK) ? c.in(kPastK).dim(2) : Dim(0));
  const Dim sizes = packed3 ? floor_div(c.in(kQ).dim(2) + c.out(0).dim(2), heads)
                            : c.in(kQ).dim(3) + c.out(0).dim(3);
  return {c.in(kQ).dim(0) * heads * steps * total * (Dim(2) * sizes + Dim(5)), c.bytes_in(),
          c.bytes_out()};
}

// Pictures of a batch are independent, heads too where they are an axis.
Result<Factors> sharding(const Call& c) {
  const bool has_heads = c.in(kQ).ndim() == 4;
  const auto names = [&](int i) -> std::vector<std::string> {
    if (!c.has(i)) return {};
    if (i == kLens) return {"b"};
    const Type& t = c.in(i);
    std::vector<std::string> axes(static_cast<std::size_t>(t.ndim()), "");
    if (i == kMask) {  // aligned at the right
      if (t.ndim() == 4 && !(t.dim(0) == Dim(1))) axes[0] = "b";
      if (t.ndim() >= 3 && has_heads && !(t.dim(-3) == Dim(1)))
        axes[static_cast<std::size_t>(t.ndim()) - 3] = "h";
      return axes;
    }
    axes[0] = "b";
    if (has_heads) axes[1] = "h";
    return axes;
  };
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i) f.inputs.push_back(names(i));
  for (int i = 0; i < c.num_outputs(); ++i) {
    f.outputs.emplace_back(static_cast<std::size_t>(c.out(i).ndim()), "");
    f.outputs.back()[0] = "b";
    if (has_heads) f.outputs.back()[1] = "h";
  }
  if (!has_heads && c.has(kPastK)) f.whole_factors = {"h"};
  return f;
}

}  // namespace

OpPage attention() {
  const auto heads = [](int q, int kv) { return Attrs{{"q_num_heads", q}, {"kv_num_heads", kv}}; };
  const DType f = DType::f32, flag = DType::boolean;
  return {
      .name = "attention",
      .doc =
          "softmax(q k^T * scale, capped, plus mask) v for each head; operands are [b, heads, s, "
          "d] or [b, s, heads * d]. Fewer key heads serve groups of query heads; "
          "past keys and values go in front; a boolean mask keeps where true, a shorter one hides "
          "the rest; kv_lens hides what is beyond it; a row that sees nothing "
          "gives 0. On demand also the keys and values with the past, and the scores "
          "(qk_matmul_output_mode 0: raw, 1: capped, 2: masked, 3: after softmax)",
      .inputs = {{"q", kFloat},
                 {"k", kFloat},
                 {"v", kFloat, "V"},
                 maybe("mask", kFloat | kBool, "M"),
                 maybe("past_k", kFloat),
                 maybe("past_v", kFloat, "V"),
                 maybe("kv_lens", kIndex, "L")},
      .outputs = {"y", "present_k", "present_v", "scores"},
      .attrs = {{"is_causal", false},
                AttrSpec::optional("scale", Attr::Kind::real),
                {"softcap", 0.0},
                AttrSpec::optional("q_num_heads", Attr::Kind::integer),
                AttrSpec::optional("kv_num_heads", Attr::Kind::integer),
                {"qk_matmul_output_mode", 0},
                AttrSpec::optional("softmax_precision", Attr::Kind::dtype)},
      .traits = {Trait::contraction},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {
          sample({{2, 4, 3, 2}, {2, 4, 5, 2}, {2, 4, 5, 3}}),
          sample({{2, 3, 8}, {2, 4, 4}, {2, 4, 4}}).with(heads(4, 2)),
          sample({{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}})
              .with({{"is_causal", true}, {"softcap", 0.5}}),
          sample(
              {{2, 4, 3, 2}, {2, 2, 2, 2}, {2, 2, 2, 2}, {2, 1, 3, 5}, {2, 2, 3, 2}, {2, 2, 3, 2}})
              .outputs(3)
              .with({{"is_causal", true}, {"scale", 0.3}}),
          sample({{1, 2, 3, 2}, {1, 2, 4, 2}, {1, 2, 4, 2}, {3, 4}})
              .dtypes({f, f, f, flag})
              .given(3, Tensor::of<bool>(
                            {3, 4}, std::array<bool, 12>{true, false, true, true, false, false,
                                                         false, false, true, true, false, false})),
          sample({{2, 1, 2, 2}, {2, 1, 4, 2}, {2, 1, 4, 2}, {2, 3}, {1}, {1}, {2}})
              .absent(4)
              .absent(5)
              .given(6, Tensor::vector<std::int64_t>({2, 3})),
          sample({{1, 1, 2, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}, {2, 3}})
              .outputs(4)
              .with({{"qk_matmul_output_mode", 2}}),
          sample({{1, 1, 2, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}})
              .outputs(4)
              .with({{"qk_matmul_output_mode", 1}, {"softcap", 0.7}}),
          sample({{1, 2, 4}, {1, 3, 4}, {1, 3, 4}}).all(DType::f16).with(heads(2, 2)),
          rejects({{2, 3, 8}, {2, 4, 4}, {2, 4, 4}}, "q_num_heads is needed"),
          rejects({{1, 3, 2, 2}, {1, 2, 2, 2}, {1, 2, 2, 2}},
                  "3 query heads do not divide by 2 key heads"),
          rejects({{1, 2, 2, 2}, {1, 2, 2, 3}, {1, 2, 2, 3}},
                  "q.head_size is 2 but k.head_size is 3"),
          rejects({{1, 2, 2, 2}, {1, 2, 2, 2}, {1, 2, 2, 2}, {2, 3}}, "mask is not longer")}};
}

}  // namespace tenon::ops
