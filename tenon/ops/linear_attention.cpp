// linear_attention(q, k, v, past_state, decay, beta): attention as a recurrence over a matrix
// state.
#include "tenon/ops/attention_parts.h"

namespace tenon::ops {
namespace {

enum Input { kQ, kK, kV, kState, kDecay, kBeta };

bool is_gated(const Call& c) {
  return c.text("update_rule") == "gated" || c.text("update_rule") == "gated_delta";
}
bool is_delta(const Call& c) {
  return c.text("update_rule") == "delta" || c.text("update_rule") == "gated_delta";
}

Result<bool> check_rule(const Call& c) {
  const std::string& rule = c.text("update_rule");
  if (!is_gated(c) && !is_delta(c) && rule != "linear")
    return invalid("update_rule is linear, gated, delta or gated_delta but '{}' is given", rule);
  if (c.has(kDecay) != is_gated(c))
    return invalid("update_rule {} {} decay", rule, is_gated(c) ? "needs" : "takes no");
  if (c.has(kBeta) != is_delta(c))
    return invalid("update_rule {} {} beta", rule, is_delta(c) ? "needs" : "takes no");
  const std::int64_t q = c.integer("q_num_heads"), kv = c.integer("kv_num_heads");
  if (q < 1 || kv < 1 || q % kv)
    return invalid("{} query heads do not divide by {} key heads", q, kv);
  return true;
}

// q [b, t, q heads * dk], k [b, t, kv heads * dk], v [b, t, kv heads * dv], state [b, kv heads, dk,
// dv]
Result<Types> infer(const Call& c) {
  TENON_TRY(check_rule(c));
  const Type &q = c.in(kQ), &k = c.in(kK), &v = c.in(kV);
  const DType state_type = c.has(kState) ? c.in(kState).dtype() : q.dtype();
  if (!q.ranked() || !k.ranked() || !v.ranked()) return Types{q, Type::unranked(state_type)};
  TENON_EXPECT(q.ndim() == 3 && k.ndim() == 3 && v.ndim() == 3, "q, k and v are [b, t, heads * d]",
               q, k, v);
  const Dim q_heads(c.integer("q_num_heads")), heads(c.integer("kv_num_heads"));
  const Dim dk = floor_div(k.dim(2), heads), dv = floor_div(v.dim(2), heads);
  TENON_EXPECT_SAME(q.dim(2), q_heads * dk, "q.last == q_num_heads * k.head_size");
  TENON_EXPECT_SAME(q.dim(1), k.dim(1), "q.steps == k.steps");
  TENON_EXPECT_SAME(k.dim(1), v.dim(1), "k.steps == v.steps");
  const Type state(state_type, {q.dim(0), heads, dk, dv});
  if (c.has(kState) && c.in(kState).ranked())
    for (int i = 0; i < 4; ++i)
      TENON_EXPECT_SAME(c.in(kState).dim(i), state.dim(i), "past_state.size == state.size");
  if (c.has(kDecay) && same(c.in(kDecay).dim(2), heads) != Truth::yes)
    TENON_EXPECT_SAME(c.in(kDecay).dim(2), heads * dk, "decay.last == kv_num_heads * head_size");
  if (c.has(kBeta) && !(c.in(kBeta).dim(2) == Dim(1)))
    TENON_EXPECT_SAME(c.in(kBeta).dim(2), heads, "beta.last == kv_num_heads");
  return Types{q.with_dim(2, q_heads * dv), state};
}

double scale_of(const Call& c, double dk) {
  return c.real("scale") != 0 ? c.real("scale") : 1 / std::sqrt(dk);
}

// Sizes and data of one run; heads are those of k.
struct Run {
  std::int64_t batch, steps, q_heads, heads, dk, dv, decays,
      betas;  // decays: gates of a head, 1 or dk
  double scale;
  std::vector<double> q, k, v, decay, beta, state, y;
};

// One step of one head: S = e^g * S; S += beta * k (v - S^T k)^T, or k v^T; y = scale * q^T S.
void step(Run& r, const Call& c, std::int64_t b, std::int64_t t, std::int64_t h) {
  const std::int64_t at = b * r.steps + t;
  double* s = r.state.data() + (b * r.heads + h) * r.dk * r.dv;
  const double* k = r.k.data() + (at * r.heads + h) * r.dk;
  std::vector<double> v(r.v.begin() + (at * r.heads + h) * r.dv,
                        r.v.begin() + (at * r.heads + h + 1) * r.dv);
  if (is_gated(c))
    for (std::int64_t i = 0; i < r.dk; ++i) {
      const double keep = std::exp(r.decay[static_cast<std::size_t>((at * r.heads + h) * r.decays +
                                                                    (r.decays == 1 ? 0 : i))]);
      for (std::int64_t j = 0; j < r.dv; ++j) s[i * r.dv + j] *= keep;
    }
  if (is_delta(c)) {
    const double beta = r.beta[static_cast<std::size_t>(at * r.betas + (r.betas == 1 ? 0 : h))];
    for (std::int64_t j = 0; j < r.dv; ++j) {
      double held = 0;
      for (std::int64_t i = 0; i < r.dk; ++i) held += s[i * r.dv + j] * k[i];
      v[static_cast<std::size_t>(j)] = beta * (v[static_cast<std::size_t>(j)] - held);
    }
  }
  for (std::int64_t i = 0; i < r.dk; ++i)
    for (std::int64_t j = 0; j < r.dv; ++j)
      s[i * r.dv + j] += k[i] * v[static_cast<std::size_t>(j)];
  const std::int64_t group = r.q_heads / r.heads;
  for (std::int64_t head = h * group; head < (h + 1) * group; ++head)
    for (std::int64_t j = 0; j < r.dv; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < r.dk; ++i)
        sum += r.q[static_cast<std::size_t>((at * r.q_heads + head) * r.dk + i)] * s[i * r.dv + j];
      r.y[static_cast<std::size_t>((at * r.q_heads + head) * r.dv + j)] = r.scale * sum;
    }
}

Result<Datums> eval(const EvalCall& e) {
  const Types types = TENON_TRY(e.call.op().infer(e.call));
  const Dims out = *constant_dims(types[0].shape()), state = *constant_dims(types[1].shape());
  Run r{};
  r.batch = out[0];
  r.steps = out[1];
  r.q_heads = e.call.integer("q_num_heads");
  r.heads = state[1];
  r.dk = state[2];
  r.dv = state[3];
  r.scale = scale_of(e.call, static_cast<double>(r.dk));
  r.q = to_doubles(e.in(kQ));
  r.k = to_doubles(e.in(kK));
  r.v = to_doubles(e.in(kV));
  if (e.has(kDecay)) {
    r.decay = to_doubles(e.in(kDecay));
    r.decays = e.in(kDecay).dim(2) / r.heads;
  }
  if (e.has(kBeta)) {
    r.beta = to_doubles(e.in(kBeta));
    r.betas = e.in(kBeta).dim(2);
  }
  r.state = e.has(kState) ? to_doubles(e.in(kState))
                          : std::vector<double>(static_cast<std::size_t>(num_elements(state)), 0);
  r.y.resize(static_cast<std::size_t>(num_elements(out)));
  for (std::int64_t b = 0; b < r.batch; ++b)
    for (std::int64_t t = 0; t < r.steps; ++t)
      for (std::int64_t h = 0; h < r.heads; ++h) step(r, e.call, b, t, h);
  return Datums{Datum(narrow(r.y, types[0].dtype(), out)),
                Datum(narrow(r.state, types[1].dtype(), state))};
}

// Step t of a packed operand, [b, heads, rows, columns].
Value* at_step(B g, Value* x, std::int64_t t, std::int64_t heads, std::int64_t rows,
               std::int64_t columns) {
  return g.reshape(part_of(g, x, 1, t, t + 1), g.ints({0, heads, rows, columns}));
}

// The same, one step after the other; the number of steps and the sizes of heads must be known.
Values decompose(B g, const Call& c) {
  const DType wide = wide_float(c.in(kQ).dtype());
  auto types = c.op().infer(c);
  const auto steps = c.in(kQ).dim(1).known();
  if (!types.ok() || !steps || *steps == 0 || !(*types)[1].dim(2).is_constant() ||
      !(*types)[1].dim(3).is_constant()) {
    g.builder().fail(types.ok() ? unsupported("linear_attention: unrolling needs a known number of "
                                              "steps and known sizes of heads")
                                : types.error());
    return {c.value(kQ), c.value(kQ)};
  }
  const Shape state = (*types)[1].shape();
  const std::int64_t heads = state[1].value(), dk = state[2].value(), dv = state[3].value(),
                     group = c.integer("q_num_heads") / heads;
  const auto in = [&](int i) { return g.cast_to(c.value(i), wide); };
  Value *q = g.mul(in(kQ), g.number(scale_of(c, static_cast<double>(dk)), wide)), *k = in(kK),
        *v = in(kV);
  Value* s = c.has(kState) ? in(kState) : g.expand(g.number(0, wide), g.dims_value(state, q));
  Values ys;
  for (std::int64_t t = 0; t < *steps; ++t) {
    if (is_gated(c)) {
      const bool one = c.in(kDecay).dim(2) == Dim(heads);
      s = g.mul(s, g.exp(at_step(g, in(kDecay), t, heads, one ? 1 : dk, 1)));
    }
    Value *key = at_step(g, k, t, heads, dk, 1), *value = at_step(g, v, t, heads, 1, dv);
    if (is_delta(c)) {
      const std::int64_t betas = c.in(kBeta).dim(2) == Dim(1) ? 1 : heads;
      value = g.mul(at_step(g, in(kBeta), t, betas, 1, 1),
                    g.sub(value, g.matmul(at_step(g, k, t, heads, 1, dk), s)));
    }
    s = g.add(s, g.mul(key, value));
    ys.push_back(g.reshape(g.matmul(at_step(g, q, t, heads, group, dk), s), g.ints({0, 1, -1})));
  }
  return {g.cast_to(g.concat(ys, Attrs{{"axis", 1}}), c.in(kQ).dtype()),
          g.cast_to(s, (*types)[1].dtype())};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

Cost cost(const Call& c) {
  const Dim per_step = c.out(1).dim(1) * c.out(1).dim(2) * c.out(1).dim(3);
  return {c.in(kQ).dim(0) * c.in(kQ).dim(1) * per_step *
              Dim(2 + 2 * c.integer("q_num_heads") / c.integer("kv_num_heads") +
                  (is_gated(c) ? 1 : 0) + (is_delta(c) ? 2 : 0)),
          c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i) {
    f.inputs.emplace_back(c.has(i) ? static_cast<std::size_t>(c.in(i).ndim()) : 0, "");
    if (c.has(i)) f.inputs.back()[0] = "b";
  }
  f.outputs = {{"b", "", ""}, {"b", "", "", ""}};
  return f;
}

Sample ruled(std::vector<Dims> dims, const char* rule, int q, int kv) {
  return sample(std::move(dims))
      .with({{"update_rule", rule}, {"q_num_heads", q}, {"kv_num_heads", kv}});
}

}  // namespace

OpPage linear_attention() {
  return {
      .name = "linear_attention",
      .doc =
          "S = e^decay * S (gated), S += k (beta * (v - S^T k))^T (delta) or k v^T, y = scale * "
          "q^T S, step by step; a key head's state serves a group of query heads. "
          "scale 0 means 1 / sqrt(head size). Also gives the last state",
      .inputs = {{"q", kFloat},
                 {"k", kFloat},
                 {"v", kFloat},
                 maybe("past_state", kFloat, "S"),
                 maybe("decay", kFloat),
                 maybe("beta", kFloat)},
      .outputs = {"y", "state"},
      .attrs = {{"update_rule", "gated_delta"},
                AttrSpec::required("q_num_heads", Attr::Kind::integer),
                AttrSpec::required("kv_num_heads", Attr::Kind::integer),
                {"scale", 0.0}},
      .infer = infer,
      .eval = eval,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {ruled({{2, 3, 8}, {2, 3, 4}, {2, 3, 2}, {2, 2, 2, 1}, {2, 3, 4}, {2, 3, 2}},
                        "gated_delta", 4, 2),
                  ruled({{2, 2, 2}, {2, 2, 2}, {2, 2, 3}}, "linear", 1, 1),
                  ruled({{1, 3, 4}, {1, 3, 4}, {1, 3, 4}, {1}, {1, 3, 2}}, "gated", 2, 2).absent(3),
                  ruled({{1, 2, 4}, {1, 2, 4}, {1, 2, 2}, {1}, {1}, {1, 2, 1}}, "delta", 2, 2)
                      .absent(3)
                      .absent(4),
                  rejects({{1, 2, 4}, {1, 2, 4}, {1, 2, 4}}, "needs decay")
                      .with({{"update_rule", "gated"}, {"q_num_heads", 2}, {"kv_num_heads", 2}}),
                  rejects({{1, 2, 4}, {1, 2, 4}, {1, 2, 4}}, "do not divide")
                      .with({{"update_rule", "linear"}, {"q_num_heads", 1}, {"kv_num_heads", 2}}),
                  rejects({{1, 2, 4}, {1, 3, 4}, {1, 3, 4}}, "q.steps is 2 but k.steps is 3")
                      .with({{"update_rule", "linear"}, {"q_num_heads", 2}, {"kv_num_heads", 2}})}};
}

}  // namespace tenon::ops
