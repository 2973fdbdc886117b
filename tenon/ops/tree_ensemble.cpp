// tree_ensemble(x; ...): sums, means or extremes over decision trees. Source of the meaning: ONNX
// TreeEnsemble (ai.onnx.ml 5).
#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

enum class Test : std::uint8_t {
  less_equal,
  less,
  greater_equal,
  greater,
  equal,
  not_equal,
  member
};
enum class Fold : std::uint8_t { mean, sum, min, max };
enum class Finish : std::uint8_t { none, softmax, logistic, softmax_zero, probit };

Status check_range(const std::vector<std::int64_t>& v, std::size_t n, std::int64_t low,
                   std::int64_t high, const char* what) {
  if (v.size() != n)
    return invalid("tree_ensemble: {} has {} numbers but there are {}", what, v.size(), n);
  for (std::int64_t i : v)
    if (i < low || i >= high)
      return invalid("tree_ensemble: {} holds {}, which is outside of [{}, {})", what, i, low,
                     high);
  return {};
}

Status check(const Call& c) {
  const auto n = static_cast<std::size_t>(c.tensor("nodes_modes").count()),
             leaves = static_cast<std::size_t>(c.tensor("leaf_weights").count());
  const std::int64_t features =
      c.in(0).ranked() ? c.in(0).dim(-1).known().value_or(std::numeric_limits<std::int64_t>::max())
                       : std::numeric_limits<std::int64_t>::max();
  TENON_EXPECT(static_cast<std::size_t>(c.tensor("nodes_splits").count()) == n,
               "nodes_splits has one number for each node");
  TENON_TRY(check_range(c.integers("nodes_featureids"), n, 0, features, "nodes_featureids"));
  for (const char* side : {"true", "false"}) {
    const std::string leaf = fmt::format("nodes_{}leafs", side),
                      next = fmt::format("nodes_{}nodeids", side);
    TENON_TRY(check_range(c.integers(leaf), n, 0, 2, leaf.c_str()));
    TENON_TRY(check_range(c.integers(next), n, 0, std::numeric_limits<std::int64_t>::max(),
                          next.c_str()));
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t count = c.integers(leaf)[i] ? leaves : n;
      if (static_cast<std::size_t>(c.integers(next)[i]) >= count)
        return invalid("tree_ensemble: {} of node {} is {} of {}", next, i, c.integers(next)[i],
                       count);
    }
  }
  TENON_TRY(check_range(c.integers("leaf_targetids"), leaves, 0, c.integer("n_targets"),
                        "leaf_targetids"));
  TENON_TRY(check_range(c.integers("tree_roots"), c.integers("tree_roots").size(), 0,
                        static_cast<std::int64_t>(n), "tree_roots"));
  for (std::int64_t m : to_int64s(c.tensor("nodes_modes")))
    TENON_EXPECT(m >= 0 && m <= 6, "nodes_modes are 0 to 6");
  TENON_EXPECT(c.integer("aggregate_function") >= 0 && c.integer("aggregate_function") <= 3,
               "aggregate_function is 0 to 3");
  TENON_EXPECT(c.integer("post_transform") >= 0 && c.integer("post_transform") <= 4,
               "post_transform is 0 to 4");
  return {};
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  TENON_TRY(check(c));
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() == 2, "x.ndim == 2", x);
  return Types{x.with_dim(1, Dim(c.integer("n_targets")))};
}

// The trees on wide numbers.
struct Forest {
  std::vector<std::int64_t> modes, features, true_next, false_next, true_leaf, false_leaf, missing,
      targets, roots;
  std::vector<double> splits, weights;
  std::vector<std::vector<double>> members;  // of each node

  explicit Forest(const Call& c)
      : modes(to_int64s(c.tensor("nodes_modes"))),
        features(c.integers("nodes_featureids")),
        true_next(c.integers("nodes_truenodeids")),
        false_next(c.integers("nodes_falsenodeids")),
        true_leaf(c.integers("nodes_trueleafs")),
        false_leaf(c.integers("nodes_falseleafs")),
        targets(c.integers("leaf_targetids")),
        roots(c.integers("tree_roots")),
        splits(to_doubles(c.tensor("nodes_splits"))),
        weights(to_doubles(c.tensor("leaf_weights"))),
        members(modes.size()) {
    missing = c.has_attr("nodes_missing_value_tracks_true")
                  ? c.integers("nodes_missing_value_tracks_true")
                  : std::vector<std::int64_t>();
    missing.resize(modes.size(), 0);
    if (!c.has_attr("membership_values")) return;
    // One list for each membership node, in the order of the nodes, ended by NaN.
    std::size_t node = 0;
    for (double v : to_doubles(c.tensor("membership_values"))) {
      while (node < modes.size() && modes[node] != static_cast<std::int64_t>(Test::member)) ++node;
      if (node == modes.size()) return;
      if (std::isnan(v))
        ++node;
      else
        members[node].push_back(v);
    }
  }

  bool holds(std::size_t node, double x) const {
    if (std::isnan(x) && missing[node]) return true;
    switch (static_cast<Test>(modes[node])) {
      case Test::less_equal: return x <= splits[node];
      case Test::less: return x < splits[node];
      case Test::greater_equal: return x >= splits[node];
      case Test::greater: return x > splits[node];
      case Test::equal: return x == splits[node];
      case Test::not_equal: return x != splits[node];
      case Test::member:
        return std::find(members[node].begin(), members[node].end(), x) != members[node].end();
    }
    return false;
  }

  // The leaf that a row of features reaches; nothing when the nodes go round in a circle.
  std::optional<std::size_t> leaf(std::size_t node, const double* x) const {
    for (std::size_t steps = 0; steps <= modes.size(); ++steps) {
      const bool yes = holds(node, x[features[node]]);
      const auto next = static_cast<std::size_t>(yes ? true_next[node] : false_next[node]);
      if (yes ? true_leaf[node] : false_leaf[node]) return next;
      node = next;
    }
    return std::nullopt;
  }
};

double probit(double p) {
  // Winitzki's approximation of the inverse error function, as the format's first evaluators have
  // it.
  const double z = 2 * p - 1, log = std::log((1 - z) * (1 + z)),
               v = 2 / (std::acos(-1.0) * 0.147) + 0.5 * log;
  return std::sqrt(2.0) * (z < 0 ? -1 : 1) * std::sqrt(-v + std::sqrt(v * v - log / 0.147));
}

void finish(double* y, std::int64_t n, Finish how) {
  if (how == Finish::none) return;
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t i = 0; i < n; ++i) top = std::max(top, y[i]);
  for (std::int64_t i = 0; i < n; ++i) {
    if (how == Finish::logistic)
      y[i] = 1 / (1 + std::exp(-y[i]));
    else if (how == Finish::probit)
      y[i] = probit(y[i]);
    else if (how == Finish::softmax || std::fabs(y[i]) > 1e-7)
      sum += y[i] = std::exp(y[i] - top);
    else
      y[i] = 0;  // softmax_zero leaves zeros
  }
  if (how == Finish::softmax || how == Finish::softmax_zero)
    for (std::int64_t i = 0; sum > 0 && i < n; ++i) y[i] /= sum;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  TENON_TRY(check(e.call));
  const Forest forest(e.call);
  const auto fold = static_cast<Fold>(e.call.integer("aggregate_function"));
  const std::int64_t rows = x.dim(0), features = x.dim(1), targets = e.call.integer("n_targets");
  const double limit = x.dtype() == DType::f64
                           ? std::numeric_limits<double>::max()
                           : static_cast<double>(std::numeric_limits<float>::max());
  const double start = fold == Fold::min ? limit : fold == Fold::max ? -limit : 0;
  const auto values = to_doubles(x);
  std::vector<double> y(static_cast<std::size_t>(rows * targets), start);
  for (std::int64_t r = 0; r < rows; ++r) {
    double* out = y.data() + r * targets;
    for (std::int64_t root : forest.roots) {
      auto leaf = forest.leaf(static_cast<std::size_t>(root), values.data() + r * features);
      if (!leaf) return invalid("tree_ensemble: the tree at node {} has no end", root);
      double& to = out[forest.targets[*leaf]];
      const double w = forest.weights[*leaf];
      to = fold == Fold::min    ? std::min(to, w)
           : fold == Fold::max  ? std::max(to, w)
           : fold == Fold::mean ? to + w / static_cast<double>(forest.roots.size())
                                : to + w;
    }
    finish(out, targets, static_cast<Finish>(e.call.integer("post_transform")));
  }
  return Datums{Datum(from_doubles(y, x.dtype(), {rows, targets}))};
}

// Every tree is walked down, its depth taken as 8
Cost cost(const Call& c) {
  return {c.in(0).dim(0) * Dim(8 * static_cast<std::int64_t>(c.integers("tree_roots").size())),
          c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  f.inputs[0][0] = f.outputs[0][0] = "n";
  return f;
}

}  // namespace

OpPage tree_ensemble() {
  using A = AttrSpec;
  const Attrs tree = {{"nodes_modes", from_int64s(Dims{0, 2, 6}, DType::u8, {3})},
                      {"nodes_splits", Tensor::vector<float>({0.5F, -0.25F, 0})},
                      {"nodes_featureids", Dims{0, 1, 2}},
                      {"nodes_truenodeids", Dims{1, 0, 2}},
                      {"nodes_falsenodeids", Dims{2, 1, 3}},
                      {"nodes_trueleafs", Dims{0, 1, 1}},
                      {"nodes_falseleafs", Dims{0, 1, 1}},
                      {"leaf_weights", Tensor::vector<float>({1, 2, 4, 8})},
                      {"leaf_targetids", Dims{0, 1, 0, 1}},
                      {"n_targets", 2},
                      {"tree_roots", Dims{0, 1}},
                      {"membership_values", Tensor::vector<float>({1, 2, NAN})}};
  const auto with = [&](std::int64_t fold, std::int64_t finish) {
    Attrs a = tree;
    a.set("aggregate_function", fold);
    a.set("post_transform", finish);
    return a;
  };
  Attrs broken = tree;
  broken.set("nodes_featureids", Dims{0, 1, 5});
  return {
      .name = "tree_ensemble",
      .doc =
          "for every row of x the leaves that trees lead to, their weights averaged, summed or the "
          "least or greatest taken (aggregate_function 0 to 3) for each target, then softmax, "
          "logistic, "
          "softmax without zeros or probit (post_transform 1 to 4). A node compares one feature "
          "with its split (nodes_modes 0 to 5: <= < >= > == !=; 6: is among its membership_values)",
      .inputs = {{"x", kFloat}},
      .attrs = {A::required("nodes_modes", Attr::Kind::tensor),
                A::required("nodes_splits", Attr::Kind::tensor),
                A::required("nodes_featureids", Attr::Kind::integers),
                A::required("nodes_truenodeids", Attr::Kind::integers),
                A::required("nodes_falsenodeids", Attr::Kind::integers),
                A::required("nodes_trueleafs", Attr::Kind::integers),
                A::required("nodes_falseleafs", Attr::Kind::integers),
                A::required("leaf_weights", Attr::Kind::tensor),
                A::required("leaf_targetids", Attr::Kind::integers),
                A::required("tree_roots", Attr::Kind::integers),
                A::required("n_targets", Attr::Kind::integer),
                A::optional("nodes_missing_value_tracks_true", Attr::Kind::integers),
                A::optional("membership_values", Attr::Kind::tensor),
                {"aggregate_function", 1},
                {"post_transform", 0}},
      .infer = infer,
      .eval = eval,
      .decompose = none("core: every row takes its own way"),
      .gradient = none("piecewise constant"),
      .cost = cost,
      .sharding = sharding,
      .samples = {sample({{4, 3}}).range(-1, 2).with(with(1, 0)),
                  sample({{4, 3}}).range(-1, 2).with(with(0, 1)),
                  sample({{4, 3}}).range(-1, 2).with(with(2, 0)),
                  sample({{4, 3}}).range(-1, 2).with(with(3, 2)),
                  sample({{4, 3}}).range(-1, 2).with(with(1, 3)),
                  rejects({{4, 3}}, "nodes_featureids holds 5").with(broken)}};
}

}  // namespace tenon::ops
