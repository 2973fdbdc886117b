// What a launch script runs: its last training command as words, variables replaced.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::planner {

struct ShellWord {
  std::string text;
  int line = 0;
};

/// A command that starts training, cut at its script or module.
struct LaunchCommand {
  std::vector<ShellWord> launcher;  ///< torchrun and its options, or empty
  std::vector<ShellWord> arguments;
};

/// Reads assignments, arrays, quotes, continuation lines, `${NAME:-default}` and `$((...))` of
/// small whole numbers; a variable that the script does not set stays as "$NAME". The command is
/// the one that runs a .py file or a module; a file without one is taken as a list of arguments.
Result<LaunchCommand> read_launch_script(std::string_view text, std::string_view where);

}  // namespace tenon::planner
