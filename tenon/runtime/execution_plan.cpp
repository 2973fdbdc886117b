// Planning: sizes, dead shape computations, aliases, lifetimes, offsets, bound kernels.
#include "tenon/runtime/execution_plan.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>

#include "tenon/base/log.h"
#include "tenon/runtime/interpreted_launch.h"

namespace tenon {

struct ExecutionPlan::Draft {
  struct Item {  // of one value
    Extent extent;
    bool sized = false;
    Tensor fixed;                 // known contents
    const Value* root = nullptr;  // the value whose buffer it shares
    bool needed = false;
  };
  explicit Draft(const Graph& graph) : items(static_cast<std::size_t>(graph.num_value_ids())) {}
  Item& operator[](const Value* v) { return items[static_cast<std::size_t>(v->id())]; }
  const Value* root(const Value* v) {
    while (const Value* up = (*this)[v].root) v = up;
    return v;
  }
  std::vector<Item> items;
  std::vector<const CompiledNode*> steps;  // those that run
  std::map<const Value*, Slot> slots;      // of roots
  std::vector<std::int64_t> workspaces;    // per step
};

namespace {

Result<Extent> extent_of(const Value* v, const Bindings& bindings) {
  if (!v->type().is_tensor() || !v->type().ranked())
    return unsupported("value {} has no sizes", v->name());
  return Extent{v->type().dtype(), TENON_TRY(evaluate(v->type().shape(), bindings)), {}};
}

// The tensor that a small integer value is under these bindings, when its elements are known.
std::optional<Tensor> known_tensor(const Value* v, const Extent& extent, const Bindings& bindings) {
  if (!v->contents()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Dim& d : *v->contents()) {
    auto x = d.evaluate(bindings);
    if (!x.ok()) return std::nullopt;
    values.push_back(*x);
  }
  if (static_cast<std::int64_t>(values.size()) != extent.count()) return std::nullopt;
  return from_int64s(values, extent.dtype, extent.dims);
}

}  // namespace

Result<std::shared_ptr<ExecutionPlan>> ExecutionPlan::make(const Executable& executable,
                                                           const Bindings& bindings) {
  auto plan = std::make_shared<ExecutionPlan>();
  Draft draft(executable.graph());
  TENON_TRY(plan->size_values(executable, bindings, draft));
  const Graph& graph = executable.graph();
  plan->fix_values(graph, draft);
  plan->assign_buffers(graph, draft);
  plan->donate_inputs(executable, draft);
  plan->overwrite_operands(graph, draft);
  TENON_TRY(plan->bind_kernels(executable, draft));
  plan->place_values(graph, draft);
  plan->fill_tables(graph, draft);
  return plan;
}

Status ExecutionPlan::size_values(const Executable& executable, const Bindings& bindings,
                                  Draft& draft) {
  const Graph& graph = executable.graph();
  for (const Value* v : graph.inputs())
    draft[v].extent = TENON_TRY(extent_of(v, bindings)), draft[v].sized = true;
  for (const Value* v : graph.constants()) {
    draft[v].extent = {v->tensor().dtype(), v->tensor().dims(), {}};
    draft[v].fixed = v->tensor();
    memory_.weight_bytes += static_cast<std::int64_t>(v->tensor().bytes());
  }
  for (const CompiledNode& c : executable.nodes())
    for (const Value* v : c.node->outputs()) {
      auto& item = draft[v];
      item.extent = TENON_TRY_AT(c.node->place(), extent_of(v, bindings));
      if (auto known = known_tensor(v, item.extent, bindings)) item.fixed = *known;
    }
  // Backward: a node runs when somebody needs a result of it that is not known already.
  for (const Value* v : graph.outputs()) draft[v].needed = true;
  for (auto it = executable.nodes().rbegin(); it != executable.nodes().rend(); ++it) {
    const auto wanted = [&](const Value* v) {
      return draft[v].needed && !draft[v].fixed.defined();
    };
    if (std::none_of(it->node->outputs().begin(), it->node->outputs().end(), wanted)) continue;
    draft.steps.push_back(&*it);
    for (const Value* v : it->node->inputs())
      if (v) draft[v].needed = true;
  }
  std::reverse(draft.steps.begin(), draft.steps.end());
  return {};
}

namespace {

// The input whose buffer a view shares: input 0 when the operator keeps the order of elements.
const Value* viewed(const Node& node) {
  if (!node.op().has(Trait::view) || node.outputs().size() != 1) return nullptr;
  return node.input(0);
}

}  // namespace

// Offsets for every root in the arena, from its first to its last step.
void ExecutionPlan::place_values(const Graph& graph, Draft& draft) {
  const int end = static_cast<int>(draft.steps.size());
  std::map<const Value*, std::pair<int, int>> life;  // of roots in the arena
  std::vector<const Value*> order;                   // deterministic
  const auto touch = [&](const Value* v, int step) {
    const Value* r = draft.root(v);
    auto slot = draft.slots.find(r);
    if (slot == draft.slots.end() || slot->second.place != Place::arena) return;
    auto [it, fresh] = life.try_emplace(r, step, step);
    if (fresh) order.push_back(r);
    it->second.second = std::max(it->second.second, step);
  };
  for (int i = 0; i < end; ++i) {
    for (const Value* v : draft.steps[static_cast<std::size_t>(i)]->node->inputs())
      if (v) touch(v, i);
    for (const Value* v : draft.steps[static_cast<std::size_t>(i)]->node->outputs()) touch(v, i);
  }
  for (const Value* v : graph.outputs()) touch(v, end);
  std::vector<Lifetime> lifetimes;
  for (const Value* r : order) {
    lifetimes.push_back(
        {static_cast<std::int64_t>(draft[r].extent.bytes()), life[r].first, life[r].second});
    memory_.no_reuse_bytes += lifetimes.back().bytes;
  }
  for (int i = 0; i < end; ++i)
    lifetimes.push_back({draft.workspaces[static_cast<std::size_t>(i)], i, i});
  arena_ = plan_arena(lifetimes);
  for (std::size_t k = 0; k < order.size(); ++k) draft.slots[order[k]].offset = arena_.offsets[k];
  for (int i = 0; i < end; ++i)
    steps_[static_cast<std::size_t>(i)].workspace_offset =
        arena_.offsets[order.size() + static_cast<std::size_t>(i)];
  memory_.arena_bytes = arena_.bytes;
  memory_.lower_bound_bytes = arena_.lower_bound;
}

// Memory that exists before the run: inputs, weights, and tensors that shape computations became.
void ExecutionPlan::fix_values(const Graph& graph, Draft& draft) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    draft.slots[graph.inputs()[i]] = {Place::input, 0, static_cast<int>(i), nullptr};
  const auto fix = [&](const Value* v) {
    if (!v || !draft[v].fixed.defined() || draft.slots.contains(v)) return;
    fixed_.push_back(draft[v].fixed);
    draft.slots[v] = {Place::fixed, 0, 0, fixed_.back().raw()};
  };
  for (const CompiledNode* c : draft.steps)
    std::for_each(c->node->inputs().begin(), c->node->inputs().end(), fix);
  std::for_each(graph.outputs().begin(), graph.outputs().end(), fix);
}

// Views share the buffer of their operand and need no step; every other result gets a buffer.
void ExecutionPlan::assign_buffers(const Graph& graph, Draft& draft) {
  const auto output_index = [&](const Value* v) {
    const auto at = std::find(graph.outputs().begin(), graph.outputs().end(), v);
    return at == graph.outputs().end() ? -1 : static_cast<int>(at - graph.outputs().begin());
  };
  std::vector<const CompiledNode*> kept;
  for (const CompiledNode* c : draft.steps) {
    const Value* source = viewed(*c->node);
    if (source && output_index(c->node->output(0)) < 0) {
      draft[c->node->output(0)].root = source;
      continue;
    }
    kept.push_back(c);
    for (const Value* v : c->node->outputs()) {
      const int index = output_index(v);
      draft.slots[v] =
          index >= 0 ? Slot{Place::output, 0, index, nullptr} : Slot{Place::arena, 0, 0, nullptr};
    }
  }
  draft.steps = std::move(kept);
}

namespace {

// Whether `node` may write its result over what its operand `root` holds: it reads it once, and its
// kernel reads every element before it writes it.
template <class Root>
bool may_write_over(const CompiledNode& c, const Value* result, const Value* root, Root root_of) {
  int reads = 0;
  bool allowed = true;
  for (int k = 0; k < static_cast<int>(c.node->inputs().size()); ++k) {
    const Value* in = c.node->input(k);
    if (!in || root_of(in) != root) continue;
    ++reads;
    allowed = allowed && c.kernel && c.kernel->may_overwrite(k) && c.node->output(0) == result;
  }
  return reads == 0 || (reads == 1 && allowed);
}

}  // namespace

// A donated output is written straight into its input where nothing reads the input later, and
// computed in the arena and copied there in the end otherwise. A value that is no result of a step
// (an input handed through) stays an ordinary output.
void ExecutionPlan::donate_inputs(const Executable& executable, Draft& draft) {
  const Graph& graph = executable.graph();
  donors_.assign(graph.outputs().size(), -1);
  if (executable.donations().empty()) return;
  const auto root_of = [&](const Value* v) { return draft.root(v); };
  std::map<const Value*, int> made, last;  // step that makes a value; that reads a root last
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    for (const Value* v : draft.steps[i]->node->outputs()) made[v] = static_cast<int>(i);
    for (const Value* v : draft.steps[i]->node->inputs())
      if (v) last[draft.root(v)] = static_cast<int>(i);
  }
  for (const Value* v : graph.outputs()) last[draft.root(v)] = static_cast<int>(draft.steps.size());
  for (const Donation& d : executable.donations()) {
    const Value *out = graph.outputs()[static_cast<std::size_t>(d.output)],
                *in = graph.inputs()[static_cast<std::size_t>(d.input)];
    const bool is_shared = std::count(graph.outputs().begin(), graph.outputs().end(), out) > 1;
    if (out == in && !is_shared) donors_[static_cast<std::size_t>(d.output)] = d.input;
    if (!made.contains(out) || is_shared) continue;
    donors_[static_cast<std::size_t>(d.output)] = d.input;
    const int step = made[out], reads = last.contains(in) ? last[in] : -1;
    const CompiledNode& maker = *draft.steps[static_cast<std::size_t>(step)];
    const bool in_place =
        reads < step || (reads == step && may_write_over(maker, out, in, root_of));
    draft.slots[out] =
        in_place ? Slot{Place::input, 0, d.input, nullptr} : Slot{Place::arena, 0, 0, nullptr};
    (in_place ? memory_.donated_bytes : memory_.copied_bytes) +=
        static_cast<std::int64_t>(draft[out].extent.bytes());
  }
}

// Results take the place of an operand that dies at the same step, where the kernel allows it.
void ExecutionPlan::overwrite_operands(const Graph& graph, Draft& draft) {
  std::map<const Value*, int> last;  // step at which a root is read for the last time
  for (std::size_t i = 0; i < draft.steps.size(); ++i)
    for (const Value* v : draft.steps[i]->node->inputs())
      if (v) last[draft.root(v)] = static_cast<int>(i);
  for (const Value* v : graph.outputs()) last[draft.root(v)] = static_cast<int>(draft.steps.size());
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    const CompiledNode& c = *draft.steps[i];
    if (!c.kernel || c.node->outputs().empty()) continue;
    const Value* out = c.node->output(0);
    if (draft.slots[out].place != Place::arena) continue;
    const auto dies_here = [&](int k) {
      const Value* in = c.node->input(k);
      if (!in || !c.kernel->may_overwrite(k)) return false;
      const Value* r = draft.root(in);
      const auto same_root = [&](const Value* v) { return v && draft.root(v) == r; };
      return draft.slots[r].place == Place::arena && last[r] == static_cast<int>(i) &&
             draft[r].extent.bytes() == draft[out].extent.bytes() &&
             std::count_if(c.node->inputs().begin(), c.node->inputs().end(), same_root) == 1;
    };
    for (int k = 0; k < static_cast<int>(c.node->inputs().size()); ++k) {
      if (!dies_here(k)) continue;
      const Value* r = draft.root(c.node->input(k));
      draft[out].root = r;
      last[r] = last.contains(out) ? last[out] : static_cast<int>(i);
      break;
    }
  }
}

namespace {

// The kernel's launch; the interpreter's where there is no kernel, or it declines these very sizes.
Result<std::shared_ptr<const Launch>> launch_for(const CompiledNode& c,
                                                 const std::vector<Extent>& in,
                                                 const std::vector<Extent>& out, bool all_known,
                                                 const RegionExecutor& regions,
                                                 std::string& declined) {
  if (c.kernel && !all_known) declined = "a value that the kernel needs is known at run time only";
  if (c.kernel && all_known) {
    auto bound = c.kernel->bind(in, out);
    if (bound.ok()) return std::shared_ptr<const Launch>(std::move(*bound));
    if (bound.error().code != Code::unsupported)
      return std::move(bound).error().at(c.node->place());
    declined = bound.error().message;
    TENON_LOG("runtime", 1, "{}: interpreted, for {}", c.node->place(), declined);
  }
  return std::shared_ptr<const Launch>(interpreted_launch(*c.node, in, out, regions));
}

struct Binding {
  const CompiledNode* node;
  std::vector<Extent> in, out;
  bool all_known;
  std::optional<Result<std::shared_ptr<const Launch>>> launch;
  std::string declined = {};  // why the kernel did not bind
};

// Binding compiles code and packs weights, so all processors help; the plan does not depend on who
// bound what.
void bind_all(std::vector<Binding>& bindings, const RegionExecutor& regions) {
  const auto bind = [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Binding& b = bindings[static_cast<std::size_t>(i)];
      b.launch.emplace(launch_for(*b.node, b.in, b.out, b.all_known, regions, b.declined));
    }
  };
  const auto count = static_cast<std::int64_t>(bindings.size());
  if (count < 4) return bind(0, 0, count);
  ThreadPool pool(usable_processors());
  pool.parallel_chunks(0, count, 1, bind);
}

}  // namespace

Status ExecutionPlan::bind_kernels(const Executable& executable, Draft& draft) {
  const RegionExecutor regions = [&executable](const Graph& region, Datums values,
                                               ThreadPool& pool) {
    return executable.run_region(region, std::move(values), pool);
  };
  std::vector<Binding> bindings;
  for (const CompiledNode* c : draft.steps) {
    Binding b{c, {}, {}, true, {}};
    for (int i = 0; i < static_cast<int>(c->node->inputs().size()); ++i) {
      const Value* v = c->node->input(i);
      b.in.push_back(v ? draft[v].extent : Extent{});
      if (!v || !c->kernel || !c->kernel->wants_value(i)) continue;
      b.in.back().value = draft[v].fixed;
      b.all_known = b.all_known && draft[v].fixed.defined();
    }
    for (const Value* v : c->node->outputs()) b.out.push_back(draft[v].extent);
    bindings.push_back(std::move(b));
  }
  bind_all(bindings, regions);
  for (Binding& b : bindings) {
    if (!b.declined.empty()) executable.note_declined(*b.node->node, b.declined);
    Step step{b.node->node, TENON_TRY(std::move(*b.launch)), {}, {}, 0};
    draft.workspaces.push_back(static_cast<std::int64_t>(step.launch->workspace_bytes()));
    steps_.push_back(std::move(step));
  }
  return {};
}

// Every argument becomes a slot; an output whose data is elsewhere is copied at the end.
void ExecutionPlan::fill_tables(const Graph& graph, Draft& draft) {
  for (Step& step : steps_) {
    for (const Value* v : step.node->inputs())
      step.inputs.push_back(v ? draft.slots[draft.root(v)] : Slot{});
    for (const Value* v : step.node->outputs()) step.outputs.push_back(draft.slots[draft.root(v)]);
    max_arguments_ = std::max({max_arguments_, step.inputs.size(), step.outputs.size()});
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value* v = graph.outputs()[i];
    outputs_.push_back(draft[v].extent);
    const Slot& slot = draft.slots[draft.root(v)];
    const bool in_place = (slot.place == Place::output && slot.index == static_cast<int>(i)) ||
                          (slot.place == Place::input && slot.index == donors_[i]);
    output_sources_.push_back(in_place ? Slot{} : slot);
  }
}

// Large results come in the memory of an earlier run's, once nobody holds that any more: fresh
// pages cost more than many a kernel.
Tensor ExecutionPlan::output_memory(std::size_t output) {
  constexpr std::size_t kLarge = std::size_t{1} << 18, kKept = 2;
  const Extent& e = outputs_[output];
  if (e.bytes() < kLarge) return Tensor(e.dtype, e.dims);
  const std::lock_guard lock(mutex_);
  earlier_.resize(outputs_.size());
  auto& kept = earlier_[output];
  for (const auto& buffer : kept) {
    if (buffer.use_count() != 1) continue;
    std::atomic_thread_fence(std::memory_order_acquire);  // its last reader is done
    return Tensor(e.dtype, e.dims, buffer);
  }
  Tensor fresh(e.dtype, e.dims);
  if (kept.size() < kKept) kept.push_back(fresh.buffer());
  return fresh;
}

std::unique_ptr<ExecutionPlan::State> ExecutionPlan::acquire() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto state = std::move(idle_.back());
      idle_.pop_back();
      return state;
    }
  }
  auto state = std::make_unique<State>();
  state->arena = Buffer::allocate(static_cast<std::size_t>(arena_.bytes));
  state->inputs.resize(max_arguments_);
  state->outputs.resize(max_arguments_);
  return state;
}

void ExecutionPlan::release(std::unique_ptr<State> state) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(state));
}

const std::byte* ExecutionPlan::resolve(const Slot& slot, const std::byte* arena,
                                        const Datums& inputs, Datums& outputs) {
  switch (slot.place) {
    case Place::none: return nullptr;
    case Place::arena: return arena + slot.offset;
    case Place::input: return inputs[static_cast<std::size_t>(slot.index)].tensor().raw();
    case Place::output: return outputs[static_cast<std::size_t>(slot.index)].tensor().raw();
    case Place::fixed: return slot.data;
  }
  return nullptr;
}

Result<Datums> ExecutionPlan::run(const Datums& inputs, ThreadPool& pool,
                                  const Executable::Timer* timer) {
  Datums outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    outputs.emplace_back(donors_[i] >= 0 ? inputs[static_cast<std::size_t>(donors_[i])].tensor()
                                         : output_memory(i));
  auto state = acquire();
  std::byte* arena = state->arena->data();
  Status status;
  for (const Step& step : steps_) {
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      state->inputs[i] = resolve(step.inputs[i], arena, inputs, outputs);
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
      state->outputs[i] = const_cast<std::byte*>(resolve(step.outputs[i], arena, inputs, outputs));
    const Frame frame{{state->inputs.data(), step.inputs.size()},
                      {state->outputs.data(), step.outputs.size()},
                      arena + step.workspace_offset,
                      pool};
    const auto start =
        timer ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    status = step.launch->run(frame);
    if (!status.ok()) {
      status = Status(std::move(status).error().at(step.node->place()));
      break;
    }
    if (timer)
      (*timer)(*step.node,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  // Donated inputs last: an ordinary output may be one of them as it was.
  for (std::size_t k = 0; k < 2 * outputs.size() && status.ok(); ++k) {
    const std::size_t i = k % outputs.size();
    if (output_sources_[i].place == Place::none || (donors_[i] >= 0) != (k >= outputs.size()))
      continue;
    Tensor& to = outputs[i].tensor();
    if (to.bytes())
      std::memcpy(to.raw(), resolve(output_sources_[i], arena, inputs, outputs), to.bytes());
  }
  release(std::move(state));
  TENON_TRY(std::move(status));
  return outputs;
}

}  // namespace tenon
