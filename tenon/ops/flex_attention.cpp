// flex_attention(q, k, v, captures...): attention whose scores and probabilities pass through
// regions.
#include <map>

#include "tenon/ops/attention_parts.h"

namespace tenon::ops {
namespace {

using attention_parts::kK;
using attention_parts::kQ;
using attention_parts::kV;

DType score_type(const Call& c) {
  return c.has_attr("softmax_precision") ? c.dtype("softmax_precision")
                                         : wide_float(c.in(kQ).dtype());
}

Result<Types> infer(const Call& c) {
  const Type &q = c.in(kQ), &k = c.in(kK), &v = c.in(kV);
  if (!q.ranked() || !k.ranked() || !v.ranked()) return Types{Type::unranked(q.dtype())};
  TENON_EXPECT(q.ndim() == 4 && k.ndim() == 4 && v.ndim() == 4, "q, k and v are [b, heads, s, d]",
               q, k, v);
  TENON_EXPECT_SAME(q.dim(3), k.dim(3), "q.head_size == k.head_size");
  TENON_EXPECT_SAME(k.dim(2), v.dim(2), "k.steps == v.steps");
  if (q.dim(1).is_constant() && k.dim(1).is_constant() &&
      (k.dim(1).value() < 1 || q.dim(1).value() % k.dim(1).value()))
    return invalid("{} query heads do not divide by {} key heads", q.dim(1).value(),
                   k.dim(1).value());
  const int regions = (c.flag("has_score_mod") ? 1 : 0) + (c.flag("has_prob_mod") ? 1 : 0);
  if (c.num_regions() != regions)
    return invalid("{} regions are announced but {} are given", regions, c.num_regions());
  return Types{q.with_dim(3, v.dim(3))};
}

// The nodes of a region, applied to `inputs` here.
Value* inlined(B g, const Graph& region, const Values& inputs) {
  std::map<const Value*, Value*> here;
  for (std::size_t i = 0; i < region.inputs().size() && i < inputs.size(); ++i)
    here[region.inputs()[i]] = inputs[i];
  for (const Value* v : region.constants()) here[v] = g.constant(v->tensor());
  for (const Node* n : region.nodes()) {
    Values args;
    for (const Value* v : n->inputs()) args.push_back(v ? here.at(v) : nullptr);
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& r : n->regions()) regions.push_back(r->clone());
    const Values out = g.builder().call(n->op(), args, n->attrs(), std::move(regions),
                                        static_cast<int>(n->outputs().size()));
    for (std::size_t i = 0; i < n->outputs().size(); ++i) here[n->outputs()[i]] = out[i];
  }
  return here.at(region.outputs()[0]);
}

Value* modified(B g, const Call& c, int region, Value* x) {
  Values inputs = {x};
  for (int i = kV + 1; i < c.num_inputs(); ++i) inputs.push_back(c.value(i));
  return inlined(g, c.region(region), inputs);
}

// y = prob_mod(softmax(score_mod(q k^T * scale))) v; query heads of a group share a key head
Values decompose(B g, const Call& c) {
  const DType wide = score_type(c);
  const auto size = c.in(kQ).dim(3).known();
  if (!size && !c.has_attr("scale")) {
    g.builder().fail(
        unsupported("flex_attention: the size of a head must be known, or a scale given"));
    return {c.value(kQ)};
  }
  Value *q = g.cast_to(c.value(kQ), wide), *k = g.cast_to(c.value(kK), wide),
        *v = g.cast_to(c.value(kV), wide);
  const auto folded = [&](Value* x) { return attention_parts::fold_groups(g, x, k); };
  const auto unfolded = [&](Value* x) { return attention_parts::unfold_groups(g, x, q); };
  const double scale =
      c.has_attr("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(*size));
  Value* scores = g.matmul(folded(g.mul(q, g.number(scale, q))),
                           g.transpose(k, Attrs{{"perm", Attr::Integers{0, 1, 3, 2}}}));
  scores = unfolded(scores);
  if (c.flag("has_score_mod")) scores = modified(g, c, 0, scores);
  Value* p = attention_parts::probabilities(g, scores, c.flag("has_score_mod"));
  if (c.flag("has_prob_mod")) p = modified(g, c, c.num_regions() - 1, p);
  return {g.cast_to(unfolded(g.matmul(folded(p), v)), c.in(kQ).dtype())};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

// Regions may look at positions in the whole batch and at all heads: only without them can those
// split.
Result<Factors> sharding(const Call& c) {
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i)
    f.inputs.emplace_back(c.has(i) ? static_cast<std::size_t>(c.in(i).ndim()) : 0, "");
  f.outputs = {{"", "", "", ""}};
  if (c.num_regions() > 0) return f;
  for (int i = 0; i < 3; ++i) f.inputs[static_cast<std::size_t>(i)] = {"b", "h", "", ""};
  f.outputs = {{"b", "h", "", ""}};
  return f;
}

}  // namespace

OpPage flex_attention() {
  return {.name = "flex_attention",
          .doc =
              "prob_mod(softmax(score_mod(q k^T * scale))) v for q, k, v of [b, heads, s, d]; the "
              "regions announced by the flags map [b, heads, s, t] to the same shape "
              "and take the captures as further inputs; a row of -infinity gives 0",
          .inputs = {{"q", kFloat},
                     {"k", kFloat},
                     {"v", kFloat},
                     {"captures", kAny, "", Arity::many, Holds::anything}},
          .attrs = {{"has_score_mod", false},
                    {"has_prob_mod", false},
                    AttrSpec::optional("scale", Attr::Kind::real),
                    AttrSpec::optional("softmax_precision", Attr::Kind::dtype)},
          .traits = {Trait::contraction, Trait::control_flow},
          .infer = infer,
          .decompose = decompose,
          .gradient = gradient,
          .cost = cost_of_decomposition,
          .sharding = sharding,
          .samples = {sample({{2, 4, 3, 2}, {2, 4, 5, 2}, {2, 4, 5, 3}}),
                      sample({{1, 4, 3, 2}, {1, 2, 2, 2}, {1, 2, 2, 2}}).with({{"scale", 0.3}}),
                      sample({{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}}).all(DType::f16),
                      rejects({{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}},
                              "1 regions are announced but 0 are given")
                          .with({{"has_prob_mod", true}}),
                      rejects({{1, 3, 2, 2}, {1, 2, 2, 2}, {1, 2, 2, 2}}, "do not divide")}};
}

}  // namespace tenon::ops
