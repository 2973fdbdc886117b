// tenon train: trains a model from a training file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "tenon/base/progress.h"
#include "tenon/cli/command.h"
#include "tenon/train/trainer.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string file, run, resume;
  std::vector<std::string> sets;
  std::int64_t benchmark = 0;
  bool profiles = false;
};

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

std::string line_of(const train::Progress& p) {
  std::string line = fmt::format("step {}/{}  loss {:.4f}", p.step, p.total, p.loss);
  if (p.accuracy >= 0) line += fmt::format("  accuracy {:.2f} %", p.accuracy * 100);
  line += fmt::format("  {:.0f} samples/s  {}", p.samples_per_second, megabytes(p.memory_bytes));
  if (p.total > p.step) line += fmt::format("  {} left", clock_text(p.seconds_left));
  for (const auto& [name, value] : p.test) line += fmt::format("  test {} {:.4f}", name, value);
  return line;
}

// On a terminal a line that is redrawn; elsewhere one now and then, and every evaluation.
class Reporter {
 public:
  explicit Reporter(Console& console) : console_(console) {}
  void operator()(const train::Progress& p) {
    const auto now = std::chrono::steady_clock::now();
    const double since = std::chrono::duration<double>(now - last_).count();
    const bool is_terminal_line = is_terminal(stderr);
    if (!p.test.empty()) {
      console_.note(line_of(p));
      last_ = now;
    } else if (since > (is_terminal_line ? 0.1 : 30)) {
      is_terminal_line ? console_.progress(line_of(p)) : console_.note(line_of(p));
      last_ = now;
    }
  }

 private:
  Console& console_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Options of the command line that a training file knows, too.
std::vector<std::string> all_sets(const Options& options, const Context& context) {
  std::vector<std::string> sets = options.sets;
  if (context.options.num_threads > 0)
    sets.push_back(fmt::format("threads={}", context.options.num_threads));
  if (context.options.seed > 0) sets.push_back(fmt::format("seed={}", context.options.seed));
  if (context.options.backend != "cpu")
    sets.push_back(fmt::format("backend=\"{}\"", context.options.backend));
  if (context.options.precision != "fp32")
    sets.push_back(fmt::format("precision=\"{}\"", context.options.precision));
  return sets;
}

Json json_of(const train::Trained& t, const std::string& run) {
  Json json = {{"schema", "tenon.train/1"},
               {"step", t.step},
               {"loss", t.loss},
               {"metrics", t.metrics},
               {"step_seconds", {{"median", t.median_step_seconds}}},
               {"samples_per_second", t.samples_per_second},
               {"peak_memory_bytes", t.peak_memory_bytes},
               {"planned_memory_bytes", t.planned_memory_bytes},
               {"state_bytes", t.state_bytes},
               {"stall_seconds", t.stall_seconds},
               {"interpreted_operators", t.interpreted},
               {"checkpoint", nullptr},
               {"run", nullptr}};
  if (!t.checkpoint.empty()) json["checkpoint"] = t.checkpoint.string();
  if (!run.empty()) json["run"] = run;
  for (const train::OperatorTime& o : t.profile)
    json["profile"].push_back({{"operator", o.what}, {"nodes", o.nodes}, {"seconds", o.seconds}});
  return json;
}

std::string text_of(const train::Trained& t, const std::string& run) {
  std::string text = fmt::format("step {}: loss {:.4f}", t.step, t.loss);
  for (const auto& [name, value] : t.metrics)
    if (name != "loss") text += fmt::format(", {} {:.4f}", name, value);
  text += fmt::format(
      "\n{:.2f} ms a step (median), {:.0f} samples/s, {:.1f} s waited for data, {} at the peak\n",
      t.median_step_seconds * 1e3, t.samples_per_second, t.stall_seconds,
      megabytes(t.peak_memory_bytes));
  if (!t.interpreted.empty())
    text += fmt::format("without a native kernel: {}\n", fmt::join(t.interpreted, ", "));
  for (const train::OperatorTime& o : t.profile)
    text += fmt::format("{:9.3f} ms {:4} x {}\n", o.seconds * 1e3, o.nodes, o.what);
  if (!t.checkpoint.empty()) text += fmt::format("checkpoint: {}\n", t.checkpoint.string());
  if (!run.empty()) text += fmt::format("curves: {}/curves.html\n", run);
  return text;
}

// runs/NAME, runs/NAME-2, ... beside where the command was started.
std::string fresh_run(const std::string& file) {
  const std::string stem = "runs/" + fs::path(file).stem().string();
  std::string path = stem;
  std::error_code e;
  for (int n = 2; fs::exists(path, e); ++n) path = fmt::format("{}-{}", stem, n);
  return path;
}

Result<Answer> run(const Options& options, Context& context) {
  const bool resumes = !options.resume.empty();
  if (resumes == !options.file.empty())
    return context.wrong_usage("give a training file or --resume DIR", "tenon train TRAIN.toml");
  if (resumes && !options.run.empty())
    return context.wrong_usage("--run with --resume", "a resumed run stays in its folder");
  const std::string file = resumes ? options.resume + "/train.toml" : options.file;
  const auto config = TENON_TRY(train::read_train_config(file, all_sets(options, context)));
  train::RunOptions how;
  how.resumes = resumes;
  how.benchmark = options.benchmark;
  how.profiles = options.profiles && options.benchmark > 0;
  const std::string folder = options.benchmark > 0  ? ""
                             : resumes              ? options.resume
                             : !options.run.empty() ? options.run
                                                    : fresh_run(file);
  how.run = folder;
  Reporter reporter(context.console);
  how.progress = [&](const train::Progress& p) { reporter(p); };
  how.note = [&](const std::string& text) { context.console.warn(text); };
  const train::Trained trained = TENON_TRY(train::train(config, how));
  context.console.clear_progress();
  if (trained.was_interrupted && options.benchmark == 0)
    context.console.note(fmt::format("stopped after step {}; go on with: tenon train --resume {}",
                                     trained.step, folder));
  return Answer{.json = json_of(trained, folder), .text = text_of(trained, folder)};
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("file", options->file, "the training file");
  app.add_option("--run", options->run, "the run's folder; default: runs/NAME, a fresh one");
  app.add_option("--resume", options->resume, "go on with the run in this folder");
  app.add_option("--set", options->sets, "key=value in place of the file's; repeated")
      ->allow_extra_args(false);
  app.add_option("--benchmark", options->benchmark,
                 "only N steps on fixed data; nothing is written")
      ->check(CLI::PositiveNumber);
  app.add_flag("--profile", options->profiles,
               "with --benchmark: the time of every kind of operator in one more step");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command train_command() {
  return {
      .name = "train",
      .summary = "train a model from a training file",
      .examples = {"tenon train examples/fashion_mnist.toml",
                   "tenon train examples/fashion_mnist.toml --set train.epochs=1 --run runs/short",
                   "tenon train --resume runs/short",
                   "tenon train examples/fashion_mnist.toml --benchmark 50 --json"},
      .declare = declare};
}

}  // namespace tenon::cli
