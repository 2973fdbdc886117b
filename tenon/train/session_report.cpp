// Evaluation, checkpoints and figures of a run.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <numeric>
#include <set>

#include "tenon/base/interrupt.h"
#include "tenon/formats/checkpoint/checkpoint.h"
#include "tenon/train/session_internal.h"

namespace tenon::train {
namespace fs = std::filesystem;

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * std::int64_t{1024};
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
}

double area_under_curve(const std::vector<float>& scores, const std::vector<float>& targets) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double wins = 0, below = 0, positives = 0;  // negatives with a lower score so far
  for (std::size_t i = 0; i < order.size();) {
    double up = 0, down = 0;  // of equal score
    const float score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i)
      (targets[order[i]] > 0.5f ? up : down) += 1;
    wins += up * (below + 0.5 * down);
    below += down, positives += up;
  }
  return positives > 0 && below > 0 ? wins / (positives * below)
                                    : std::numeric_limits<double>::quiet_NaN();
}

// The first entries of the state, in the order of the evaluation graph, which is the same; averages
// in place of their weights.
std::vector<Tensor> Session::evaluation_state() const {
  const auto& entries = update_.graph.state;
  std::vector<Tensor> values(
      state_.begin(), state_.begin() + static_cast<std::ptrdiff_t>(evaluation_.graph.state.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].role != Role::average) continue;
    const std::string weight = entries[i].name.substr(0, entries[i].name.rfind('/'));
    for (std::size_t k = 0; k < values.size(); ++k)
      if (entries[k].name == weight) values[k] = state_[i];
  }
  return values;
}

namespace {

// Sums over the batches of an evaluation.
struct Sums {
  double loss = 0, count = 0, correct = 0, batches = 0;
  bool has_correct = false;
  std::vector<float> scores, targets;
};

void keep_scores(Sums& sums, const Tensor& answer, const Tensor& target) {
  const auto a = to_doubles(answer), t = to_doubles(target);
  sums.scores.insert(sums.scores.end(), a.begin(), a.end());
  sums.targets.insert(sums.targets.end(), t.begin(), t.end());
}

std::map<std::string, double> measures_of(const Sums& s, bool is_text) {
  std::map<std::string, double> out;
  if (s.count <= 0) return out;
  out["loss"] = s.loss / s.count;
  if (s.has_correct) out["accuracy"] = s.correct / s.count;
  if (is_text) out["perplexity"] = std::exp(s.loss / s.count);
  if (!s.scores.empty())
    if (const double area = area_under_curve(s.scores, s.targets); std::isfinite(area))
      out["auc"] = area;
  return out;
}

}  // namespace

Result<std::map<std::string, double>> Session::evaluate() {
  if (!pipeline_.test) return std::map<std::string, double>{};
  const std::int64_t size = config_.evaluate_batch > 0 ? config_.evaluate_batch : config_.batch;
  auto tester = TENON_TRY(pipeline_.testing(size));
  const dataset::Fields& fields = tester->fields();
  const auto target = std::find_if(fields.begin(), fields.end(), [&](const dataset::Field& f) {
    return f.name == step_options_.target;
  });
  if (target == fields.end())
    return not_found("the test samples have no field {}", step_options_.target);
  const auto target_index = static_cast<std::size_t>(target - fields.begin());
  const bool is_binary = target->dims.size() == 1 && is_floating(target->dtype);
  if (!evaluation_.executable)
    evaluation_ = TENON_TRY(compile(
        TENON_TRY(evaluation_graph(*model_, batch_fields(*tester, 0), step_options_, is_binary))));
  const std::vector<Tensor> state = evaluation_state();
  Sums sums;
  while (auto batch = TENON_TRY(tester->next())) {
    if (interrupted()) break;
    const Datums outputs = TENON_TRY(
        evaluation_.executable->run(inputs_of(evaluation_, *batch, fields, state), pool_));
    double loss = 0, count = 0;
    for (std::size_t i = 0; i < evaluation_.graph.measures.size(); ++i) {
      const std::string& name = evaluation_.graph.measures[i];
      if (name == "answer") {
        keep_scores(sums, outputs[i].tensor(), batch->tensors[target_index]);
        continue;
      }
      const double value = element(outputs[i].tensor(), 0);
      if (name == "loss") loss = value;
      if (name == "count") count = value;
      if (name == "correct") sums.correct += value, sums.has_correct = true;
    }
    sums.loss += loss * count, sums.count += count;
  }
  return measures_of(sums, is_integer(target->dtype) && target->dims.size() == 2);
}

Json Session::record_of(const StepMeasures& m, double seconds) const {
  Json r = {{"step", step_},
            {"epoch", m.epoch},
            {"loss", m.loss},
            {"learning_rate", m.learning_rate},
            {"step_seconds", seconds},
            {"samples_per_second", static_cast<double>(config_.batch) / seconds},
            {"memory_bytes", resident_bytes()},
            {"stall_seconds", loader_->stats().stall_seconds}};
  if (m.accuracy >= 0) r["accuracy"] = m.accuracy;
  if (m.gradient_norm >= 0) r["gradient_norm"] = m.gradient_norm;
  return r;
}

Result<fs::path> Session::save() {
  const fs::path path = folder_->checkpoints() / std::to_string(step_);
  TENON_TRY(writer_.wait());
  if (checkpoint::verify(path).ok())
    return path;  // the same bits: an undisturbed run's or a resumed one's
  const bool has_averages = config_.optimizer.ema > 0;
  auto model = TENON_TRY(with_state(*model_, update_.graph.state, state_, has_averages));
  NamedTensors state;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const Role role = update_.graph.state[i].role;
    if (has_averages || (role != Role::weight && role != Role::statistics))
      state.emplace_back(update_.graph.state[i].name, state_[i].clone());
  }
  const dataset::LoaderState at = loader_->state();
  const Json run = {{"step", step_},
                    {"loader",
                     {{"seed", static_cast<std::int64_t>(at.seed)},
                      {"epoch", at.epoch},
                      {"position", at.position}}},
                    {"total_steps", total_steps_},
                    {"config", resolved(config_)}};
  TENON_TRY(writer_.start(path, std::move(model), std::move(state), run, [this]() -> Status {
    TENON_TRY(folder_->prune(config_.keep));
    return folder_->write_curves();
  }));
  return path;
}

Status Session::close() {
  TENON_TRY(writer_.wait());
  return folder_->write_curves();
}

Status Session::explain_nonfinite(const StepMeasures& m) const {
  std::string first;
  for (std::size_t i = 0; i < state_.size() && first.empty(); ++i) {
    const auto values = to_doubles(state_[i]);
    if (std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }))
      first = update_.graph.state[i].name;
  }
  return invalid(
             "the loss of step {} is {}{}", step_, m.loss,
             first.empty() ? "" : fmt::format("; {} is the first weight that is not finite", first))
      .with_help("lower optimizer.learning_rate, or set optimizer.clip_norm");
}

Result<std::vector<OperatorTime>> Session::profile() {
  StepMeasures m;
  const Datums inputs = TENON_TRY(step_inputs(update_, 0, m));
  std::map<const Node*, std::string> what;
  for (const CompiledNode& c : update_.executable->nodes())
    what[c.node] =
        fmt::format("{}: {}", c.node->op().name, c.kernel ? c.kernel->describe() : "interpreted");
  std::map<std::string, OperatorTime> times;
  TENON_TRY(update_.executable->run_timed(inputs, pool_, [&](const Node& node, double seconds) {
    OperatorTime& t = times[what[&node]];
    t.what = what[&node], ++t.nodes, t.seconds += seconds;
  }));
  std::vector<OperatorTime> sorted;
  for (auto& [name, t] : times) sorted.push_back(std::move(t));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return sorted;
}

void Session::describe(Trained& trained) const {
  trained.peak_memory_bytes = peak_resident_bytes();
  trained.planned_memory_bytes = memory_.arena_bytes;
  for (const Tensor& t : state_) trained.state_bytes += static_cast<std::int64_t>(t.bytes());
  trained.stall_seconds = loader_->stats().stall_seconds;
  std::set<std::string> ops;
  for (const engine::Fallback& f : update_.report.fallbacks) ops.insert(f.op);
  trained.interpreted.assign(ops.begin(), ops.end());
}

}  // namespace tenon::train
