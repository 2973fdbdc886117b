// Invented inputs, comparison, simulated peers.
#include "tests/ops/facets.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/ops/interpreter.h"
#include "tenon/ops/loops.h"
#include "tenon/ops/registry.h"
#include "tests/ops/numbers.h"

namespace tenon::ops {
namespace {

Tensor invent_text(const SampleInput& in, Numbers& numbers) {
  Tensor t(DType::string, in.dims);
  for (auto& s : t.data<std::string>())
    s = std::string(1 + static_cast<std::size_t>(numbers.uniform() * 4),
                    static_cast<char>('a' + numbers.uniform() * 26));
  return t;
}

// Evenly spaced values in a shuffled order: no two are closer than half a step.
std::vector<double> spaced(std::size_t n, double low, double high, Numbers& numbers) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = low + (high - low) * (static_cast<double>(i) + 0.25 + 0.5 * numbers.uniform()) /
                     static_cast<double>(n);
  for (std::size_t i = n; i > 1; --i)
    std::swap(v[i - 1], v[static_cast<std::size_t>(numbers.uniform() * static_cast<double>(i))]);
  return v;
}

Datum invent(const SampleInput& in, Numbers& numbers) {
  if (in.absent) return Datum();
  if (in.is_sequence) return Datum::sequence(std::vector<Datum>(in.items.begin(), in.items.end()));
  if (in.values.defined()) return Datum(in.values);
  if (in.dtype == DType::string) return Datum(invent_text(in, numbers));
  const auto n = static_cast<std::size_t>(num_elements(in.dims));
  const bool whole = !is_floating(in.dtype) && !is_complex(in.dtype);
  std::vector<double> v(n);
  if (in.distinct && !whole)
    v = spaced(n, in.low, in.high, numbers);
  else
    for (double& x : v)
      x = whole ? std::floor(in.low + numbers.uniform() * (in.high - in.low + 1))
                : in.low + numbers.uniform() * (in.high - in.low);
  if (is_complex(in.dtype)) {
    std::vector<std::complex<double>> z(n);
    for (std::size_t i = 0; i < n; ++i)
      z[i] = {v[i], in.low + numbers.uniform() * (in.high - in.low)};
    return Datum(from_complexes(z, in.dtype, in.dims));
  }
  return Datum(from_doubles(v, in.dtype, in.dims));
}

// The type that a graph's input has for this value; items of a sequence may differ in size.
Type type_for(const SampleInput& in, const Datum& d) {
  Type type;
  if (d.is_tensor()) {
    type = Type::of(d.tensor());
  } else {
    Type item = in.items.empty() ? Type::unranked(in.dtype) : Type::of(in.items.front());
    for (const Tensor& t : in.items)
      if (t.dims() != in.items.front().dims()) item = Type::unranked(t.dtype());
    type = Type::sequence(item);
  }
  return in.is_optional ? Type::optional(type) : type;
}

double tensor_distance(const Tensor& a, const Tensor& b) {
  const double far = std::numeric_limits<double>::infinity();
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return far;
  if (a.dtype() == DType::string)
    return std::ranges::equal(a.data<std::string>(), b.data<std::string>()) ? 0 : far;
  double worst = 0;
  if (is_complex(a.dtype())) {
    const auto x = to_complexes(a), y = to_complexes(b);
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(
          {worst, difference(x[i].real(), y[i].real()), difference(x[i].imag(), y[i].imag())});
    return worst;
  }
  const auto x = to_doubles(a), y = to_doubles(b);
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, difference(x[i], y[i]));
  return worst;
}

// ---- sharding -------------------------------------------------------------------------------

Tensor cut(const Tensor& t, int axis, int parts, int part) {
  Dims dims = t.dims();
  const std::int64_t width = dims[static_cast<std::size_t>(axis)] / parts;
  const Dims strides = row_major_strides(t.dims());
  dims[static_cast<std::size_t>(axis)] = width;
  return copy_elements(t, dims, [&](const Dims& at, std::int64_t) {
    return offset_of(at, strides) + part * width * strides[static_cast<std::size_t>(axis)];
  });
}

Tensor join(const std::vector<Tensor>& parts, int axis) {
  Dims dims = parts[0].dims();
  const std::int64_t width = dims[static_cast<std::size_t>(axis)];
  dims[static_cast<std::size_t>(axis)] *= static_cast<std::int64_t>(parts.size());
  Tensor out(parts[0].dtype(), dims);
  const Dims strides = row_major_strides(dims);
  const auto size = static_cast<std::size_t>(size_of(out.dtype()));
  for (std::size_t p = 0; p < parts.size(); ++p)
    for_each_index(parts[p].dims(), [&](const Dims& at, std::int64_t k) {
      const std::int64_t to = offset_of(at, strides) + static_cast<std::int64_t>(p) * width *
                                                           strides[static_cast<std::size_t>(axis)];
      if (out.dtype() == DType::string)
        out.data<std::string>()[static_cast<std::size_t>(to)] =
            parts[p].data<std::string>()[static_cast<std::size_t>(k)];
      else
        std::memcpy(out.raw() + static_cast<std::size_t>(to) * size,
                    parts[p].raw() + static_cast<std::size_t>(k) * size, size);
    });
  return out;
}

Tensor combine(const std::vector<Tensor>& parts, std::string_view how) {
  auto acc = to_doubles(parts[0]);
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const auto x = to_doubles(parts[p]);
    for (std::size_t k = 0; k < acc.size(); ++k)
      acc[k] = how == "max"    ? std::max(acc[k], x[k])
               : how == "min"  ? std::min(acc[k], x[k])
               : how == "prod" ? acc[k] * x[k]
                               : acc[k] + x[k];
  }
  return from_doubles(acc, parts[0].dtype(), parts[0].dims());
}

int axis_of(const std::vector<std::string>& names, const std::string& factor) {
  auto it = std::find(names.begin(), names.end(), factor);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

// Whether every tensor that carries the factor can be cut into `parts`.
bool divides(const Instance& x, const Factors& f, const std::string& factor, int parts) {
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    const int axis = axis_of(f.inputs[i], factor);
    if (axis < 0) continue;
    if (!x.inputs()[i].is_tensor()) return false;
    const std::int64_t size = x.inputs()[i].tensor().dim(axis);
    if (size == 0 || size % parts) return false;
  }
  return true;
}

// Splits one factor over `parts` peers, runs each, puts the outputs together.
std::string check_factor(const Instance& x, const Factors& f, const std::string& factor, int parts,
                         const Datums& whole) {
  std::vector<Datums> results;
  for (int p = 0; p < parts; ++p) {
    Datums mine = x.inputs();
    for (std::size_t i = 0; i < mine.size() && i < f.inputs.size(); ++i)
      if (const int axis = axis_of(f.inputs[i], factor); axis >= 0)
        mine[i] = Datum(cut(mine[i].tensor(), axis, parts, p));
    auto out = x.run(mine);
    if (!out.ok()) return fmt::format("factor {}: {}", factor, out.error().text());
    results.push_back(std::move(*out));
  }
  for (std::size_t o = 0; o < whole.size() && o < f.outputs.size(); ++o) {
    if (!whole[o].is_tensor()) continue;
    std::vector<Tensor> pieces;
    for (const Datums& r : results) pieces.push_back(r[o].tensor());
    const int axis = axis_of(f.outputs[o], factor);
    auto how = f.reductions.find(factor);
    const Tensor together = axis >= 0
                                ? join(pieces, axis)
                                : combine(pieces, how == f.reductions.end() ? "sum" : how->second);
    // A part draws its own numbers, equal to those of the whole in distribution: its type and dims
    // count.
    if (x.node().op().has(Trait::random)) {
      if (Type::of(together) == Type::of(whole[o].tensor())) continue;
      return fmt::format("factor {} over {} peers: output {} is {}", factor, parts, o,
                         Type::of(together).text());
    }
    const double d = distance(Datum(together), whole[o]);
    if (!(d <= tolerance(x.sample(), 1e-5)))
      return fmt::format("factor {} over {} peers: output {} is off by {}", factor, parts, o, d);
  }
  return {};
}

}  // namespace

Instance::Instance(const Operator& op, const Sample& sample) : op_(op), sample_(sample) {
  Numbers numbers(std::hash<std::string_view>{}(op.name) % 1000 + 7);
  for (const SampleInput& in : sample.inputs) inputs_.push_back(invent(in, numbers));
  graph_ = graph_for(inputs_, status_);
  node_ = graph_->last();
}

std::unique_ptr<Graph> Instance::graph_for(const Datums& inputs, Status& status) const {
  auto graph = std::make_unique<Graph>();
  GraphBuilder builder(*graph, table());
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_absent())
      values.push_back(nullptr);
    else if (sample_.inputs[i].constant)
      values.push_back(graph->add_constant(fmt::format("x{}", i), inputs[i].tensor()));
    else
      values.push_back(
          graph->add_input(fmt::format("x{}", i), type_for(sample_.inputs[i], inputs[i])));
  }
  builder.call(op_, std::move(values), sample_.attrs, {}, sample_.num_outputs);
  status = builder.take_status();
  return graph;
}

Result<Datums> Instance::run(const Datums& inputs) const {
  Status status;
  auto graph = graph_for(inputs, status);
  TENON_TRY(std::move(status));
  return interpret(*graph->last(), inputs);
}

Sample in_double(const Operator& op, const Sample& sample) {
  Sample s = sample;
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
    auto& in = s.inputs[i];
    if (!is_floating(in.dtype) || !spec.types.has(DType::f64)) continue;
    in.dtype = DType::f64;
    if (in.values.defined())
      in.values = from_doubles(to_doubles(in.values), DType::f64, in.values.dims());
    for (Tensor& t : in.items)
      if (is_floating(t.dtype())) t = from_doubles(to_doubles(t), DType::f64, t.dims());
  }
  return s;
}

double distance(const Datum& a, const Datum& b) {
  if (a.is_absent() || b.is_absent())
    return a.is_absent() == b.is_absent() ? 0 : std::numeric_limits<double>::infinity();
  if (a.is_tensor() && b.is_tensor()) return tensor_distance(a.tensor(), b.tensor());
  if (!a.is_sequence() || !b.is_sequence() || a.items().size() != b.items().size())
    return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.items().size(); ++i)
    worst = std::max(worst, distance(a.items()[i], b.items()[i]));
  return worst;
}

std::string check_types(const Instance& x) {
  auto out = interpret(x.node(), x.inputs());
  if (!out.ok()) return out.error().text();
  const auto& values = x.node().outputs();
  if (out->size() != values.size())
    return fmt::format("{} outputs executed, {} inferred", out->size(), values.size());
  Bindings bindings;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (Verdict v = accepts(values[i]->type(), (*out)[i], bindings); !v)
      return fmt::format("output {}: {}", i, v.reason);
  if (values[0]->contents() && (*out)[0].is_tensor()) {
    const auto got = to_int64s((*out)[0].tensor());
    for (std::size_t k = 0; k < got.size(); ++k)
      if (auto d = (*values[0]->contents())[k].evaluate(bindings); d.ok() && *d != got[k])
        return fmt::format("element {} is {} but inferred {}", k, got[k], *d);
  }
  return {};
}

std::string check_decomposition(const Instance& x) {
  auto whole = interpret(x.node(), x.inputs()),
       parts = interpret_decomposition(x.node(), x.inputs());
  if (!whole.ok()) return whole.error().text();
  if (!parts.ok()) return parts.error().text();
  for (std::size_t i = 0; i < whole->size(); ++i)
    if (const double d = distance((*whole)[i], (*parts)[i]); !(d <= tolerance(x.sample(), 1e-5)))
      return fmt::format("output {} is off by {}", i, d);
  Bindings bindings;
  for (std::size_t i = 0; i < whole->size(); ++i)
    if (Verdict v = accepts(x.node().outputs()[i]->type(), (*parts)[i], bindings); !v)
      return fmt::format("output {} of the decomposition: {}", i, v.reason);
  return {};
}

std::string check_sharding(const Instance& x, int num_peers) {
  auto f = x.node().op().sharding(Call(x.node()));
  if (!f.ok()) return f.error().text();
  auto whole = interpret(x.node(), x.inputs());
  if (!whole.ok()) return whole.error().text();
  std::vector<std::string> factors;
  for (const auto& names : f->inputs)
    for (const std::string& n : names)
      if (!n.empty() && std::find(factors.begin(), factors.end(), n) == factors.end())
        factors.push_back(n);
  for (const std::string& factor : factors) {
    const bool is_whole = std::find(f->whole_factors.begin(), f->whole_factors.end(), factor) !=
                          f->whole_factors.end();
    if (is_whole || !divides(x, *f, factor, num_peers)) continue;
    if (std::string problem = check_factor(x, *f, factor, num_peers, *whole); !problem.empty())
      return problem;
  }
  return {};
}

std::string check_cost(const Instance& x) {
  // What a sequence holds is not in its type, so its bytes are not in the page's count.
  for (const SampleInput& in : x.sample().inputs)
    if (in.is_sequence || in.is_optional) return {};
  for (const Value* v : x.node().outputs())
    if (!v->type().is_tensor()) return {};
  const Cost cost = x.node().op().cost(Call(x.node()));
  for (const Dim& d : {cost.flops, cost.bytes_read, cost.bytes_written})
    if (d.is_constant() && d.value() < 0) return fmt::format("cost {} is negative", d.text());
  auto out = interpret(x.node(), x.inputs());
  if (!out.ok()) return out.error().text();
  std::int64_t written = 0;
  for (const Datum& y : *out)
    if (y.is_tensor()) written += static_cast<std::int64_t>(y.tensor().bytes());
  if (cost.bytes_written.is_constant() && cost.bytes_written.value() < written)
    return fmt::format("{} bytes written by the page's count, but outputs hold {}",
                       cost.bytes_written.value(), written);
  return {};
}

std::string missing_facets(const Operator& op) {
  std::string missing;
  const auto need = [&](const auto& facet, std::string_view name) {
    if (!facet && !facet.has_reason()) missing += fmt::format("{} ", name);
  };
  if (!op.infer) missing += "infer ";
  need(op.decompose, "decompose");
  need(op.gradient, "gradient");
  need(op.cost, "cost");
  need(op.sharding, "sharding");
  if (!op.scalar && !op.eval && !op.decompose) missing += "meaning ";
  if (op.doc.empty()) missing += "doc ";
  return missing;
}

}  // namespace tenon::ops
