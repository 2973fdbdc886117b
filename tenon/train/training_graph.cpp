// Forward by copying the model, backward by its pages, then one update a weight.
#include "tenon/train/training_graph.h"

#include <algorithm>

#include "tenon/autograd/differentiate.h"
#include "tenon/ops/registry.h"
#include "tenon/train/training_form_internal.h"

namespace tenon::train {
namespace {

// A graph in the making with what all kinds of it share.
class Making {
 public:
  Making(const Graph& model, const StepOptions& options, bool is_training)
      : model_(model),
        options_(options),
        graph_(std::make_unique<Graph>(is_training ? "train_step" : "evaluate")),
        builder_(*graph_, ops::table()),
        copy_(model, builder_, is_training) {}

  // Inputs for the model's weights and statistics, then whatever `more` declares as state.
  template <class More>
  Status declare(const std::vector<BatchField>& fields, bool takes_step, More more) {
    copy_.declare_state(out_.state);
    more();
    for (const Value* v : model_.inputs())
      copy_.bind(v, TENON_TRY(field(fields, v->name(), v->type().text())));
    target_ = TENON_TRY(field(fields, options_.target, "the target"));
    out_.takes_step = takes_step;
    if (!takes_step) return {};
    rate_ = graph_->add_input("learning_rate", Type(DType::f32, {}));
    step_ = graph_->add_input("step", Type(DType::i64, {}));
    Value* key = graph_->add_input("key", Type(DType::i64, {}));
    copy_.set_key(key);
    return {};
  }

  Status forward() {
    TENON_TRY(copy_.copy_nodes());
    const auto& names = model_.output_names();
    std::size_t index = 0;
    if (!options_.answer.empty()) {
      const auto at = std::find(names.begin(), names.end(), options_.answer);
      if (at == names.end()) return not_found("the model has no output {}", options_.answer);
      index = static_cast<std::size_t>(at - names.begin());
    }
    if (model_.outputs().empty()) return invalid("the model has no output");
    answer_ = copy_.at(model_.outputs()[index]);
    builder_.set_origin("loss", {});
    loss_ = TENON_TRY(attach_loss(b(), options_.loss, answer_, target_));
    return {};
  }

  void measure(const char* name, Value* v) {
    if (!v) return;
    graph_->add_output(v, name);
    out_.measures.emplace_back(name);
  }
  void measures() {
    measure("loss", loss_.mean);
    measure("count", loss_.count);
    measure("correct", loss_.correct);
  }

  Result<TrainingGraph> finish() {
    TENON_TRY(builder_.take_status());
    out_.graph = std::move(graph_);
    return std::move(out_);
  }

  ops::B b() { return ops::B(builder_); }
  Graph& graph() { return *graph_; }
  TrainingGraph& out() { return out_; }
  FormCopy& copied() { return copy_; }
  Value* answer() { return answer_; }
  Value* loss() { return loss_.mean; }
  Value* rate() { return rate_; }
  Value* step() { return step_; }
  GraphBuilder& builder() { return builder_; }

 private:
  Result<Value*> field(const std::vector<BatchField>& fields, const std::string& name,
                       const std::string& what) {
    for (Value* v : graph_->inputs())
      if (v->name() == name &&
          std::find(out_.fields.begin(), out_.fields.end(), name) != out_.fields.end())
        return v;
    for (const BatchField& f : fields)
      if (f.name == name) {
        out_.fields.push_back(name);
        return graph_->add_input(name, f.type);
      }
    std::string have;
    for (const BatchField& f : fields) have += (have.empty() ? "" : ", ") + f.name;
    return not_found("the samples have no field {} ({}); they have {}", name, what, have);
  }

  const Graph& model_;
  const StepOptions& options_;
  std::unique_ptr<Graph> graph_;
  GraphBuilder builder_;
  FormCopy copy_;
  TrainingGraph out_;
  LossValues loss_;
  Value *answer_ = nullptr, *target_ = nullptr, *rate_ = nullptr, *step_ = nullptr;
};

// The state of one weight besides itself.
struct WeightState {
  Values moments;
  Value* average = nullptr;
  Value* gradients = nullptr;
};

class StepMaking {
 public:
  StepMaking(const Graph& model, const StepOptions& options, bool accumulates)
      : options_(options), accumulates_(accumulates), m_(model, options, true) {}

  Result<TrainingGraph> make(const std::vector<BatchField>& fields) {
    TENON_TRY(m_.declare(fields, true, [&] { declare_weight_states(); }));
    if (m_.copied().weights().empty())
      return invalid("the model has no trainable weight").with_help("name some with model.train");
    // In front of everything, so that no update waits for them.
    m_.builder().set_origin("optimizer", {});
    if (!accumulates_) scalars_ = step_scalars(m_.b(), options_.optimizer, m_.rate(), m_.step());
    TENON_TRY(m_.forward());
    const auto& weights = m_.copied().weights();
    // Averaged over micro-batches before differentiation, so that sums of gradients are means.
    Value* goal = m_.loss();
    if (options_.micro_batches > 1)
      goal =
          m_.b().mul(goal, m_.b().number(1.0 / static_cast<double>(options_.micro_batches), goal));
    Values gradients = TENON_TRY(autograd::differentiate(m_.graph(), {goal}, {}, weights));
    for (std::size_t i = 0; i < m_.out().state.size(); ++i) next_.push_back(m_.graph().inputs()[i]);
    for (const auto& [index, value] : m_.copied().moved()) next_[index] = value;
    add_up(gradients);
    Value* norm = nullptr;
    if (!accumulates_) {
      norm = clip(gradients);
      update(gradients);
      hasten_updates();
    }
    emit();
    m_.measures();
    m_.measure("gradient_norm", norm);
    return m_.finish();
  }

 private:
  void declare_weight_states() {
    const auto& weights = m_.copied().weights();
    states_.resize(weights.size());
    const auto add = [&](const Value* w, const std::string& what, Role role, const Dims& dims) {
      const Type type(DType::f32, to_shape(dims));
      m_.out().state.push_back({w->name() + "/" + what, role, type});
      return m_.graph().add_input(m_.out().state.back().name, type);
    };
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Dims dims = *constant_dims(weights[i]->type().shape());
      for (const StateSpec& s : optimizer_states(options_.optimizer, dims))
        states_[i].moments.push_back(add(weights[i], s.name, Role::moment, s.dims));
      if (options_.optimizer.ema > 0)
        states_[i].average = add(weights[i], "average", Role::average, dims);
      if (options_.micro_batches > 1)
        states_[i].gradients = add(weights[i], "gradient", Role::gradient, dims);
    }
  }

  // The next value of a state, given the input that holds it now.
  void set_next(const Value* state, Value* value) {
    next_[static_cast<std::size_t>(state->index())] = value;
  }

  void add_up(Values& gradients) {
    if (options_.micro_batches <= 1) return;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      m_.builder().set_origin(m_.copied().weights()[i]->name() + ".gradient", {});
      gradients[i] = m_.b().add(states_[i].gradients, gradients[i]);
      set_next(states_[i].gradients,
               accumulates_ ? gradients[i] : m_.b().zeros_like(states_[i].gradients));
    }
  }

  // The common norm of all gradients, which are scaled down where it exceeds clip_norm; nullptr
  // without clipping. Source: Pascanu et al. 2012 (arXiv 1211.5063).
  Value* clip(Values& gradients) {
    if (options_.optimizer.clip_norm <= 0) return nullptr;
    m_.builder().set_origin("clip", {});
    ops::B b = m_.b();
    Value* total = nullptr;
    for (Value* g : gradients) {
      Value* part = b.reduce_sum(b.mul(g, g), Attrs{{"keepdims", false}});
      total = total ? b.add(total, part) : part;
    }
    Value *norm = b.sqrt(total), *one = b.number(1, norm);
    // PyTorch's small number beside the norm.
    Value* scale = b.min(one, b.div(b.number(options_.optimizer.clip_norm, norm),
                                    b.add(norm, b.number(1e-6, norm))));
    for (Value*& g : gradients) g = b.mul(g, scale);
    return norm;
  }

  void update(const Values& gradients) {
    const auto& weights = m_.copied().weights();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Node* before = m_.graph().last();
      m_.builder().set_origin(weights[i]->name() + ".update", {});
      const Values now = updated(m_.b(), options_.optimizer, scalars_, weights[i], gradients[i],
                                 states_[i].moments);
      if (!m_.builder().status().ok()) return;
      set_next(weights[i], now[0]);
      for (std::size_t k = 0; k < states_[i].moments.size(); ++k)
        set_next(states_[i].moments[k], now[k + 1]);
      if (states_[i].average) average(states_[i].average, now[0]);
      blocks_.push_back({weights[i], before, m_.graph().last()});
    }
  }

  // The average of a weight over time.
  void average(Value* old, Value* weight) {
    const double decay = options_.optimizer.ema;
    ops::B b = m_.b();
    set_next(old, b.add(b.mul(old, b.number(decay, DType::f32)),
                        b.mul(weight, b.number(1 - decay, DType::f32))));
  }

  // Moves each update to right behind the last node that it waits for: those that make what it
  // reads, and every other reader of the weight, whose memory it takes.
  void hasten_updates() {
    std::vector<int> position(static_cast<std::size_t>(m_.graph().num_node_ids()), 0);
    int at = 0;
    for (const Node* n : m_.graph().nodes()) position[static_cast<std::size_t>(n->id())] = at++;
    const auto place = [&](const Node* n) { return position[static_cast<std::size_t>(n->id())]; };
    for (const Block& block : blocks_) {
      if (!block.before || block.before == block.last) continue;
      std::vector<Node*> nodes;
      for (Node* n = block.last; place(n) > place(block.before); n = n->previous())
        nodes.insert(nodes.begin(), n);
      const int first = place(nodes.front());
      Node* anchor = nullptr;
      const auto wait_for = [&](Node* n) {
        if (n && place(n) < first && (!anchor || place(n) > place(anchor))) anchor = n;
      };
      for (const Node* n : nodes)
        for (const Value* v : n->inputs())
          if (v) wait_for(v->producer());
      for (const Value::Use& u : block.weight->uses()) wait_for(u.node);
      if (!anchor) continue;
      Node* behind = anchor->next();
      if (behind == nodes.front()) continue;
      for (Node* n : nodes) m_.graph().move_before(n, behind);
    }
  }

  void emit() {
    auto& out = m_.out();
    for (std::size_t i = 0; i < out.state.size(); ++i) {
      m_.graph().add_output(next_[i], out.state[i].name);
      out.donations.push_back({static_cast<int>(i), static_cast<int>(i)});
    }
  }

  const StepOptions& options_;
  bool accumulates_;
  Making m_;
  // The nodes of one update: those behind `before` up to `last`, in the order of making.
  struct Block {
    const Value* weight;
    Node *before, *last;
  };
  std::vector<WeightState> states_;
  StepScalars scalars_;
  std::vector<Block> blocks_;
  Values next_;
};

}  // namespace

Result<TrainingGraph> training_graph(const Graph& model, const std::vector<BatchField>& fields,
                                     const StepOptions& options, bool accumulates) {
  return StepMaking(model, options, accumulates).make(fields);
}

Result<TrainingGraph> evaluation_graph(const Graph& model, const std::vector<BatchField>& fields,
                                       const StepOptions& options, bool shows_answer) {
  Making m(model, options, false);
  TENON_TRY(m.declare(fields, false, [] {}));
  TENON_TRY(m.forward());
  m.measures();
  if (shows_answer) m.measure("answer", m.answer());
  return m.finish();
}

std::vector<Tensor> initial_state(const Graph& model, const std::vector<StateEntry>& state) {
  std::map<std::string, Tensor> known;
  for (const Value* v : model.constants()) known[v->name()] = v->tensor();
  std::vector<Tensor> values;
  for (const StateEntry& s : state) {
    const std::string weight = s.name.substr(0, s.name.rfind('/'));
    const bool starts_known = s.role != Role::moment && s.role != Role::gradient;
    const auto it = known.find(s.role == Role::average ? weight : s.name);
    TENON_CHECK(!starts_known || it != known.end(), "state {} is no constant of the model", s.name);
    values.push_back(starts_known ? it->second.clone()
                                  : Tensor::zeros(s.type.dtype(), *constant_dims(s.type.shape())));
  }
  return values;
}

Result<std::unique_ptr<Graph>> with_state(const Graph& model, const std::vector<StateEntry>& state,
                                          const std::vector<Tensor>& values, bool uses_averages) {
  auto copy = model.clone();
  std::map<std::string, Value*> constants;
  for (Value* v : copy->constants()) constants[v->name()] = v;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const bool is_average = state[i].role == Role::average;
    if (state[i].role != Role::weight && state[i].role != Role::statistics &&
        !(is_average && uses_averages))
      continue;
    const std::string name =
        is_average ? state[i].name.substr(0, state[i].name.rfind('/')) : state[i].name;
    const auto it = constants.find(name);
    if (it == constants.end()) return not_found("the model has no weight {}", name);
    it->second->set_tensor(values[i].clone());
  }
  return copy;
}

}  // namespace tenon::train
