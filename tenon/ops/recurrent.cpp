// Attributes, activations and types of the recurrent pages.
#include "tenon/ops/recurrent.h"

#include <algorithm>
#include <cctype>

namespace tenon::ops {
namespace {

// Names, whether alpha and beta are taken from the lists, and their defaults.
struct Known {
  std::string_view name;
  bool takes_alpha, takes_beta;
  double alpha, beta;
};
constexpr Known kActivations[] = {
    {"relu", false, false, 0, 0},       {"tanh", false, false, 0, 0},
    {"sigmoid", false, false, 0, 0},    {"affine", true, true, 1, 0},
    {"leakyrelu", true, false, .01, 0}, {"thresholdedrelu", true, false, 1, 0},
    {"scaledtanh", true, true, 1, 1},   {"hardsigmoid", true, true, .2, .5},
    {"elu", true, false, 1, 0},         {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0}};

std::string plain(std::string_view text) {
  std::string out;
  for (char ch : text)
    if (ch != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return out;
}

std::vector<std::string> default_activations(CellKind kind) {
  if (kind == CellKind::rnn) return {"tanh"};
  if (kind == CellKind::gru) return {"sigmoid", "tanh"};
  return {"sigmoid", "tanh", "tanh"};
}

Result<std::vector<Activation>> activations_of(const Call& c, CellKind kind, int directions) {
  std::vector<std::string> names = c.texts("activations");
  const auto own = default_activations(kind);
  const std::size_t wanted = own.size() * static_cast<std::size_t>(directions);
  if (names.empty())
    for (int d = 0; d < directions; ++d) names.insert(names.end(), own.begin(), own.end());
  if (names.size() > wanted) names.resize(wanted);  // a list for two directions on one
  if (names.size() != wanted)
    return invalid("{} activations are given but {} are needed", names.size(), wanted);
  std::vector<Activation> out;
  std::size_t alphas = 0, betas = 0;
  for (const std::string& name : names) {
    const auto known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                    [&](const Known& k) { return k.name == plain(name); });
    if (known == std::end(kActivations)) return unsupported("activation '{}' is not known", name);
    Activation a{plain(name), known->alpha, known->beta};
    if (known->takes_alpha && alphas < c.reals("activation_alpha").size())
      a.alpha = c.reals("activation_alpha")[alphas++];
    if (known->takes_beta && betas < c.reals("activation_beta").size())
      a.beta = c.reals("activation_beta")[betas++];
    out.push_back(std::move(a));
  }
  return out;
}

// Axes of x, the states and the outputs that hold time, directions and batch.
struct Layout {
  int time, batch, state_direction, state_batch;
};
Layout layout_of(bool batch_first) { return batch_first ? Layout{1, 0, 1, 0} : Layout{0, 1, 0, 1}; }

}  // namespace

std::int64_t num_gates(CellKind kind) {
  return kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 3 : 4;
}
int num_recurrent_inputs(CellKind kind) { return kind == CellKind::lstm ? 8 : 6; }

double Activation::operator()(double x) const {
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "affine") return alpha * x + beta;
  if (name == "leakyrelu") return x >= 0 ? x : alpha * x;
  if (name == "thresholdedrelu") return x > alpha ? x : 0;
  if (name == "scaledtanh") return alpha * std::tanh(beta * x);
  if (name == "hardsigmoid") return std::min(std::max(alpha * x + beta, 0.0), 1.0);
  if (name == "elu") return x >= 0 ? x : alpha * std::expm1(x);
  if (name == "softsign") return x / (1 + std::fabs(x));
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));  // softplus
}

Value* Activation::build(B g, Value* x) const {
  if (name == "sigmoid") return g.sigmoid(x);
  if (name == "tanh") return g.tanh(x);
  if (name == "relu") return g.relu(x);
  if (name == "affine") return g.add(g.mul(x, g.number(alpha, x)), g.number(beta, x));
  if (name == "leakyrelu") return g.leaky_relu(x, Attrs{{"alpha", alpha}});
  if (name == "thresholdedrelu") return g.thresholded_relu(x, Attrs{{"alpha", alpha}});
  if (name == "scaledtanh") return g.mul(g.tanh(g.mul(x, g.number(beta, x))), g.number(alpha, x));
  if (name == "hardsigmoid") return g.hard_sigmoid(x, Attrs{{"alpha", alpha}, {"beta", beta}});
  if (name == "elu") return g.elu(x, Attrs{{"alpha", alpha}});
  if (name == "softsign") return g.softsign(x);
  return g.softplus(x);
}

std::vector<InputSpec> recurrent_inputs(CellKind kind) {
  std::vector<InputSpec> in = {{"x", kFloat},
                               {"w", kFloat},
                               {"r", kFloat},
                               maybe("b", kFloat),
                               maybe("sequence_lens", kIndex, "L"),
                               maybe("initial_h", kFloat)};
  if (kind == CellKind::lstm) {
    in.push_back(maybe("initial_c", kFloat));
    in.push_back(maybe("p", kFloat));
  }
  return in;
}

std::vector<AttrSpec> recurrent_attrs(CellKind kind) {
  std::vector<AttrSpec> attrs = {{"direction", "forward"},
                                 {"activations", Attr::Texts{}},
                                 {"activation_alpha", Attr::Reals{}},
                                 {"activation_beta", Attr::Reals{}},
                                 AttrSpec::optional("clip", Attr::Kind::real),
                                 AttrSpec::optional("hidden_size", Attr::Kind::integer),
                                 {"layout", 0}};
  if (kind == CellKind::gru) attrs.emplace_back("linear_before_reset", false);
  if (kind == CellKind::lstm) attrs.emplace_back("input_forget", false);
  return attrs;
}

Result<Recurrence> recurrence_of(const Call& c, CellKind kind) {
  Recurrence r;
  r.kind = kind;
  const std::string& direction = c.text("direction");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return invalid("direction is forward, reverse or bidirectional but '{}' is given", direction);
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.first_is_reversed = direction == "reverse";
  if (c.integer("layout") != 0 && c.integer("layout") != 1)
    return invalid("layout is 0 or 1 but {} is given", c.integer("layout"));
  r.batch_first = c.integer("layout") == 1;
  if (c.has_attr("clip")) r.clip = c.real("clip");
  if (kind == CellKind::gru) r.linear_before_reset = c.flag("linear_before_reset");
  if (kind == CellKind::lstm) r.input_forget = c.flag("input_forget");
  r.activations = TENON_TRY(activations_of(c, kind, r.directions));
  return r;
}

namespace {

// The sizes of the optional inputs.
Result<bool> check_optional_inputs(const Call& c, CellKind kind, const Recurrence& r,
                                   const Dim& batch, const Dim& hidden) {
  const Layout at = layout_of(r.batch_first);
  const Dim gates(num_gates(kind));
  if (c.has(3))
    TENON_EXPECT_SAME(c.in(3).dim(-1), Dim(2) * gates * hidden, "b.size == 2 * gates * hidden");
  if (c.has(4)) TENON_EXPECT_SAME(c.in(4).dim(0), batch, "sequence_lens.size == batch");
  for (int i = 5; i < (kind == CellKind::lstm ? 7 : 6); ++i) {
    if (!c.has(i)) continue;
    TENON_EXPECT(c.in(i).ndim() == 3, "states are [directions, batch, hidden]", c.in(i));
    TENON_EXPECT_SAME(c.in(i).dim(at.state_direction), Dim(r.directions),
                      "state.directions == directions");
    TENON_EXPECT_SAME(c.in(i).dim(at.state_batch), batch, "state.batch == batch");
    TENON_EXPECT_SAME(c.in(i).dim(2), hidden, "state.hidden == hidden");
  }
  if (kind == CellKind::lstm && c.has(7))
    TENON_EXPECT_SAME(c.in(7).dim(-1), Dim(3) * hidden, "p.size == 3 * hidden");
  return true;
}

}  // namespace

Result<Types> infer_recurrent(const Call& c, CellKind kind) {
  const Type &x = c.in(0), &w = c.in(1), &rec = c.in(2);
  const Recurrence r = TENON_TRY(recurrence_of(c, kind));
  TENON_EXPECT(x.ndim() == 3 && w.ndim() == 3 && rec.ndim() == 3,
               "x is [time, batch, in], w is [directions, gates * hidden, in] and r is "
               "[directions, gates * hidden, hidden]",
               x, w, rec);
  const Layout at = layout_of(r.batch_first);
  const Dim &hidden = rec.dim(2), &time = x.dim(at.time), &batch = x.dim(at.batch),
            directions(r.directions);
  TENON_EXPECT_SAME(w.dim(0), directions, "w.directions == directions");
  TENON_EXPECT_SAME(rec.dim(0), directions, "r.directions == directions");
  TENON_EXPECT_SAME(w.dim(1), Dim(num_gates(kind)) * hidden, "w.rows == gates * hidden");
  TENON_EXPECT_SAME(rec.dim(1), Dim(num_gates(kind)) * hidden, "r.rows == gates * hidden");
  TENON_EXPECT_SAME(w.dim(2), x.dim(2), "w.cols == x.last");
  if (c.has_attr("hidden_size"))
    TENON_EXPECT_SAME(hidden, Dim(c.integer("hidden_size")), "r.cols == hidden_size");
  TENON_TRY(check_optional_inputs(c, kind, r, batch, hidden));
  const Type y = x.with_shape(r.batch_first ? Shape{batch, time, directions, hidden}
                                            : Shape{time, directions, batch, hidden});
  const Type state = x.with_shape(r.batch_first ? Shape{batch, directions, hidden}
                                                : Shape{directions, batch, hidden});
  return kind == CellKind::lstm ? Types{y, state, state} : Types{y, state};
}

Cost cost_recurrent(const Call& c, CellKind kind) {
  const Dim steps = c.in(0).dim(0) * c.in(0).dim(1);
  const Dim per_step =
      c.in(1).dim(0) * c.in(1).dim(1) * (Dim(2) * (c.in(1).dim(2) + c.in(2).dim(2)) + Dim(6));
  const Dim passes(c.num_inputs() > num_recurrent_inputs(kind)
                       ? 3
                       : 1);  // an adjoint runs forward, then back twice as long
  return {steps * per_step * passes, c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding_recurrent(const Call& c, CellKind kind) {
  const Recurrence r = TENON_TRY(recurrence_of(c, kind));
  const auto names = [&](int i) -> std::vector<std::string> {
    if (!c.has(i)) return {};
    if (i == 4) return {"b"};
    std::vector<std::string> axes(static_cast<std::size_t>(c.in(i).ndim()), "");
    if (i == 0 || i == 5 || i == 6) axes[r.batch_first ? 0 : 1] = "b";
    return axes;
  };
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i) f.inputs.push_back(names(i));
  const std::vector<std::string> state =
      r.batch_first ? std::vector<std::string>{"b", "", ""} : std::vector<std::string>{"", "b", ""};
  f.outputs = {r.batch_first ? std::vector<std::string>{"b", "", "", ""}
                             : std::vector<std::string>{"", "", "b", ""},
               state};
  if (kind == CellKind::lstm) f.outputs.push_back(state);
  return f;
}

}  // namespace tenon::ops
