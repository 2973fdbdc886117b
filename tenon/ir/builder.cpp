// Call checking, inference and symbolic contents.
#include "tenon/ir/builder.h"

#include <algorithm>
#include <map>

namespace tenon {

extern thread_local bool size_was_asked_without_rank;  // type.cpp

namespace {

Evaluate g_evaluate = nullptr;

const InputSpec* spec_of(const Operator& op, std::size_t i) {
  if (i < op.inputs.size()) return &op.inputs[i];
  if (!op.inputs.empty() && op.inputs.back().arity == Arity::many) return &op.inputs.back();
  return nullptr;
}

bool holds(const InputSpec& spec, const Type& type) {
  switch (spec.holds) {
    case Holds::tensor: return type.is_tensor();
    case Holds::sequence: return type.is_sequence();
    case Holds::optional: return type.is_optional();
    case Holds::anything: return true;
  }
  return false;
}

void check_input(const InputSpec& spec, const Value* v,
                 std::map<std::string_view, std::pair<DType, std::string_view>>& vars,
                 std::vector<std::string>& problems) {
  const Type& type = v->type();
  if (!type.defined()) return;  // poison: its error is already known
  if (!holds(spec, type))
    return problems.push_back(fmt::format("{} cannot be {}", spec.name, type.text()));
  if (!spec.types.has(type.dtype()))
    return problems.push_back(fmt::format("{} is {} but must be one of {}", spec.name,
                                          name(type.dtype()), spec.types.text()));
  if (spec.var.empty()) return;
  auto [it, fresh] = vars.try_emplace(spec.var, type.dtype(), spec.name);
  if (!fresh && it->second.first != type.dtype())
    problems.push_back(fmt::format("{} is {} but {} is {}", spec.name, name(type.dtype()),
                                   it->second.second, name(it->second.first)));
}

void check_inputs(const Operator& op, const Values& inputs, std::vector<std::string>& problems) {
  std::map<std::string_view, std::pair<DType, std::string_view>> vars;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec* spec = spec_of(op, i);
    if (!spec)
      return problems.push_back(
          fmt::format("{} inputs are given but {} are declared", inputs.size(), op.inputs.size()));
    if (!inputs[i]) {
      if (spec->arity != Arity::maybe)
        problems.push_back(fmt::format("input {} is absent", spec->name));
      continue;
    }
    check_input(*spec, inputs[i], vars, problems);
  }
  for (std::size_t i = inputs.size(); i < op.inputs.size(); ++i)
    if (op.inputs[i].arity == Arity::one)
      problems.push_back(fmt::format("input {} is absent", op.inputs[i].name));
}

void check_attrs(const Operator& op, const Attrs& attrs, std::vector<std::string>& problems) {
  for (const auto& [key, value] : attrs) {
    const AttrSpec* spec = op.attr(key);
    if (!spec)
      problems.push_back(fmt::format("attribute {} is not declared", key));
    else if (spec->kind != value.kind())
      problems.push_back(fmt::format("attribute {} is {} but must be {}", key, name(value.kind()),
                                     name(spec->kind)));
  }
  for (const AttrSpec& spec : op.attrs)
    if (spec.is_required && !attrs.find(spec.name))
      problems.push_back(fmt::format("attribute {} is missing", spec.name));
}

bool any_undefined(const Values& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Value* v) { return v && !v->type().defined(); });
}

constexpr std::int64_t kMaxContents = 1024;

bool may_have_contents(const Type& t) {
  if (!t.is_tensor() || !t.ranked() || t.ndim() > 2 ||
      (!is_integer(t.dtype()) && t.dtype() != DType::boolean))
    return false;
  auto n = t.count().known();
  return n && *n <= kMaxContents;
}

// Dim arithmetic through a scalar expression; nothing for operations that dims lack.
std::optional<Dim> dim_of(const Expr& e, const std::vector<Dim>& inputs) {
  if (e.op() == ScalarOp::input) return inputs[static_cast<std::size_t>(e.node().input)];
  if (e.op() == ScalarOp::constant) return Dim(e.node().integer);
  std::vector<Dim> a;
  for (const Expr& arg : e.args()) {
    auto d = dim_of(arg, inputs);
    if (!d) return std::nullopt;
    a.push_back(*d);
  }
  const bool positive =
      a.size() == 2 && at_least(a[0], 0) == Truth::yes && at_least(a[1], 1) == Truth::yes;
  if (e.op() == ScalarOp::add) return a[0] + a[1];
  if (e.op() == ScalarOp::sub) return a[0] - a[1];
  if (e.op() == ScalarOp::mul) return a[0] * a[1];
  if (e.op() == ScalarOp::neg) return Dim(0) - a[0];
  if (e.op() == ScalarOp::max) return max(a[0], a[1]);
  if (e.op() == ScalarOp::min) return min(a[0], a[1]);
  if (e.op() == ScalarOp::div && positive) return floor_div(a[0], a[1]);
  if (e.op() == ScalarOp::rem && positive) return mod(a[0], a[1]);
  if (e.op() == ScalarOp::cast && is_integer(e.dtype()) && is_integer(e.args()[0].dtype()))
    return a[0];
  if (e.op() == ScalarOp::equal && same(a[0], a[1]) != Truth::undecided)
    return Dim(same(a[0], a[1]) == Truth::yes ? 1 : 0);
  if (e.op() == ScalarOp::select && a[0].is_constant()) return a[0].value() ? a[1] : a[2];
  return std::nullopt;
}

std::optional<std::vector<Dim>> scalar_contents(const Call& c) {
  const auto n = c.out(0).count().known();
  Exprs inputs;
  std::vector<std::vector<Dim>> known;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has(i)) return std::nullopt;
    auto d = c.dims(i);
    if (!d || (static_cast<std::int64_t>(d->size()) != *n && d->size() != 1)) return std::nullopt;
    if (c.in(i).ndim() > 1 && d->size() != 1 && c.in(i).shape() != c.out(0).shape())
      return std::nullopt;
    known.push_back(std::move(*d));
    inputs.push_back(Expr::input(i, c.in(i).dtype()));
  }
  const Expr e = c.op().scalar(c, inputs);
  std::vector<Dim> out;
  for (std::int64_t k = 0; k < *n; ++k) {
    std::vector<Dim> x;
    for (const auto& d : known) x.push_back(d.size() == 1 ? d[0] : d[static_cast<std::size_t>(k)]);
    auto y = dim_of(e, x);
    if (!y) return std::nullopt;
    out.push_back(*y);
  }
  return out;
}

// A movement only copies elements, so it can be run on positions in a pool of dims.
std::optional<std::vector<Dim>> movement_contents(const Call& c) {
  if (!g_evaluate) return std::nullopt;
  std::vector<Dim> pool;
  Datums inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has(i)) {
      inputs.emplace_back();
      continue;
    }
    auto dims = c.dims(i);
    const bool is_data =
        !c.op().inputs.empty() && spec_of(c.op(), static_cast<std::size_t>(i))->var == "T";
    if (!is_data) {
      auto value = c.constant(i);
      if (!value) return std::nullopt;
      inputs.emplace_back(*value);
      continue;
    }
    auto shape = constant_dims(c.in(i).shape());
    if (!dims || !shape) return std::nullopt;
    std::vector<std::int64_t> positions;
    for (const Dim& d : *dims) {
      positions.push_back(static_cast<std::int64_t>(pool.size()));
      pool.push_back(d);
    }
    inputs.emplace_back(from_int64s(positions, DType::i64, *shape));
  }
  auto out = g_evaluate(c.node(), inputs);
  if (!out.ok() || out->empty() || !(*out)[0].is_tensor()) return std::nullopt;
  std::vector<Dim> result;
  for (std::int64_t p : to_int64s((*out)[0].tensor())) {
    if (p < 0 || p >= static_cast<std::int64_t>(pool.size())) return std::nullopt;
    result.push_back(pool[static_cast<std::size_t>(p)]);
  }
  return result;
}

}  // namespace

void set_contents_evaluator(Evaluate evaluate) { g_evaluate = evaluate; }

Status check_call(const Operator& op, const Values& inputs, const Attrs& attrs) {
  std::vector<std::string> problems;
  check_inputs(op, inputs, problems);
  check_attrs(op, attrs, problems);
  if (problems.empty()) return {};
  std::string text = problems.front();
  for (std::size_t i = 1; i < problems.size(); ++i) text += "; " + problems[i];
  return invalid("{}: {}", op.name, text);
}

namespace {

bool lacks_rank(const Value* v) { return v && v->type().is_tensor() && !v->type().ranked(); }

// Output types of the same call with `ndim` axes of unknown size wherever the rank is not known.
Result<Types> infer_with_rank(const Node& node, int ndim) {
  Graph graph("probe");
  Values inputs;
  for (const Value* v : node.inputs()) {
    if (!v) {
      inputs.push_back(nullptr);
      continue;
    }
    if (v->is_constant()) {
      inputs.push_back(graph.add_constant({}, v->tensor()));
      continue;
    }
    Shape sizes;
    for (int i = 0; lacks_rank(v) && i < ndim; ++i)
      sizes.push_back(Dim::symbol(fmt::format("probe{}_{}", v->id(), i)));
    inputs.push_back(
        graph.add_input({}, lacks_rank(v) ? v->type().with_shape(std::move(sizes)) : v->type()));
    if (v->contents()) inputs.back()->set_contents(*v->contents());
  }
  std::vector<std::unique_ptr<Graph>> regions;
  for (const auto& r : node.regions()) regions.push_back(r->clone());
  const Node* probe = graph.add_node(node.op(), std::move(inputs), node.attrs(), std::move(regions),
                                     static_cast<int>(node.outputs().size()));
  return node.op().infer(Call(*probe));
}

// What does not depend on the rank: element types, and sizes where every rank that is possible
// agrees with what the page said.
Result<Types> infer_without_rank(const Node& node, Result<Types> said, bool asked_sizes) {
  constexpr int kMaxRank = 6;
  std::optional<Types> common;
  bool same_rank = true;
  for (int ndim = 0; ndim <= kMaxRank; ++ndim) {
    auto types = infer_with_rank(node, ndim);
    if (!types.ok()) continue;
    if (!common) {
      common = std::move(*types);
      continue;
    }
    for (std::size_t i = 0; i < types->size() && i < common->size(); ++i)
      same_rank = same_rank && (*types)[i].ndim() == (*common)[i].ndim() &&
                  (*types)[i].ranked() == (*common)[i].ranked();
  }
  if (!common) return said;  // no rank is possible: the page's error stands, if it has one
  if (said.ok() && !asked_sizes && same_rank && !said->empty() &&
      (*said)[0].ndim() == (*common)[0].ndim())
    return said;
  for (Type& t : *common)
    if (t.is_tensor()) t = Type::unranked(t.dtype());
  return std::move(*common);
}

}  // namespace

Result<Types> infer(const Node& node, std::vector<Constraint>* constraints) {
  const Operator& op = node.op();
  TENON_TRY(check_call(op, node.inputs(), node.attrs()));
  size_was_asked_without_rank = false;
  auto types = op.infer(Call(node, constraints));
  // Control flow says what it knows, and trying ranks would walk regions in regions ever more
  // often.
  if (!op.has(Trait::control_flow) &&
      std::any_of(node.inputs().begin(), node.inputs().end(), lacks_rank))
    types = infer_without_rank(node, std::move(types), size_was_asked_without_rank);
  if (types.ok()) return types;
  Error e = std::move(types).error();
  if (!e.message.starts_with(op.name)) e.message = fmt::format("{}: {}", op.name, e.message);
  return e;
}

std::optional<std::vector<Dim>> infer_contents(const Node& node) {
  if (node.outputs().size() != 1 || !may_have_contents(node.output(0)->type())) return std::nullopt;
  const Call c(node);
  if (node.op().contents) return node.op().contents(c);
  if (node.op().scalar) return scalar_contents(c);
  if (node.op().has(Trait::movement) && node.op().eval)
    return movement_contents(c);  // a decomposition would come back here
  return std::nullopt;
}

Result<std::unique_ptr<Graph>> Builder::differentiate(const Graph& region, const std::vector<bool>&,
                                                      const std::vector<bool>&) {
  return unsupported("gradients through region {}: this builder does not differentiate regions",
                     region.name());
}

Values inline_graph(Builder& builder, const Graph& graph, const Values& inputs) {
  TENON_CHECK(inputs.size() == graph.inputs().size(), "graph {} takes {} inputs but {} are given",
              graph.name(), graph.inputs().size(), inputs.size());
  std::map<const Value*, Value*> here;
  for (std::size_t i = 0; i < inputs.size(); ++i) here[graph.inputs()[i]] = inputs[i];
  const auto read = [&](const Value* v) -> Value* {
    if (!v) return nullptr;
    Value*& known = here[v];
    if (!known && v->is_constant()) known = builder.constant(v->tensor());
    return known;
  };
  for (const Node* node : graph.nodes()) {
    Values args;
    for (const Value* v : node->inputs()) args.push_back(read(v));
    std::vector<std::unique_ptr<Graph>> regions;
    for (const auto& r : node->regions()) regions.push_back(r->clone());
    const Values out = builder.call(node->op(), std::move(args), node->attrs(), std::move(regions),
                                    static_cast<int>(node->outputs().size()));
    for (std::size_t i = 0; i < node->outputs().size(); ++i) here[node->outputs()[i]] = out[i];
  }
  Values outputs;
  for (const Value* v : graph.outputs()) outputs.push_back(read(v));
  return outputs;
}

Values GraphBuilder::call(const Operator& op, Values inputs, Attrs attrs,
                          std::vector<std::unique_ptr<Graph>> regions, int num_outputs) {
  const bool poisoned = !status_.ok() || any_undefined(inputs);
  Node* node = graph_.add_node(op, std::move(inputs), std::move(attrs), std::move(regions),
                               std::max(num_outputs, 0), before_);
  node->set_name(name_);
  node->set_origin(origin_);
  Result<Types> types = poisoned ? Result<Types>(Types(static_cast<std::size_t>(std::max<int>(
                                       num_outputs, static_cast<int>(op.outputs.size())))))
                                 : infer(*node, &graph_.constraints());
  if (!types.ok()) {
    fail(std::move(types).error().at(node->place()));
    types = Types(
        static_cast<std::size_t>(std::max<int>(num_outputs, static_cast<int>(op.outputs.size()))));
  }
  graph_.resize_outputs(
      node,
      static_cast<int>(num_outputs >= 0 ? std::max<std::size_t>(
                                              types->size(), static_cast<std::size_t>(num_outputs))
                                        : types->size()));
  for (std::size_t i = 0; i < types->size(); ++i)
    node->output(static_cast<int>(i))->set_type((*types)[i]);
  if (!poisoned && status_.ok() && types->size() == 1)
    node->output(0)->set_contents(infer_contents(*node));
  return node->outputs();
}

Value* GraphBuilder::constant(Tensor tensor) { return graph_.add_constant({}, std::move(tensor)); }

const Operator& GraphBuilder::op(std::string_view name) const {
  const Operator* found = table_.find(name);
  TENON_CHECK(found != nullptr, "no operator is named {}", name);
  return *found;
}

void GraphBuilder::fail(Error error) {
  if (status_.ok()) status_ = Status(std::move(error));
}

Status infer_all(Graph& graph) {
  graph.constraints().clear();
  for (Node* node : graph.nodes()) {
    Types types = TENON_TRY_AT(node->place(), infer(*node, &graph.constraints()));
    for (std::size_t i = 0; i < types.size() && i < node->outputs().size(); ++i)
      node->output(static_cast<int>(i))->set_type(std::move(types[i]));
    if (node->outputs().size() == 1) node->output(0)->set_contents(infer_contents(*node));
  }
  return {};
}

}  // namespace tenon
