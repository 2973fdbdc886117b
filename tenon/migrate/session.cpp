// Opening, compiling, timing.
#include "tenon/migrate/session.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "tenon/base/interrupt.h"

namespace tenon::migrate {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double quantile(const std::vector<double>& sorted, double q) {
  const auto i = static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[std::min(i, sorted.size() - 1)];
}

Status open_from_bundle(const std::filesystem::path& path, const SessionOptions& options,
                        Session& s) {
  BundleOptions bundle;
  bundle.backend = options.backend == "cpu" ? "" : options.backend;
  bundle.recompile = options.recompile;
  Bundle b = TENON_TRY(open_bundle(path, bundle));
  s.format = "bundle";
  s.bundle = path;
  s.executable = std::move(b.executable);
  s.notes = std::move(b.notes);
  return {};
}

}  // namespace

Result<Session> open_session(const std::filesystem::path& path, const SessionOptions& options) {
  const auto start = Clock::now();
  Session s;
  if (is_bundle(path)) {
    TENON_TRY(open_from_bundle(path, options, s));
  } else {
    ModelFile file = TENON_TRY(open_model(path, options.open));
    s.format = file.format;
    s.notes = std::move(file.warnings);
    s.load_seconds = seconds_since(start);
    s.executable = TENON_TRY(engine::compile(std::move(file.graph),
                                             *TENON_TRY(engine::backend_named(options.backend)),
                                             options.compile, &s.compile));
    s.compile_seconds = s.compile.seconds;
  }
  if (s.format == "bundle") s.load_seconds = seconds_since(start);
  for (const Value* v : s.executable->graph().inputs()) s.input_names.push_back(v->name());
  s.output_names = s.executable->graph().output_names();
  return s;
}

Result<Measurement> measure(const Executable& executable, const Datums& inputs, ThreadPool& pool,
                            double seconds, int warmup) {
  Measurement m;
  const auto first = Clock::now();
  TENON_TRY(executable.run(inputs, pool));
  m.first_ms = seconds_since(first) * 1e3;
  for (int i = 1; i < warmup; ++i) TENON_TRY(executable.run(inputs, pool));
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < 3 || seconds_since(start) < seconds) {
    TENON_TRY(check_interrupt());
    const auto begin = Clock::now();
    TENON_TRY(executable.run(inputs, pool));
    times.push_back(seconds_since(begin) * 1e3);
  }
  std::sort(times.begin(), times.end());
  m.iterations = static_cast<int>(times.size());
  m.min_ms = times.front();
  m.median_ms = quantile(times, 0.5);
  m.p90_ms = quantile(times, 0.9);
  m.p99_ms = quantile(times, 0.99);
  return m;
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tenon::migrate
