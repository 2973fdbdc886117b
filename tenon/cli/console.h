// The way to stderr: progress, notes and warnings, so that stdout holds results only.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tenon::cli {

/// Whether text for this stream may be coloured: a terminal, and NO_COLOR not set.
bool may_colour(std::FILE* stream);

class Console {
 public:
  explicit Console(std::FILE* err) : err_(err), colour_(may_colour(err)) {}
  ~Console() { clear_progress(); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void set_quiet(bool quiet) { quiet_ = quiet; }
  void set_verbose(bool verbose) { verbose_ = verbose; }

  /// A line about what is going on; silent with --quiet.
  void note(std::string_view text);
  /// A line that only --verbose shows.
  void detail(std::string_view text);
  /// `warning: text`, always shown.
  void warn(std::string_view text);
  /// A line that the next one replaces. Only on a terminal, so logs stay free of it.
  void progress(std::string_view text);
  void clear_progress();
  /// A line as it is; `label` (such as "error:") in bold and in the colour of its kind.
  void labelled(std::string_view label, std::string_view text);

 private:
  std::FILE* err_;
  bool colour_;
  bool quiet_ = false;
  bool verbose_ = false;
  bool has_progress_ = false;
};

}  // namespace tenon::cli
