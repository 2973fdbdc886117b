// What a subcommand is: its words, its options, and the function that does its work.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/json.h"
#include "tenon/cli/console.h"

namespace CLI {
class App;
}

namespace tenon::cli {

/// Options that every command takes.
struct CommonOptions {
  int num_threads = 0;     ///< 0: as many as the process may use
  std::uint64_t seed = 0;  ///< of everything random
  std::string backend = "cpu";
  std::string precision = "fp32";
  bool json = false;
  bool verbose = false;
  bool quiet = false;
};

/// What a command answers. `text` goes to stdout for people, `json` instead of it with --json.
/// `yes` false: the answer is no (not equal, not valid, budget missed), and the program exits
/// with 1.
struct Answer {
  Json json;
  std::string text;
  bool yes = true;
};

/// What a running command is given.
class Context {
 public:
  Context(const CommonOptions& common, Console& console, std::FILE* out)
      : options(common), console(console), out_(out) {}

  const CommonOptions& options;
  Console& console;

  /// Writes one line to stdout at once, for commands that answer case by case (`run --batch`). Such
  /// a command returns an Answer with a null `json` and an empty `text`. An error when stdout is
  /// lost.
  Status print_line(const std::string& line);

  /// An error that makes the program exit with 2: options that do not go together.
  Error wrong_usage(std::string message, std::string help);
  bool usage_was_wrong() const { return usage_was_wrong_; }

 private:
  std::FILE* out_;
  bool usage_was_wrong_ = false;
};

using Runner = std::function<Result<Answer>(Context&)>;

/// One subcommand. `declare` adds its own options to the app (the common ones are added for it) and
/// returns the work, which runs after parsing; options live in a shared_ptr that the work captures.
struct Command {
  std::string name;
  std::string summary;                ///< one line, lower case, no period
  std::vector<std::string> examples;  ///< whole command lines, for --help
  Runner (*declare)(CLI::App& app) = nullptr;
  std::vector<Command> children;  ///< `tenon plan simulate`; the parent still works alone
};

/// All commands, in the order of commands.def.
std::vector<Command> all_commands();

}  // namespace tenon::cli
