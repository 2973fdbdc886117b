// The folder of a run: train.toml as resolved, metrics.jsonl, event files, curves.html,
// checkpoints.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/train/events.h"

namespace tenon::train {

class RunFolder {
 public:
  /// Makes the folder with `config` as train.toml. A folder that holds a run already is refused.
  static Result<std::unique_ptr<RunFolder>> create(const std::filesystem::path& path,
                                                   const Json& config);
  /// Opens the folder of a run to go on after `step`: what was written about later steps goes.
  static Result<std::unique_ptr<RunFolder>> reopen(const std::filesystem::path& path,
                                                   std::int64_t step);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  /// One line of metrics.jsonl and one event with the numbers of `record`, which has `step`. Keys
  /// "test_..." are measures of an evaluation.
  Status record(const Json& record);
  /// Rewrites curves.html from all of metrics.jsonl.
  Status write_curves() const;
  /// Keeps the newest `keep` checkpoints, and removes what interrupted writing left behind.
  Status prune(std::int64_t keep) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  Status open();
  std::filesystem::path path_;
  std::FILE* metrics_ = nullptr;
  std::unique_ptr<EventWriter> events_;
};

/// The page with the curves of `records`, lines of metrics.jsonl in order.
std::string curves_page(const std::string& title, const std::vector<Json>& records);

}  // namespace tenon::train
