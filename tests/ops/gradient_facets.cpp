// Gradients, and gradients of gradients, against central differences in double.
#include "tests/ops/differentiate.h"
#include "tests/ops/facets.h"
#include "tests/ops/numbers.h"

namespace tenon::ops {
namespace {

bool is_double(const Datum& d) { return d.is_tensor() && d.tensor().dtype() == DType::f64; }

// Invented weights in [-1, 1] for the f64 tensors among `values`; absent for the rest.
Datums weights_like(const Datums& values, std::uint64_t seed) {
  Numbers numbers(seed);
  Datums weights;
  for (const Datum& y : values) {
    if (!is_double(y)) {
      weights.emplace_back();
      continue;
    }
    std::vector<double> u(static_cast<std::size_t>(y.tensor().count()));
    for (double& v : u) v = 2 * numbers.uniform() - 1;
    weights.emplace_back(from_doubles(u, DType::f64, y.tensor().dims()));
  }
  return weights;
}

bool none_given(const Datums& data) {
  return std::all_of(data.begin(), data.end(), [](const Datum& d) { return d.is_absent(); });
}

double weighted_sum(const Datums& values, const Datums& weights) {
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].is_absent()) continue;
    const auto y = to_doubles(values[i].tensor()), u = to_doubles(weights[i].tensor());
    for (std::size_t k = 0; k < y.size(); ++k) total += y[k] * u[k];
  }
  return total;
}

// A call and its gradients in one graph.
struct Backward {
  std::unique_ptr<Graph> graph;
  Status status;
  Values dys, dxs;  // nullptr: absent, or none given by the rule
};

Values constants(Builder& builder, const Datums& data) {
  Values values;
  for (const Datum& d : data)
    values.push_back(d.is_absent() ? nullptr : builder.constant(d.tensor()));
  return values;
}

Backward backward(const Instance& x, const Datums& inputs, const Datums& upstream) {
  Backward b;
  b.graph = x.graph_for(inputs, b.status);
  if (!b.status.ok()) return b;
  const Node* node = b.graph->last();
  GraphBuilder builder(*b.graph, table());
  b.dys = constants(builder, upstream);
  b.dxs = node->op().gradient(builder, Call(*node), b.dys);
  b.dxs.resize(inputs.size(), nullptr);
  b.status = builder.take_status();
  return b;
}

// `values` of a graph whose inputs are named x0, x1, ... after the call's; absent for nullptr.
Result<Datums> run(Graph& graph, const Values& values, const Datums& inputs) {
  const std::size_t before = graph.outputs().size();
  for (Value* v : values)
    if (v) graph.add_output(v, "d");
  Datums fed;
  for (const Value* v : graph.inputs())
    fed.push_back(inputs[static_cast<std::size_t>(std::stoi(v->name().substr(1)))]);
  const Datums all = TENON_TRY(interpret(graph, fed));
  Datums out;
  std::size_t k = before;
  for (const Value* v : values) out.push_back(v ? all[k++] : Datum());
  return out;
}

Result<Datums> gradients_at(const Instance& x, const Datums& inputs, const Datums& upstream) {
  Backward b = backward(x, inputs, upstream);
  TENON_TRY(std::move(b.status));
  return run(*b.graph, b.dxs, inputs);
}

using Function = std::function<Result<double>(const Datums& inputs)>;

std::string compare(const Instance& x, std::size_t input, const Datum& given, const Function& f) {
  const Tensor& at = x.inputs()[input].tensor();
  if (!given.is_absent() &&
      (given.tensor().dims() != at.dims() || given.tensor().dtype() != at.dtype()))
    return fmt::format("gradient of input {} is {} but the input is {}", input,
                       Type::of(given.tensor()).text(), Type::of(at).text());
  constexpr double kStep = 1e-5;
  const auto base = to_doubles(at);
  for (std::size_t k = 0; k < base.size(); ++k) {
    double sides[2];
    for (int side = 0; side < 2; ++side) {
      auto moved = base;
      moved[k] += side ? kStep : -kStep;
      Datums inputs = x.inputs();
      inputs[input] = Datum(from_doubles(moved, at.dtype(), at.dims()));
      auto value = f(inputs);
      if (!value.ok()) return value.error().text();
      sides[side] = *value;
    }
    const double expected = (sides[1] - sides[0]) / (2 * kStep),
                 got =
                     given.is_absent() ? 0 : element(given.tensor(), static_cast<std::int64_t>(k));
    if (difference(expected, got) > tolerance(x.sample(), 1e-6))
      return fmt::format("input {} element {}: the rule gives {} but central differences give {}",
                         input, k, got, expected);
  }
  return {};
}

// The same along one invented direction for each input: two calls instead of two for each element.
std::string compare_along(const Instance& x, const Datums& given, const Function& f) {
  constexpr double kStep = 1e-5;
  const Datums directions = weights_like(x.inputs(), 103);
  for (std::size_t i = 0; i < directions.size(); ++i) {
    if (directions[i].is_absent()) continue;
    const auto base = to_doubles(x.inputs()[i].tensor()),
               along = to_doubles(directions[i].tensor());
    double sides[2];
    for (int side = 0; side < 2; ++side) {
      auto moved = base;
      for (std::size_t k = 0; k < moved.size(); ++k) moved[k] += (side ? kStep : -kStep) * along[k];
      Datums inputs = x.inputs();
      inputs[i] = Datum(from_doubles(moved, DType::f64, x.inputs()[i].tensor().dims()));
      auto value = f(inputs);
      if (!value.ok()) return value.error().text();
      sides[side] = *value;
    }
    const double expected = (sides[1] - sides[0]) / (2 * kStep),
                 got = given[i].is_absent() ? 0 : weighted_sum({given[i]}, {directions[i]});
    if (difference(expected, got) > tolerance(x.sample(), 1e-5))
      return fmt::format("input {}: the rule of the rule gives {} but central differences give {}",
                         i, got, expected);
  }
  return {};
}

std::string compare_all(const Instance& x, const Datums& given, const Function& f) {
  for (std::size_t i = 0; i < x.inputs().size(); ++i)
    if (is_double(x.inputs()[i]))
      if (std::string problem = compare(x, i, given[i], f); !problem.empty()) return problem;
  return {};
}

struct Seconds {
  Datums inputs, upstream;  // gradients of the inputs and of the dys
};

// Gradients of sum <seed, dx>.
Result<Seconds> second_gradients(const Instance& x, const Datums& upstream, const Datums& seeds) {
  Backward b = backward(x, x.inputs(), upstream);
  TENON_TRY(std::move(b.status));
  const Node* node = b.graph->first();  // the call
  Node* last = b.graph->last();
  Differentiator builder(*b.graph);
  Gradients d;
  const Values seed_values = constants(builder, seeds);
  for (std::size_t i = 0; i < seeds.size(); ++i)
    if (seed_values[i]) builder.add(d, b.dxs[i], seed_values[i]);
  builder.walk_back(d, last);
  TENON_TRY(builder.take_status());
  const auto of = [&](const Value* v) { return v && d.contains(v) ? d[v] : nullptr; };
  Values all;
  for (std::size_t i = 0; i < x.inputs().size(); ++i)
    all.push_back(of(node->input(static_cast<int>(i))));
  for (const Value* dy : b.dys) all.push_back(of(dy));
  const Datums data = TENON_TRY(run(*b.graph, all, x.inputs()));
  const auto end = data.begin() + static_cast<std::ptrdiff_t>(x.inputs().size());
  return Seconds{{data.begin(), end}, {end, data.end()}};
}

// At dy = 0 the rule is still linear in dy: what a pole's guard must not cut, for a minimum has dy
// = 0.
std::string check_silent(const Instance& x, const Datums& upstream, const Datums& seeds) {
  Datums zero;
  for (const Datum& u : upstream)
    zero.push_back(u.is_absent() ? Datum() : Datum(Tensor::zeros(DType::f64, u.tensor().dims())));
  auto seconds = second_gradients(x, zero, seeds);
  if (!seconds.ok()) return seconds.error().text();
  auto along = gradients_at(x, x.inputs(), upstream);
  if (!along.ok()) return along.error().text();
  double expected = weighted_sum(*along, seeds), got = 0;
  for (std::size_t i = 0; i < upstream.size(); ++i)
    if (!seconds->upstream[i].is_absent())
      got += weighted_sum({seconds->upstream[i]}, {upstream[i]});
  return difference(expected, got) <= tolerance(x.sample(), 1e-9)
             ? ""
             : fmt::format("at dy = 0 the slope along dy is {} but must be {}", got, expected);
}

}  // namespace

std::string check_gradient(const Instance& x) {
  auto out = interpret(x.node(), x.inputs());
  if (!out.ok()) return out.error().text();
  const Datums upstream = weights_like(*out, 99);
  if (none_given(upstream)) return {};  // integer result
  auto given = gradients_at(x, x.inputs(), upstream);
  if (!given.ok()) return given.error().text();
  const Function f = [&](const Datums& inputs) -> Result<double> {
    return weighted_sum(TENON_TRY(x.run(inputs)), upstream);
  };
  return compare_all(x, *given, f);
}

std::string check_second_gradient(const Instance& x) {
  auto out = interpret(x.node(), x.inputs());
  if (!out.ok()) return out.error().text();
  const Datums upstream = weights_like(*out, 99);
  if (none_given(upstream)) return {};  // integer result
  auto first = gradients_at(x, x.inputs(), upstream);
  if (!first.ok()) return first.error().text();
  const Datums seeds = weights_like(*first, 101);
  if (none_given(seeds)) return {};  // a gradient that is 0
  auto seconds = second_gradients(x, upstream, seeds);
  if (!seconds.ok()) return seconds.error().text();
  const Function f = [&](const Datums& inputs) -> Result<double> {
    return weighted_sum(TENON_TRY(gradients_at(x, inputs, upstream)), seeds);
  };
  if (std::string problem = compare_along(x, seconds->inputs, f); !problem.empty()) return problem;
  return check_silent(x, upstream, seeds);
}

}  // namespace tenon::ops
