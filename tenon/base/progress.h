// Progress of long work: a line redrawn on a terminal, and nothing anywhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace tenon {

/// How far a piece of work is. `total` 0 means unknown.
struct ProgressEvent {
  std::string_view task;
  std::int64_t done = 0, total = 0;
  std::string_view detail;
};
/// What long work takes to report its progress to; empty for silence.
using ProgressSink = std::function<void(const ProgressEvent&)>;

/// Whether `stream` is a terminal that takes control sequences, and whether colour is wanted there
/// (NO_COLOR unset, TERM not "dumb").
bool is_terminal(std::FILE* stream);
bool wants_colour(std::FILE* stream);

/// Draws events as one line "task 12/40 30% 00:05 left  detail" on a terminal, at most ten times a
/// second; on anything that is no terminal it writes nothing. Not for use by several threads at
/// once.
class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* stream = stderr, bool quiet = false);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const ProgressEvent& event);
  /// Removes the line, so that ordinary text can follow.
  void clear();
  ProgressSink sink() {
    return [this](const ProgressEvent& e) { show(e); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::FILE* stream_;
  bool active_;
  bool drawn_ = false;
  std::string task_;
  Clock::time_point started_, last_;
};

/// The text of an event after `seconds` of work.
std::string progress_text(const ProgressEvent& event, double seconds);
/// "1:02:03" or "02:03".
std::string clock_text(double seconds);

}  // namespace tenon
