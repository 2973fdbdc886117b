// Diagnostic lines on stderr, by channel and level; silent unless TENON_LOG asks for them.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace tenon {

/// Whether the environment variable TENON_LOG ("passes:2,runtime:1"; "all:1" for every channel)
/// lets lines of `channel` at `level` through. Level 1 is events of a run, 2 their reasons, 3
/// everything.
bool log_enabled(std::string_view channel, int level);
/// Writes one line "channel: text" to stderr, whole even when threads write at once.
void log_line(std::string_view channel, std::string_view text);
/// Replaces what TENON_LOG said, for `--verbose` and tests. Not to be called while other threads
/// log.
void set_log_channels(std::string_view channels);

/// The arguments are not evaluated when the channel is silent.
#define TENON_LOG(channel, level, ...)                        \
  do {                                                        \
    if (::tenon::log_enabled(channel, level)) [[unlikely]]    \
      ::tenon::log_line(channel, ::fmt::format(__VA_ARGS__)); \
  } while (false)

}  // namespace tenon
