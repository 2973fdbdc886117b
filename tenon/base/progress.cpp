// Terminal control is limited to carriage return and erase-to-end-of-line.
#include "tenon/base/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace tenon {

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) && !(term && std::strcmp(term, "dumb") == 0);
}

bool wants_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal(stream) && !(no_colour && *no_colour);
}

std::string clock_text(double seconds) {
  const auto s = static_cast<long long>(seconds < 0 ? 0 : seconds + 0.5);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{:02}:{:02}", s / 60, s % 60);
}

std::string progress_text(const ProgressEvent& e, double seconds) {
  std::string text(e.task);
  if (e.total > 0) {
    text += fmt::format(" {}/{} {}%", e.done, e.total, e.done * 100 / e.total);
    if (e.done > 0 && e.done < e.total)
      text += fmt::format(" {} left", clock_text(seconds * static_cast<double>(e.total - e.done) /
                                                 static_cast<double>(e.done)));
  } else {
    text += fmt::format(" {}", e.done);
  }
  if (!e.detail.empty()) text += fmt::format("  {}", e.detail);
  return text;
}

ProgressLine::ProgressLine(std::FILE* stream, bool quiet)
    : stream_(stream), active_(!quiet && is_terminal(stream)) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const ProgressEvent& e) {
  if (!active_) return;
  const auto now = Clock::now();
  if (task_ != e.task) {
    task_ = e.task;
    started_ = now;
    last_ = {};
  }
  const bool last = e.total > 0 && e.done >= e.total;
  if (!last && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  fmt::print(stream_, "\r{}\x1b[K",
             progress_text(e, std::chrono::duration<double>(now - started_).count()));
  std::fflush(stream_);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace tenon
