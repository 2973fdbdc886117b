// The whole program as a function, so that tests can run it.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tenon/cli/command.h"

namespace tenon::cli {

/// Exit codes, as every command keeps them.
enum class Exit : int {
  done = 0,
  answer_is_no = 1,
  wrong_usage = 2,
  bad_input = 3,
  environment = 4,
  interrupted = 130,
};

Exit exit_of(Code code);

/// Parses `arguments` (without the program's name), runs the command and prints: the answer to
/// `out`, everything else to `err`.
int run_program(const std::vector<std::string>& arguments, const std::vector<Command>& commands,
                std::FILE* out, std::FILE* err);

}  // namespace tenon::cli
