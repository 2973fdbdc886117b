// A model ready to run, whatever it was: compiled from its graph, or opened from a bundle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/migrate/bundle.h"
#include "tenon/migrate/model_file.h"

namespace tenon::migrate {

struct SessionOptions {
  std::string backend = "cpu";
  engine::CompileOptions compile;
  OpenOptions open;
  bool recompile = false;  // of a bundle
};

struct Session {
  std::string format;  // "onnx", "tenon-text", "bundle"
  std::unique_ptr<Executable> executable;
  std::vector<std::string> input_names, output_names;
  engine::CompileReport compile;  // of a model that was compiled now
  std::vector<std::string> notes;
  double load_seconds = 0, compile_seconds = 0;
  std::filesystem::path bundle;  // empty unless it is one
};

/// Opens and, where needed, compiles.
Result<Session> open_session(const std::filesystem::path& path, const SessionOptions& options = {});

/// Latencies of repeated runs.
struct Measurement {
  double min_ms = 0, median_ms = 0, p90_ms = 0, p99_ms = 0;
  int iterations = 0;
  double first_ms = 0;  // the run that made the plan
};

/// Runs for about `seconds` after `warmup` runs; at least 3 measured runs.
Result<Measurement> measure(const Executable& executable, const Datums& inputs, ThreadPool& pool,
                            double seconds, int warmup);

/// Peak resident memory of this process so far, in bytes.
std::int64_t peak_resident_bytes();

}  // namespace tenon::migrate
