// Opening a run, and its steps.
#include <fmt/format.h>

#include "tenon/base/random.h"
#include "tenon/formats/checkpoint/checkpoint.h"
#include "tenon/train/model_source.h"
#include "tenon/train/session_internal.h"

namespace tenon::train {
namespace fs = std::filesystem;

Status Session::prepare() {
  Json run = Json::object();
  NamedTensors saved;
  if (options_.resumes) TENON_TRY(open_checkpoint(run, saved));
  pipeline_ = TENON_TRY(open_pipeline(config_));
  TENON_TRY(open_loader(run));
  if (!model_) TENON_TRY(open_model());
  step_options_.loss = config_.loss;
  step_options_.optimizer = config_.optimizer;
  step_options_.micro_batches = config_.micro_batches;
  step_options_.answer = config_.answer;
  step_options_.target = TENON_TRY(target_field(*loader_, config_.target));
  TENON_TRY(compile_steps());
  TENON_TRY(load_state(saved));
  return open_folder();
}

Status Session::open_checkpoint(Json& run, NamedTensors& saved) {
  const fs::path folder = options_.run / "checkpoints";
  const auto newest = checkpoint::newest_whole(folder);
  if (!newest)
    return not_found("there is no whole checkpoint to go on from")
        .at(folder.string())
        .with_help("start the run anew in another folder");
  if (const auto all = checkpoint::newest_first(folder); all.front() != *newest && options_.note)
    options_.note(
        fmt::format("{} is damaged; going on from {}", all.front().string(), newest->string()));
  auto c = TENON_TRY(checkpoint::read(*newest));
  model_ = std::move(c.model);
  saved = std::move(c.state);
  run = std::move(c.run);
  step_ = TENON_TRY_AT(newest->string(), json_get<std::int64_t>(run, "step"));
  return {};
}

Status Session::open_loader(const Json& run) {
  std::optional<dataset::LoaderState> start;
  if (run.contains("loader")) {
    const Json& l = run["loader"];
    start.emplace();
    start->seed = static_cast<std::uint64_t>(TENON_TRY(json_get<std::int64_t>(l, "seed")));
    start->epoch = TENON_TRY(json_get<std::int64_t>(l, "epoch"));
    start->position = TENON_TRY(json_get<std::int64_t>(l, "position"));
  }
  loader_ = TENON_TRY(pipeline_.training(start));
  steps_per_epoch_ =
      std::max<std::int64_t>(1, loader_->batches_per_epoch() / config_.micro_batches);
  total_steps_ = options_.benchmark > 0 ? options_.benchmark
                 : config_.steps > 0    ? config_.steps
                                        : config_.epochs * steps_per_epoch_;
  return {};
}

Status Session::open_model() {
  if (options_.model) {
    model_ = options_.model->clone();
    return {};
  }
  models::ModelRequest request;
  request.fields = sample_fields(*loader_);
  request.classes = static_cast<std::int64_t>(pipeline_.train->classes().size());
  request.seed = config_.seed;
  request.where = "model";
  model_ = TENON_TRY(open_or_build_model(config_.model, request, config_.folder));
  return {};
}

Result<Session::Compiled> Session::compile(TrainingGraph graph) {
  Compiled c;
  engine::CompileOptions options;
  options.donations = graph.donations;
  const Backend* backend = TENON_TRY(engine::backend_named(config_.backend));
  auto nodes = std::move(graph.graph);
  c.executable = TENON_TRY(engine::compile(std::move(nodes), *backend, options, &c.report));
  c.graph = std::move(graph);
  return c;
}

Status Session::compile_steps() {
  const auto fields = batch_fields(*loader_, pipeline_.loader.batch);
  update_ = TENON_TRY(compile(TENON_TRY(training_graph(*model_, fields, step_options_))));
  if (config_.micro_batches > 1)
    accumulate_ =
        TENON_TRY(compile(TENON_TRY(training_graph(*model_, fields, step_options_, true))));
  return {};
}

Status Session::load_state(const NamedTensors& saved) {
  const auto& entries = update_.graph.state;
  state_ = initial_state(*model_, entries);
  std::map<std::string_view, const Tensor*> known;
  for (const auto& [name, tensor] : saved) known[name] = &tensor;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto it = known.find(entries[i].name);
    if (it != known.end()) {
      if (it->second->dims() != state_[i].dims())
        return invalid("the checkpoint's {} is {} but this run has {}", entries[i].name,
                       to_text(it->second->dims()), to_text(state_[i].dims()));
      state_[i] = it->second->clone();
    } else if (options_.resumes && entries[i].role == Role::moment) {
      return not_found("the checkpoint has no {}", entries[i].name)
          .with_help("go on with the optimizer that the run began with");
    }
  }
  return {};
}

Status Session::open_folder() {
  if (options_.benchmark > 0) return {};
  folder_ = options_.resumes ? TENON_TRY(RunFolder::reopen(options_.run, step_))
                             : TENON_TRY(RunFolder::create(options_.run, resolved(config_)));
  return folder_->prune(config_.keep);
}

Result<dataset::Batch> Session::next_batch() {
  constexpr std::size_t kFixed = 4;  // batches of a benchmark, used again and again
  if (options_.benchmark > 0 &&
      fixed_.size() >= kFixed * static_cast<std::size_t>(config_.micro_batches))
    return fixed_[static_cast<std::size_t>(step_) % fixed_.size()];
  auto batch = TENON_TRY(loader_->next());
  if (!batch) return invalid("the data ended");
  if (options_.benchmark > 0) fixed_.push_back(*batch);
  ended_epoch_ = batch->last_of_epoch;
  return std::move(*batch);
}

Datums Session::inputs_of(const Compiled& compiled, const dataset::Batch& batch,
                          const dataset::Fields& fields, const std::vector<Tensor>& state) const {
  Datums inputs;
  for (std::size_t i = 0; i < compiled.graph.state.size(); ++i) inputs.emplace_back(state[i]);
  for (const std::string& name : compiled.graph.fields)
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name) inputs.emplace_back(batch.tensors[i]);
  return inputs;
}

Status Session::check_budget(const Datums& inputs) {
  is_measured_ = true;
  auto memory = update_.executable->memory(inputs);
  if (memory.ok()) memory_ = *memory;
  if (config_.memory_budget_bytes <= 0) return {};
  if (!memory.ok()) return std::move(memory).error();
  if (memory_.arena_bytes <= config_.memory_budget_bytes) return {};
  const Node* largest = nullptr;
  std::int64_t most = 0;
  for (const Node* n : update_.executable->graph().nodes())
    for (const Value* v : n->outputs())
      if (const auto dims = constant_dims(v->type().shape()))
        if (const std::int64_t bytes = num_elements(*dims) * size_of(v->type().dtype());
            bytes > most)
          most = bytes, largest = n;
  return error(Code::out_of_memory,
               "a step needs {} bytes of activations and workspaces but the budget is {}; the "
               "largest result, {} bytes, is that of {}",
               memory_.arena_bytes, config_.memory_budget_bytes, most,
               largest ? largest->place() : "no operator")
      .with_help("raise train.memory_budget_bytes, or make train.batch smaller");
}

Result<Datums> Session::step_inputs(const Compiled& compiled, std::int64_t index,
                                    StepMeasures& sums) {
  const dataset::Batch batch = TENON_TRY(next_batch());
  sums.epoch = batch.epoch;
  Datums inputs = inputs_of(compiled, batch, loader_->fields(), state_);
  const std::int64_t number = step_ + 1;
  inputs.emplace_back(Tensor::scalar(static_cast<float>(sums.learning_rate)));
  inputs.emplace_back(Tensor::scalar(number));
  inputs.emplace_back(Tensor::scalar(
      static_cast<std::int64_t>(mix_key(config_.seed, static_cast<std::uint64_t>(number),
                                        static_cast<std::uint64_t>(index)) >>
                                1)));
  return inputs;
}

Status Session::run_micro_batch(const Compiled& compiled, std::int64_t index, StepMeasures& sums,
                                double& correct, double& count) {
  const Datums inputs = TENON_TRY(step_inputs(compiled, index, sums));
  if (!is_measured_ && &compiled == &update_) TENON_TRY(check_budget(inputs));
  const Datums outputs = TENON_TRY(compiled.executable->run(inputs, pool_));
  const std::size_t n = compiled.graph.state.size();
  for (std::size_t i = 0; i < n; ++i) state_[i] = outputs[i].tensor();
  for (std::size_t i = 0; i < compiled.graph.measures.size(); ++i) {
    const double value = element(outputs[n + i].tensor(), 0);
    const std::string& name = compiled.graph.measures[i];
    if (name == "loss") sums.loss += value / static_cast<double>(config_.micro_batches);
    if (name == "correct") correct += value;
    if (name == "count") count += value;
    if (name == "gradient_norm") sums.gradient_norm = value;
  }
  return {};
}

Result<StepMeasures> Session::run_step() {
  StepMeasures m;
  m.learning_rate =
      config_.optimizer.learning_rate * config_.schedule.factor(step_ + 1, total_steps_);
  double correct = -1, count = 0;
  const auto& measures = update_.graph.measures;
  if (std::find(measures.begin(), measures.end(), "correct") != measures.end()) correct = 0;
  for (std::int64_t i = 0; i < config_.micro_batches; ++i)
    TENON_TRY(run_micro_batch(i + 1 < config_.micro_batches ? accumulate_ : update_, i, m, correct,
                              count));
  if (correct >= 0 && count > 0) m.accuracy = correct / count;
  ++step_;
  return m;
}

}  // namespace tenon::train
