#include "tenon/cli/command.h"

namespace tenon::cli {

#define TENON_COMMAND(name) Command name##_command();
#include "tenon/cli/commands.def"
#undef TENON_COMMAND

std::vector<Command> all_commands() {
  return {
#define TENON_COMMAND(name) name##_command(),
#include "tenon/cli/commands.def"
#undef TENON_COMMAND
  };
}

Status Context::print_line(const std::string& line) {
  std::fprintf(out_, "%s\n", line.c_str());
  if (std::fflush(out_) != 0) return io_error("cannot write to standard output");
  return {};
}

Error Context::wrong_usage(std::string message, std::string help) {
  usage_was_wrong_ = true;
  return invalid("{}", message).with_help(help);
}

}  // namespace tenon::cli
