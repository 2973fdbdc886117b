// Plans by sizes for static graphs, node by node for the others.
#include "tenon/runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "tenon/base/interrupt.h"
#include "tenon/runtime/execution_plan.h"
#include "tenon/runtime/interpreted_launch.h"

namespace tenon {
namespace {

constexpr std::size_t kMaxPlans = 64;       // distinct sets of input sizes kept
constexpr std::size_t kMaxLaunches = 4096;  // bound kernels kept by node-by-node runs

bool is_plain(const Type& t) { return t.is_tensor() && t.ranked() && t.dtype() != DType::string; }

// Whether every value is a numeric tensor whose sizes follow from the inputs'.
bool sizes_follow_from_inputs(const Graph& graph) {
  std::set<std::string> known;
  for (const Value* v : graph.inputs()) {
    if (!is_plain(v->type())) return false;
    for (const Dim& d : v->type().shape())
      if (auto name = d.symbol_name())
        known.insert(*name);
      else if (!d.is_constant())
        return false;
  }
  for (const Node* n : graph.nodes())
    for (const Value* v : n->outputs()) {
      if (!is_plain(v->type())) return false;
      for (const Dim& d : v->type().shape())
        for (const std::string& s : d.symbols())
          if (!known.contains(s)) return false;
    }
  const Values constants = graph.constants();
  return std::all_of(constants.begin(), constants.end(),
                     [](const Value* v) { return is_plain(v->type()); });
}

std::vector<Dims> dims_of(const Datums& values) {
  std::vector<Dims> out;
  for (const Datum& d : values) out.push_back(d.is_tensor() ? d.tensor().dims() : Dims{-1});
  return out;
}

// Elements as integers that differ when the elements do: keys of launches that depend on values.
Dims bits_of_elements(const Tensor& t) {
  if (!is_floating(t.dtype())) return to_int64s(t);
  Dims bits;
  for (double v : to_doubles(t)) bits.push_back(__builtin_bit_cast(std::int64_t, v));
  return bits;
}

Extent extent_of(const Datum& d) {
  return d.is_tensor() ? Extent{d.tensor().dtype(), d.tensor().dims(), {}} : Extent{};
}

// Concrete output extents by the page, when they do not depend on element values it cannot see.
std::optional<std::vector<Extent>> output_extents(const Node& node, const Datums& inputs) {
  auto types = node.op().infer(Call(node, inputs));
  if (!types.ok()) return std::nullopt;
  std::vector<Extent> out;
  for (const Type& t : *types) {
    if (!is_plain(t)) return std::nullopt;
    auto dims = constant_dims(t.shape());
    if (!dims) return std::nullopt;
    out.push_back({t.dtype(), std::move(*dims), {}});
  }
  return out;
}

bool all_numeric(const Datums& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Datum& d) {
    return d.is_absent() || (d.is_tensor() && d.tensor().dtype() != DType::string);
  });
}

}  // namespace

Executable::Executable(std::unique_ptr<Graph> graph, std::vector<CompiledNode> kernels,
                       std::map<const Graph*, std::unique_ptr<Executable>> regions)
    : graph_(std::move(graph)), kernels_(std::move(kernels)), regions_(std::move(regions)) {
  is_static_ = sizes_follow_from_inputs(*graph_);
}

Executable::~Executable() = default;

void Executable::set_donations(std::vector<Donation> donations) {
  std::set<int> inputs, outputs;
  for (const Donation& d : donations) {
    TENON_CHECK(d.input >= 0 && static_cast<std::size_t>(d.input) < graph_->inputs().size() &&
                    d.output >= 0 && static_cast<std::size_t>(d.output) < graph_->outputs().size(),
                "donation of input {} to output {}", d.input, d.output);
    const Type &from = graph_->inputs()[static_cast<std::size_t>(d.input)]->type(),
               &to = graph_->outputs()[static_cast<std::size_t>(d.output)]->type();
    TENON_CHECK(from == to, "input {} is {} but output {} is {}", d.input, from.text(), d.output,
                to.text());
    TENON_CHECK(inputs.insert(d.input).second && outputs.insert(d.output).second,
                "input {} or output {} is donated twice", d.input, d.output);
  }
  donations_ = std::move(donations);
}

Status Executable::check_inputs(const Datums& inputs, Bindings& bindings) const {
  if (inputs.size() != graph_->inputs().size())
    return invalid("{} inputs are given but the graph takes {}", inputs.size(),
                   graph_->inputs().size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (Verdict v = accepts(graph_->inputs()[i]->type(), inputs[i], bindings); !v)
      return invalid("input {}: {}", graph_->inputs()[i]->name(), v.reason);
  for (const Constraint& c : graph_->constraints()) {
    auto left = c.left.evaluate(bindings), right = c.right.evaluate(bindings);
    if (left.ok() && right.ok() && *left != *right) {
      Error e = dims_differ(c.what, Dim(*left), Dim(*right));
      return std::move(e).at(c.where);
    }
  }
  return {};
}

Result<std::shared_ptr<ExecutionPlan>> Executable::plan_for(const Datums& inputs,
                                                            const Bindings& bindings) const {
  std::vector<Dims> key = dims_of(inputs);
  {
    const std::lock_guard lock(mutex_);
    if (auto it = plans_.find(key); it != plans_.end()) return it->second;
  }
  auto plan = TENON_TRY(ExecutionPlan::make(*this, bindings));
  const std::lock_guard lock(mutex_);
  if (plans_.size() >= kMaxPlans) plans_.erase(plans_.begin());
  return plans_.emplace(std::move(key), std::move(plan)).first->second;
}

Result<Datums> Executable::run(const Datums& inputs, ThreadPool& pool) const {
  Bindings bindings;
  TENON_TRY(check_inputs(inputs, bindings));
  if (!is_static_) return run_dynamic(inputs, pool, nullptr, nullptr);
  auto plan = TENON_TRY(plan_for(inputs, bindings));
  return plan->run(inputs, pool);
}

Result<Datums> Executable::run_observed(const Datums& inputs, ThreadPool& pool,
                                        const Observer& observer) const {
  Bindings bindings;
  TENON_TRY(check_inputs(inputs, bindings));
  return run_dynamic(inputs, pool, &observer, nullptr);
}

Status Executable::run_timed(const Datums& inputs, ThreadPool& pool, const Timer& timer) const {
  Bindings bindings;
  TENON_TRY(check_inputs(inputs, bindings));
  if (!is_static_) {
    TENON_TRY(run_dynamic(inputs, pool, nullptr, &timer));
    return {};
  }
  auto plan = TENON_TRY(plan_for(inputs, bindings));
  TENON_TRY(plan->run(inputs, pool, &timer));
  return {};
}

Result<MemoryUse> Executable::memory(const Datums& inputs) const {
  if (!is_static_) return unsupported("sizes depend on data, so memory is not planned ahead");
  Bindings bindings;
  TENON_TRY(check_inputs(inputs, bindings));
  return TENON_TRY(plan_for(inputs, bindings))->memory();
}

void Executable::note_declined(const Node& node, const std::string& reason) const {
  const std::lock_guard lock(mutex_);
  declined_.insert({node.name().empty() ? std::string(node.op().name) : node.name(),
                    std::string(node.op().name), reason});
}

std::vector<Executable::Declined> Executable::declined() const {
  std::set<Declined> all;
  {
    const std::lock_guard lock(mutex_);
    all = declined_;
  }
  for (const auto& [region, executable] : regions_)
    for (Declined& d : executable->declined()) all.insert(std::move(d));
  return {all.begin(), all.end()};
}

Result<Datums> Executable::run_region(const Graph& region, Datums inputs, ThreadPool& pool) const {
  auto it = regions_.find(&region);
  return it == regions_.end() ? ops::interpret(region, inputs) : it->second->run(inputs, pool);
}

Result<Datums> Executable::run_node(const CompiledNode& compiled, const Datums& inputs,
                                    ThreadPool& pool) const {
  const Node& node = *compiled.node;
  const RegionRunner runner = [&](const Graph& region, Datums values) {
    return run_region(region, std::move(values), pool);
  };
  auto outputs =
      compiled.kernel && all_numeric(inputs) ? output_extents(node, inputs) : std::nullopt;
  if (!outputs) return ops::interpret(node, inputs, runner);
  std::vector<Extent> in;
  std::vector<Dims> key = dims_of(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(extent_of(inputs[i]));
    if (!inputs[i].is_tensor() || !compiled.kernel->wants_value(static_cast<int>(i))) continue;
    in.back().value = inputs[i].tensor();
    key.push_back(bits_of_elements(inputs[i].tensor()));
  }
  for (const Extent& e : *outputs) key.push_back(e.dims);
  std::shared_ptr<const Launch> launch;
  {
    const std::lock_guard lock(mutex_);
    if (auto it = launches_.find({&node, key}); it != launches_.end()) launch = it->second;
  }
  if (!launch) {
    auto bound = compiled.kernel->bind(in, *outputs);
    if (!bound.ok() && bound.error().code == Code::unsupported) {
      note_declined(node, bound.error().message);
      return ops::interpret(node, inputs, runner);
    }
    launch = TENON_TRY_AT(node.place(), std::move(bound));
    const std::lock_guard lock(mutex_);
    if (launches_.size() >= kMaxLaunches) launches_.clear();
    launches_.emplace(std::pair(&node, std::move(key)), launch);
  }
  Datums results;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const Datum& d : inputs) from.push_back(d.is_tensor() ? d.tensor().raw() : nullptr);
  for (const Extent& e : *outputs) {
    results.emplace_back(Tensor(e.dtype, e.dims));
    to.push_back(results.back().tensor().raw());
  }
  auto workspace = Buffer::allocate(launch->workspace_bytes());
  TENON_TRY_AT(node.place(), launch->run({from, to, workspace->data(), pool}));
  return results;
}

Result<Datums> Executable::run_dynamic(const Datums& inputs, ThreadPool& pool,
                                       const Observer* observer, const Timer* timer) const {
  Datums values(static_cast<std::size_t>(graph_->num_value_ids()));
  std::vector<int> left(values.size(), 0);
  for (const CompiledNode& c : kernels_)
    for (const Value* v : c.node->inputs())
      if (v) ++left[static_cast<std::size_t>(v->id())];
  for (const Value* v : graph_->outputs()) ++left[static_cast<std::size_t>(v->id())];
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<std::size_t>(graph_->inputs()[i]->id())] = inputs[i];
  const auto take = [&](const Value* v) -> Datum {
    if (v->is_constant()) return Datum(v->tensor());
    Datum& slot = values[static_cast<std::size_t>(v->id())];
    return --left[static_cast<std::size_t>(v->id())] == 0 ? std::exchange(slot, Datum()) : slot;
  };
  for (const CompiledNode& c : kernels_) {
    TENON_TRY(check_interrupt());
    Datums in;
    for (const Value* v : c.node->inputs()) in.push_back(v ? take(v) : Datum());
    const auto start = std::chrono::steady_clock::now();
    Datums out = TENON_TRY(run_node(c, in, pool));
    if (timer)
      (*timer)(*c.node,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (observer) TENON_TRY((*observer)(*c.node, out));
    for (std::size_t i = 0; i < out.size() && i < c.node->outputs().size(); ++i)
      values[static_cast<std::size_t>(c.node->outputs()[i]->id())] = std::move(out[i]);
  }
  Datums results;
  for (const Value* v : graph_->outputs()) results.push_back(take(v));
  return results;
}

}  // namespace tenon
