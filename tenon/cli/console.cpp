#include "tenon/cli/console.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace tenon::cli {
namespace {

/// NO_COLOR counts when it is set and not empty (no-color convention).
bool colour_forbidden() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour && *no_colour) || (terminal && std::strcmp(terminal, "dumb") == 0);
}

std::string_view colour_of(std::string_view label) {
  if (label == "error:") return "\033[1;31m";
  if (label == "warning:") return "\033[1;33m";
  return "\033[1;36m";
}

}  // namespace

bool may_colour(std::FILE* stream) {
  const int descriptor = fileno(stream);
  return descriptor >= 0 && isatty(descriptor) && !colour_forbidden();
}

void Console::note(std::string_view text) {
  if (quiet_) return;
  clear_progress();
  fmt::print(err_, "{}\n", text);
}

void Console::detail(std::string_view text) {
  if (verbose_) note(text);
}

void Console::warn(std::string_view text) { labelled("warning:", text); }

void Console::progress(std::string_view text) {
  const int descriptor = fileno(err_);
  if (quiet_ || descriptor < 0 || !isatty(descriptor)) return;
  fmt::print(err_, "\r\033[K{}", text);
  std::fflush(err_);
  has_progress_ = true;
}

void Console::clear_progress() {
  if (!has_progress_) return;
  fmt::print(err_, "\r\033[K");
  std::fflush(err_);
  has_progress_ = false;
}

void Console::labelled(std::string_view label, std::string_view text) {
  clear_progress();
  if (colour_) {
    fmt::print(err_, "{}{}\033[0m {}\n", colour_of(label), label, text);
  } else {
    fmt::print(err_, "{} {}\n", label, text);
  }
}

}  // namespace tenon::cli
