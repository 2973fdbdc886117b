// tenon bench: latency and throughput of a model on invented inputs.
#include <CLI/CLI.hpp>

#include "tenon/cli/arguments.h"
#include "tenon/cli/command.h"
#include "tenon/codegen/kernel_cache.h"
#include "tenon/machine/host_cpu.h"
#include "tenon/migrate/invent.h"
#include "tenon/migrate/session.h"

namespace tenon::cli {
namespace {

constexpr int kTimedRuns = 7;

struct Options {
  std::string model;
  std::vector<NamedShape> shapes;
  double seconds = 3;
  int warmup = 3;
  bool by_operator = false, by_node = false, recompile = false;
};

Json json_of(const migrate::Session& s, const migrate::Measurement& m, const Context& context,
             int threads, std::int64_t batch) {
  const HostCpu& cpu = host_cpu();
  return {
      {"schema", "tenon.bench/1"},
      {"latency_ms",
       {{"min", m.min_ms},
        {"median", m.median_ms},
        {"p90", m.p90_ms},
        {"p99", m.p99_ms},
        {"first", m.first_ms}}},
      {"throughput_per_second", static_cast<double>(batch) * 1e3 / m.median_ms},
      {"iterations", m.iterations},
      {"compile_seconds", s.compile_seconds + codegen::KernelCache::instance().compile_seconds()},
      {"load_seconds", s.load_seconds},
      {"peak_memory_bytes", migrate::peak_resident_bytes()},
      {"threads", threads},
      {"precision", context.options.precision},
      {"host",
       {{"cpu", cpu.model}, {"isa", std::string(name(host_isa()))}, {"cores", cpu.num_cores}}}};
}

std::string time_table(const Executable& executable, const Datums& inputs, ThreadPool& pool,
                       bool by_node) {
  std::map<std::string, std::pair<int, double>> by_op;
  std::map<const Node*, const Kernel*> kernels;
  for (const CompiledNode& c : executable.nodes()) kernels[c.node] = c.kernel.get();
  const auto timer = [&](const Node& node, double seconds) {
    const std::string what = fmt::format(
        "{} ({})", node.op().name, kernels[&node] ? kernels[&node]->describe() : "interpreter");
    const std::string sizes = node.input(0) ? node.input(0)->type().text() : "";
    auto& [count, total] =
        by_op[by_node ? fmt::format("{} {} {}", node.name(), what, sizes) : what];
    ++count;
    total += seconds;
  };
  // Each node's best of some runs: others that work on the machine would show as slow nodes.
  std::map<const Node*, double> best;
  std::vector<const Node*> order;
  const auto keep_best = [&](const Node& node, double seconds) {
    auto [it, fresh] = best.try_emplace(&node, seconds);
    if (fresh) order.push_back(&node);
    it->second = std::min(it->second, seconds);
  };
  for (int run = 0; run < kTimedRuns; ++run)
    if (!executable.run_timed(inputs, pool, keep_best).ok()) return {};
  for (const Node* node : order) timer(*node, best[node]);
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [op, t] : by_op)
    rows.emplace_back(t.second,
                      fmt::format("{:9.3f} ms  {:4} x {}\n", t.second * 1e3, t.first, op));
  std::sort(rows.rbegin(), rows.rend());
  std::string text;
  for (const auto& [seconds, line] : rows) text += line;
  return text;
}

std::int64_t batch_of(const Datums& inputs) {
  for (const Datum& d : inputs)
    if (d.is_tensor() && d.tensor().ndim() > 0) return std::max<std::int64_t>(1, d.tensor().dim(0));
  return 1;
}

Result<Answer> run(const Options& options, Context& context) {
  migrate::SessionOptions open;
  open.backend = context.options.backend;
  open.recompile = options.recompile;
  std::vector<NamedShape> shapes = options.shapes;
  migrate::Session s = TENON_TRY(migrate::open_session(options.model, open));
  for (const std::string& note : s.notes) context.console.note(note);
  TENON_TRY(resolve_names(shapes, s.input_names, "--shape"));
  std::map<std::string, Dims> sizes;
  for (const NamedShape& n : shapes) sizes[n.name] = n.dims;
  const Datums inputs =
      TENON_TRY(migrate::invent_inputs(s.executable->graph(), sizes, context.options.seed));
  const int threads =
      context.options.num_threads > 0 ? context.options.num_threads : usable_processors();
  ThreadPool pool(threads);
  const migrate::Measurement m =
      TENON_TRY(migrate::measure(*s.executable, inputs, pool, options.seconds, options.warmup));
  Answer answer;
  answer.json = json_of(s, m, context, threads, batch_of(inputs));
  answer.text = fmt::format(
      "median {:.3f} ms  min {:.3f}  p90 {:.3f}  p99 {:.3f}  ({} runs, {} threads, {})\nload "
      "{:.3f} s  compile {:.3f} s  first run {:.1f} ms  peak memory {:.1f} MB\n",
      m.median_ms, m.min_ms, m.p90_ms, m.p99_ms, m.iterations, threads, name(host_isa()),
      s.load_seconds, answer.json["compile_seconds"].get<double>(), m.first_ms,
      static_cast<double>(migrate::peak_resident_bytes()) / 1e6);
  if (options.by_operator || options.by_node)
    answer.text += time_table(*s.executable, inputs, pool, options.by_node);
  return answer;
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model or bundle")->required();
  add_named_shapes(app, "--shape", options->shapes, "sizes of an input");
  app.add_option("--seconds", options->seconds, "how long to measure")->check(CLI::PositiveNumber);
  app.add_option("--warmup", options->warmup, "runs before measuring")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--recompile", options->recompile, "ignore the native code in a bundle");
  app.add_flag("--by-operator", options->by_operator,
               "also show the time of each kind of operator");
  app.add_flag("--by-node", options->by_node, "also show the time of each node");
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = "latency and throughput of a model",
          .examples = {"tenon bench model.onnx --threads 1",
                       "tenon bench model.tenon --shape ids=8,128 --seconds 10 --json"},
          .declare = declare};
}

}  // namespace tenon::cli
