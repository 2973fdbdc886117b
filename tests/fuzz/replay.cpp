// Runs a fuzzer's entry point over files and over damaged copies of them: the everyday form of
// fuzzing.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/entry.h"

namespace {

constexpr double kMaxSeconds = 5;  // for one input: a parser that takes longer is not bounded
constexpr std::size_t kCuts = 16, kChanges = 64;

/// Runs one input from a heap block of its exact size, so that reading past it is seen.
bool run(const std::string& input, const std::string& what) {
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  const auto start = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took.count() > kMaxSeconds) fmt::print("{}: {:.1f} s\n", what, took.count());
  return took.count() <= kMaxSeconds;
}

/// The file cut at even places, and with single bytes changed at places and to values from a fixed
/// sequence (numerical recipes' generator), the same every time.
bool run_damaged(const std::string& input, const std::string& name) {
  bool fine = true;
  for (std::size_t i = 0; i < kCuts; ++i) {
    fine &= run(input.substr(0, input.size() * i / kCuts), name + " cut");
  }
  std::uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (std::size_t i = 0; i < kChanges && !input.empty(); ++i) {
    std::string changed = input;
    // Headers stand in front: half of the changes go there.
    const std::size_t reach = i % 2 ? changed.size() : std::min<std::size_t>(changed.size(), 256);
    changed[next() % reach] = static_cast<char>(next());
    fine &= run(changed, name + " changed");
  }
  return fine;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  bool fine = !files.empty() && run("", "empty");
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(file)), {});
    fine = run(input, path.string()) && run_damaged(input, path.string()) && fine;
  }
  fmt::print("{} files, each whole and in {} damaged copies\n", files.size(), kCuts + kChanges);
  return fine ? 0 : 1;
}
