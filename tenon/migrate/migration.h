// One migration: a model compiled, compared with the original, timed beside its peers, reported.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tenon/migrate/comparison.h"
#include "tenon/migrate/fusion_report.h"
#include "tenon/migrate/peers.h"
#include "tenon/migrate/session.h"

namespace tenon::migrate {

struct MigrateOptions {
  std::string target = "cpu";
  std::string precision = "fp32";
  std::map<std::string, Dims> shapes;
  std::filesystem::path recipe;  // goes into the bundle
  int threads = 1;
  std::uint64_t seed = 0;
  double seconds = 1;    // of each measurement
  bool compares = true;  // accuracy and speed against peers
};

/// What a migration found; the bundle is written.
struct Migration {
  std::string model;
  engine::CompileReport compile;
  std::map<std::string, int> operators_before;
  std::vector<Fusion> fusions;
  std::optional<Comparison> accuracy;
  std::string accuracy_missing;  // why there is no comparison
  Measurement latency;
  std::vector<PeerBench> peers;
  std::vector<std::string> missing_peers;  // "openvino: no Python environment ..."
  MemoryUse memory;
  std::string memory_missing;
  std::int64_t peak_memory_bytes = 0;
  double seconds = 0;
  std::filesystem::path bundle;
  std::vector<std::string> notes;

  Json json() const;
  /// The report for a terminal.
  std::string text() const;
  /// The report as a self-contained page.
  std::string html() const;
};

/// Migrates `model` into the bundle `folder`. `progress` gets a line for each stage.
Result<Migration> migrate_model(const std::filesystem::path& model,
                                const std::filesystem::path& folder, const MigrateOptions& options,
                                const std::function<void(std::string_view)>& progress);

}  // namespace tenon::migrate
