// Runs a fuzzer's entry point over files and over damaged copies of them: the everyday form of
// fuzzing.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/entry.h"

namespace {

constexpr double kMaxSeconds = 5;  // for one input: a parser that takes longer is not bounded
constexpr std::size_t kCuts = 16;

std::vector<std::uint8_t> current;  // the input that runs now, for the handler below

/// Leaves the input that the process dies of in the working folder, to be kept in the corpus.
extern "C" void keep_crash(int signal) {
  const int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data(), current.size()) >= 0) close(file);
  constexpr char text[] = "the input is in crash-input\n";
  [[maybe_unused]] const auto said = write(STDERR_FILENO, text, sizeof text - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Runs one input from a heap block of its exact size, so that reading past it is seen.
bool run(const std::string& input, const std::string& what) {
  current = std::vector<std::uint8_t>(input.begin(), input.end());
  const auto start = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(current.data(), current.size());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took.count() > kMaxSeconds) fmt::print("{}: {:.1f} s\n", what, took.count());
  return took.count() <= kMaxSeconds;
}

/// The file cut at even places, and with single bytes changed at places and to values from a fixed
/// sequence (numerical recipes' generator), the same every time.
bool run_damaged(const std::string& input, const std::string& name, std::size_t num_changes) {
  bool fine = true;
  for (std::size_t i = 0; i < kCuts; ++i) {
    fine &= run(input.substr(0, input.size() * i / kCuts), name + " cut");
  }
  std::uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (std::size_t i = 0; i < num_changes && !input.empty(); ++i) {
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
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, keep_crash);
  std::size_t num_changes = 64;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--changes" && i + 1 < argc) {
      num_changes = std::stoul(argv[++i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  bool fine = !files.empty() && run("", "empty");
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(file)), {});
    fine = run(input, path.string()) && run_damaged(input, path.string(), num_changes) && fine;
  }
  fmt::print("{} files, each whole and in {} damaged copies\n", files.size(), kCuts + num_changes);
  return fine ? 0 : 1;
}
