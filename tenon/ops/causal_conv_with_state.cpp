// causal_conv_with_state(x, w, b, past): a depthwise convolution that looks back only, fed in
// pieces.
#include "tenon/ops/statistics.h"

namespace tenon::ops {
namespace {

// x [b, c, t], w [c, 1, k], past [b, c, k - 1]
Result<Types> infer(const Call& c) {
  const Type &x = c.in(0), &w = c.in(1);
  const std::string& activation = c.text("activation");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return invalid("activation is none, silu or swish but '{}' is given", activation);
  if (!x.ranked() || !w.ranked()) return Types{x, x};
  TENON_EXPECT(x.ndim() == 3 && w.ndim() == 3, "x is [b, c, t] and w is [c, 1, k]", x, w);
  TENON_EXPECT_SAME(x.dim(1), w.dim(0), "x.channels == w.rows");
  TENON_EXPECT_SAME(w.dim(1), Dim(1), "w.channels == 1");
  if (c.has(2)) TENON_EXPECT_SAME(c.in(2).dim(0), x.dim(1), "b.size == x.channels");
  const Type state = x.with_dim(2, w.dim(2) - Dim(1));
  if (c.has(3))
    for (int i = 0; i < 3; ++i)
      TENON_EXPECT_SAME(c.in(3).dim(i), state.dim(i), "past.size == [b, c, k - 1]");
  return Types{x, state};
}

// The past (or zeros) in front of x, then a convolution with one group for each channel
Values decompose(B g, const Call& c) {
  const auto channels = c.in(1).dim(0).known(), taps = c.in(1).dim(2).known();
  if (!channels || !taps) {
    g.builder().fail(unsupported("causal_conv_with_state: w must have a known shape"));
    return {c.value(0), c.value(0)};
  }
  Value* x = c.value(0);
  Value* past = c.has(3)
                    ? c.value(3)
                    : g.expand(g.number(0, x),
                               g.dims_value({c.in(0).dim(0), Dim(*channels), Dim(*taps - 1)}, x));
  Value* all = g.concat(past, x, Attrs{{"axis", 2}});
  const Attrs depthwise = {{"group", *channels}};
  Value* y = c.has(2) ? g.conv(all, c.value(1), c.value(2), depthwise)
                      : g.conv(all, c.value(1), depthwise);
  Value* state = *taps == 1 ? past : part_of(g, all, 2, -(*taps - 1), INT64_MAX);
  return {c.text("activation") == "none" ? y : g.silu(y), state};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return gradient_of_decomposition(g, c, dys);
}

// The number of groups is read off w, so channels split.
Result<Factors> sharding(const Call& c) {
  Factors f;
  f.inputs = {{"b", "c", ""}, {"c", "", ""}};
  if (c.num_inputs() > 2)
    f.inputs.push_back(c.has(2) ? std::vector<std::string>{"c"} : std::vector<std::string>{});
  if (c.num_inputs() > 3)
    f.inputs.push_back(c.has(3) ? std::vector<std::string>{"b", "c", ""}
                                : std::vector<std::string>{});
  f.outputs = {{"b", "c", ""}, {"b", "c", ""}};
  return f;
}

}  // namespace

OpPage causal_conv_with_state() {
  return {
      .name = "causal_conv_with_state",
      .doc =
          "y[b, c, t] = b[c] + sum over k of w[c, 0, k] * (past, x)[b, c, t + k], then silu when "
          "asked; zeros without a past. Also gives the last k - 1 elements, the next past",
      .inputs = {{"x", kFloat}, {"w", kFloat}, maybe("b", kFloat), maybe("past", kFloat)},
      .outputs = {"y", "state"},
      .attrs = {{"activation", "none"}},
      .traits = {Trait::contraction},
      .infer = infer,
      .decompose = decompose,
      .gradient = gradient,
      .cost = cost_of_decomposition,
      .sharding = sharding,
      .samples = {
          sample({{2, 4, 5}, {4, 1, 3}, {4}, {2, 4, 2}}),
          sample({{2, 2, 3}, {2, 1, 4}}).with({{"activation", "silu"}}),
          sample({{1, 2, 3}, {2, 1, 1}, {2}}).with({{"activation", "swish"}}),
          rejects({{2, 4, 5}, {3, 1, 3}}, "x.channels is 4 but w.rows is 3"),
          rejects({{2, 4, 5}, {4, 1, 3}}, "activation is none").with({{"activation", "relu"}})}};
}

}  // namespace tenon::ops
