// Ranges of integer inputs follow from where they are used.
#include "tenon/migrate/invent.h"

#include <algorithm>

#include "tenon/base/random.h"
#include "tenon/ops/registry.h"

namespace tenon::migrate {
namespace {

constexpr std::int64_t kDefaultSize = 64;

bool looks_like_batch(const std::string& name) {
  std::string lower;
  for (char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "n" || lower == "b" || lower.find("batch") != std::string::npos;
}

// The size of the axis that `v` indexes, following it through operators that only move or convert
// it; 0 when it indexes nothing.
std::int64_t indexed_size(const Value* v, int depth) {
  std::int64_t smallest = 0;
  const auto take = [&](std::int64_t n) {
    if (n > 0) smallest = smallest == 0 ? n : std::min(smallest, n);
  };
  for (const Value::Use& use : v->uses()) {
    const Operator& op = use.node->op();
    const bool is_index = (op.name == "gather" || op.name == "gather_elements") && use.index == 1;
    if (is_index && use.node->input(0)->type().ranked()) {
      const Type& x = use.node->input(0)->type();
      const std::int64_t axis = Call(*use.node).integer("axis");
      take(x.dim(static_cast<int>(axis)).known().value_or(0));
    } else if (depth > 0 && use.index == 0 && (op.has(Trait::movement) || op.name == "cast") &&
               op.name != "gather") {
      for (const Value* y : use.node->outputs()) take(indexed_size(y, depth - 1));
    }
  }
  return smallest;
}

Tensor invent(const Value* v, const Dims& dims, CounterRandom random) {
  const DType d = v->type().dtype();
  if (d == DType::string) {
    Tensor t(d, dims);
    for (auto& s : t.data<std::string>()) s = "text";
    return t;
  }
  const auto n = static_cast<std::size_t>(num_elements(dims));
  if (d == DType::boolean) return Tensor::full(d, dims, 1);
  std::vector<double> values(n);
  const std::int64_t top = is_integer(d) ? std::max<std::int64_t>(2, indexed_size(v, 8)) : 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = random.uniform_double();
    values[i] = is_integer(d) ? std::floor(u * static_cast<double>(top)) : 2 * u - 1;
  }
  return from_doubles(values, d, dims);
}

}  // namespace

Result<Bindings> choose_sizes(const Graph& graph, const std::map<std::string, Dims>& shapes) {
  Bindings bindings;
  for (const auto& [name, dims] : shapes) {
    const auto& inputs = graph.inputs();
    const auto it = std::find_if(inputs.begin(), inputs.end(), [&, &wanted = name](const Value* v) {
      return v->name() == wanted;
    });
    if (it == inputs.end()) return not_found("the model has no input {}", name);
    const Type& type = (*it)->type();
    if (type.ranked() && static_cast<int>(dims.size()) != type.ndim())
      return invalid("input {} is {} but {} sizes are given", name, type.text(), dims.size());
    for (std::size_t i = 0; i < dims.size() && type.ranked(); ++i) {
      const Dim& d = type.dim(static_cast<int>(i));
      if (auto symbol = d.symbol_name()) {
        auto [at, fresh] = bindings.try_emplace(*symbol, dims[i]);
        if (!fresh && at->second != dims[i])
          return invalid("{} is {} in one input and {} in {}", *symbol, at->second, dims[i], name);
      } else if (d.known() && d.value() != dims[i]) {
        return invalid("input {} is {} but size {} is given as {}", name, type.text(), i, dims[i]);
      }
    }
  }
  for (const Value* v : graph.inputs())
    for (const Dim& d : v->type().shape())
      for (const std::string& s : d.symbols())
        bindings.try_emplace(s, looks_like_batch(s) ? 1 : kDefaultSize);
  return bindings;
}

Result<Datums> invent_inputs(const Graph& graph, const std::map<std::string, Dims>& shapes,
                             std::uint64_t seed) {
  const Bindings bindings = TENON_TRY(choose_sizes(graph, shapes));
  Datums inputs;
  for (const Value* v : graph.inputs()) {
    const Type& type = v->type();
    if (type.is_optional()) {
      inputs.emplace_back();
      continue;
    }
    if (!type.is_tensor())
      return unsupported("a value for input {} ({}) cannot be invented", v->name(), type.text())
          .with_help("give it with --input");
    auto given = shapes.find(v->name());
    if (!type.ranked() && given == shapes.end())
      return unsupported("the shape of input {} is not known", v->name())
          .with_help(fmt::format("add --shape {}=...", v->name()));
    const Dims dims =
        given != shapes.end() ? given->second : TENON_TRY(evaluate(type.shape(), bindings));
    inputs.emplace_back(
        invent(v, dims, CounterRandom(seed, static_cast<std::uint64_t>(v->index()))));
  }
  return inputs;
}

}  // namespace tenon::migrate
