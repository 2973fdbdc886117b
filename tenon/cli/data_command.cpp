// tenon data: what a training file would read, checked, timed and shown.
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>

#include "tenon/base/interrupt.h"
#include "tenon/base/progress.h"
#include "tenon/base/toml.h"
#include "tenon/cli/command.h"
#include "tenon/dataset/pipeline.h"
#include "tenon/dataset/sample_files.h"

namespace tenon::cli {
namespace {
namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> files, set;
  std::string output_dir;
  double seconds = 5, step_seconds = 0;
  std::int64_t count = 16;
};

// The section [data] of a training file after --set, and the batch size beside it.
struct Training {
  Json table;
  fs::path folder;
  dataset::DataConfig data;
  std::int64_t batch = 32;
};

Result<Training> read_training(const std::string& file, const std::vector<std::string>& set) {
  Json toml = TENON_TRY(read_toml(file));
  for (const std::string& s : set) {
    const auto equals = s.find('=');
    if (equals == s.npos) return invalid("--set {}: no '='", s).with_help("--set key=value");
    TENON_TRY(set_toml_key(toml, s.substr(0, equals), s.substr(equals + 1)));
  }
  if (!toml.contains("data")) return invalid("no section [data]").at(file);
  Training out;
  out.table = toml["data"];
  out.folder = fs::path(file).parent_path();
  out.data = TENON_TRY(dataset::parse_data_config(out.table, out.folder, file + ", data"));
  if (toml.contains("train"))
    out.batch = TENON_TRY_AT(file, json_get_or<std::int64_t>(toml["train"], "batch", 32));
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Json bad_json(const std::vector<dataset::BadSample>& bad, std::string_view part) {
  Json list = Json::array();
  for (const auto& b : bad)
    list.push_back({{"part", part}, {"index", b.index}, {"name", b.name}, {"reason", b.reason}});
  return list;
}

// Every sample of one source once; bad ones are collected, never fatal.
Result<dataset::LoaderStats> check_source(const dataset::SourcePtr& source,
                                          const std::vector<dataset::TransformPtr>& transforms,
                                          const Training& training, std::string_view part,
                                          Context& context) {
  dataset::LoaderOptions o = training.data.loader;
  o.batch = std::clamp<std::int64_t>(source->size() / 64, 1, 256);
  o.shuffle = false;
  o.drop_last = false;
  o.epochs = 1;
  o.bucket_batches = 0;
  o.pack_tokens = 0;
  o.collate = dataset::Collate::pad;
  o.on_bad = dataset::OnBad::skip;
  o.max_bad = source->size();
  auto loader = TENON_TRY(dataset::Loader::create(dataset::checked(source, transforms), {}, o));
  ProgressLine progress(stderr, context.options.quiet || context.options.json);
  while (true) {
    TENON_TRY(check_interrupt());
    const auto batch = TENON_TRY(loader->next());
    if (!batch) break;
    progress.show({part, loader->stats().samples, source->size(), {}});
  }
  return loader->stats();
}

Result<Answer> run_check(const Options& options, Context& context) {
  const Training training = TENON_TRY(read_training(options.files[0], options.set));
  const auto start = std::chrono::steady_clock::now();
  Answer answer;
  Json bad = Json::array();
  std::int64_t samples = 0;
  double stall = 0;
  for (const bool test : {false, true}) {
    const auto source = TENON_TRY(test ? dataset::open_test_source(training.data)
                                       : dataset::open_train_source(training.data));
    if (!source) continue;
    const char* part = test ? "test" : "train";
    const auto stats = TENON_TRY(
        check_source(source, test ? training.data.test_transforms : training.data.transforms,
                     training, part, context));
    samples += source->size();
    stall += stats.stall_seconds;
    for (Json& b : bad_json(stats.bad, part)) bad.push_back(std::move(b));
    answer.text += fmt::format("{}: {} samples, {} bad\n", part, source->size(), stats.bad.size());
    for (const auto& b : stats.bad) answer.text += fmt::format("  {}: {}\n", b.name, b.reason);
  }
  const double seconds = seconds_since(start);
  answer.yes = bad.empty();
  answer.json = {{"schema", "tenon.data.check/1"},
                 {"samples", samples},
                 {"bad", bad},
                 {"samples_per_second", static_cast<double>(samples) / std::max(seconds, 1e-9)},
                 {"stall_seconds", stall}};
  return answer;
}

// What stands for a training step: arithmetic on one thread that takes `seconds` on a free core. It
// is counted, not timed, so that a core which is shared makes it longer, as it would a real step.
class StepWork {
 public:
  explicit StepWork(double seconds) {
    constexpr std::int64_t kProbe = 2'000'000;
    double best = 1e9;
    for (int i = 0; i < 5 && seconds > 0; ++i) {
      const auto start = std::chrono::steady_clock::now();
      spin(kProbe);
      best = std::min(best, seconds_since(start));
    }
    rounds_ = static_cast<std::int64_t>(seconds / best * kProbe);
  }
  void run(const dataset::Batch& batch) {
    for (const Tensor& t : batch.tensors)  // a step reads its batch
      for (std::size_t i = 0; i < t.bytes(); i += 64) state_ += static_cast<float>(t.raw()[i]);
    spin(rounds_);
  }

 private:
  void spin(std::int64_t rounds) {
    float x = state_;
    for (std::int64_t i = 0; i < rounds; ++i) x = x * 0.999f + 0.25f;
    state_ = x;
  }
  volatile float state_ = 1;
  std::int64_t rounds_ = 0;
};

// Processor time of this thread: what it does itself, however many share the machine.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Timed {
  double real = 0, replay = 0, next_cpu = 0;  // seconds
  std::int64_t steps = 0, samples = 0;
  dataset::LoaderStats stats;
};

// Steps on loaded batches for `seconds`, then as many on the last batch over and over. The first
// batches, which fill the ring, are not counted.
Result<Timed> time_steps(const dataset::Pipeline& pipeline, double seconds, StepWork& work) {
  auto loader = TENON_TRY(pipeline.train());
  const int warm = pipeline.config().loader.prefetch + 1;
  dataset::Batch last;
  Timed out;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < warm || seconds_since(start) < seconds; ++i) {
    TENON_TRY(check_interrupt());
    const double before = thread_seconds();
    auto batch = TENON_TRY(loader->next());
    if (!batch) break;
    if (i >= warm) out.next_cpu += thread_seconds() - before;
    last = std::move(*batch);
    work.run(last);
    if (i + 1 == warm)
      start = std::chrono::steady_clock::now();
    else if (i >= warm)
      ++out.steps, out.samples += last.size;
  }
  out.real = seconds_since(start);
  out.stats = loader->stats();
  loader.reset();
  start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < out.steps; ++i) work.run(last);
  out.replay = seconds_since(start);
  return out;
}

Result<Answer> run_bench(const Options& options, Context& context) {
  const Training training = TENON_TRY(read_training(options.files[0], options.set));
  const auto pipeline =
      TENON_TRY(dataset::open_pipeline(training.table, {.folder = training.folder,
                                                        .where = options.files[0] + ", data",
                                                        .batch = training.batch,
                                                        .seed = context.options.seed}));
  StepWork work(options.step_seconds);
  const Timed t = TENON_TRY(time_steps(pipeline, options.seconds, work));
  const double rate = static_cast<double>(t.samples) / std::max(t.real, 1e-9);
  // Without work there is nothing to compare with: then it is what `next` waited.
  const double stall = options.step_seconds > 0 ? t.real - t.replay : t.stats.stall_seconds;
  const auto& loader = pipeline.config().loader;
  Answer answer;
  answer.json = {{"schema", "tenon.data.bench/1"},
                 {"samples", t.stats.samples},
                 {"batches", t.stats.batches},
                 {"batch", training.batch},
                 {"workers", loader.workers},
                 {"bad", bad_json(t.stats.bad, "train")},
                 {"samples_per_second", rate},
                 {"steps", t.steps},
                 {"seconds", t.real},
                 {"replay_seconds", t.replay},
                 {"stall_seconds", stall},
                 {"wait_seconds", t.stats.stall_seconds},
                 {"next_cpu_seconds", t.next_cpu},
                 {"work_seconds", t.stats.work_seconds}};
  answer.text = fmt::format(
      "{:.0f} samples/s in batches of {} with {} workers; {} steps in {:.3f} s, of which {:.4f} s "
      "stalled\n",
      rate, training.batch, loader.workers, t.steps, t.real, stall);
  for (const auto& b : t.stats.bad) answer.text += fmt::format("  bad: {}: {}\n", b.name, b.reason);
  return answer;
}

std::string file_name(std::string text) {
  for (char& c : text)
    if (c == '/' || c == ':') c = '_';
  return text;
}

// Writes the arrays of one sample as STEM.NAME.npy (STEM.npy for the nameless one), never one file
// twice.
Status write_arrays(const NamedTensors& arrays, const std::string& name, const std::string& stem,
                    const fs::path& folder, std::set<std::string>& used, Answer& answer) {
  for (const auto& [key, tensor] : arrays) {
    const std::string base = file_name(key.empty() ? stem : stem + "." + key);
    std::string file = base + ".npy";
    for (int k = 1; !used.insert(file).second; ++k) file = fmt::format("{}-{}.npy", base, k);
    TENON_TRY(write_npy(folder / file, tensor));
    answer.json["samples"].push_back({{"name", name},
                                      {"file", (folder / file).string()},
                                      {"shape", tensor.dims()},
                                      {"dtype", tenon::name(tensor.dtype())}});
    if (!key.empty()) answer.json["samples"].back()["field"] = key;
    answer.text += fmt::format("{}  {}{}  -> {}\n", name, tenon::name(tensor.dtype()),
                               to_text(tensor.dims()), (folder / file).string());
  }
  return {};
}

void note_error(const Error& e, const std::string& name, Answer& answer) {
  answer.yes = false;
  answer.json["samples"].push_back({{"name", name}, {"error", e.text()}});
  answer.text += fmt::format("{}  error: {}\n", name, e.text());
}

Status show_training(const Options& options, std::uint64_t seed, const fs::path& folder,
                     std::set<std::string>& used, Answer& answer) {
  const Training training = TENON_TRY(read_training(options.files[0], options.set));
  const auto source = TENON_TRY(dataset::open_train_source(training.data));
  for (std::int64_t i = 0; i < std::min(options.count, source->size()); ++i) {
    TENON_TRY(check_interrupt());
    const auto arrays = dataset::sample_as_arrays(*source, training.data.transforms, i, seed);
    if (!arrays.ok())
      note_error(arrays.error(), source->describe(i), answer);
    else
      TENON_TRY(write_arrays(*arrays, source->describe(i), fmt::format("{:06}", i), folder, used,
                             answer));
  }
  return {};
}

Result<Answer> run_show(const Options& options, Context& context) {
  std::error_code problem;
  fs::create_directories(options.output_dir, problem);
  if (problem)
    return io_error("cannot make the folder: {}", problem.message()).at(options.output_dir);
  Answer answer;
  answer.json = {{"schema", "tenon.data.show/1"}, {"samples", Json::array()}};
  std::set<std::string> used;
  if (fs::path(options.files[0]).extension() == ".toml") {
    if (options.files.size() > 1)
      return context.wrong_usage("a training file together with further files",
                                 "give one training file, or files only");
    TENON_TRY(show_training(options, context.options.seed, options.output_dir, used, answer));
    return answer;
  }
  for (const std::string& file : options.files) {
    TENON_TRY(check_interrupt());
    const auto arrays = dataset::read_as_arrays(file);
    if (!arrays.ok())
      note_error(arrays.error(), file, answer);
    else
      TENON_TRY(write_arrays(*arrays, file, fs::path(file).stem().string(), options.output_dir,
                             used, answer));
  }
  return answer;
}

std::shared_ptr<Options> declare_file(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->files.resize(1);
  app.add_option("file", options->files[0], "the training file (TOML)")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--set", options->set,
                 "key=value that replaces one of the file's, such as data.workers=2");
  return options;
}

Runner declare_check(CLI::App& app) {
  return [options = declare_file(app)](Context& context) { return run_check(*options, context); };
}

Runner declare_bench(CLI::App& app) {
  auto options = declare_file(app);
  app.add_option("--seconds", options->seconds, "how long to load")->check(CLI::PositiveNumber);
  app.add_option(
         "--step-seconds", options->step_seconds,
         "work between batches, on one thread; stall_seconds is then the run minus a replay")
      ->check(CLI::NonNegativeNumber);
  return [options](Context& context) { return run_bench(*options, context); };
}

Runner declare_show(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("file", options->files, "a training file (TOML), or pictures, sounds and tables")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--set", options->set, "key=value that replaces one of the file's");
  app.add_option("--count", options->count, "how many samples of a training file")
      ->check(CLI::PositiveNumber);
  app.add_option("--output-dir", options->output_dir, "where the .npy files go")->required();
  return [options](Context& context) { return run_show(*options, context); };
}

Runner declare_data(CLI::App&) {
  return [](Context& context) -> Result<Answer> {
    return context.wrong_usage("tenon data needs check, bench or show", "tenon data --help");
  };
}

}  // namespace

Command data_command() {
  return {.name = "data",
          .summary = "what a training file would read",
          .examples = {"tenon data check examples/fashion_mnist.toml",
                       "tenon data bench train.toml --seconds 5 --set data.workers=2",
                       "tenon data show photo.jpg speech.wav table.csv --output-dir out"},
          .declare = declare_data,
          .children = {{.name = "check",
                        .summary = "opens every sample and names what is corrupt",
                        .examples = {"tenon data check train.toml --json"},
                        .declare = declare_check,
                        .children = {}},
                       {.name = "bench",
                        .summary = "how fast the loader alone is",
                        .examples = {"tenon data bench train.toml --seconds 5"},
                        .declare = declare_bench,
                        .children = {}},
                       {.name = "show",
                        .summary = "samples as .npy files, as training sees them",
                        .examples = {"tenon data show train.toml --count 4 --output-dir out"},
                        .declare = declare_show,
                        .children = {}}}};
}

}  // namespace tenon::cli
