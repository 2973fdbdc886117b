// Where the tests of this room find their files, and the downloaded inputs that some of them use.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace tenon::dataset {

inline std::filesystem::path testdata(const std::string& name) {
  return std::filesystem::path(TENON_SOURCE_DIR) / "tenon/dataset/testdata" / name;
}

/// The folder of a fetched input (scripts/fetch_inputs.py), or nothing: then a test skips itself.
inline std::optional<std::filesystem::path> fetched(const std::string& input) {
  const char* cache = std::getenv("TENON_CACHE");
  const std::filesystem::path folder =
      std::filesystem::path(cache ? cache : TENON_CACHE_DIR) / "inputs" / input;
  if (!std::filesystem::exists(folder / ".manifest")) return std::nullopt;
  return folder;
}

}  // namespace tenon::dataset
