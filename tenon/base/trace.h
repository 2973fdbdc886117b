// Time lines in the Trace Event format, which Perfetto and Chrome's tracing page open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/json.h"

namespace tenon {

/// Collects events; adding is safe from several threads. Times are in microseconds from any common
/// zero: a real clock's or a simulator's. `process` and `thread` are rows of the picture.
class TraceWriter {
 public:
  /// A piece of work on a row; `arguments` (an object or null) is shown when it is selected.
  void span(std::string_view name, std::string_view category, int process, int thread,
            double start_us, double duration_us, Json arguments = nullptr);
  /// A moment.
  void instant(std::string_view name, int process, int thread, double time_us);
  /// The value of a curve from this time on.
  void counter(std::string_view name, int process, double time_us, double value);
  /// An arrow from one span to another, by a number that the two ends share.
  void arrow(std::uint64_t id, int from_process, int from_thread, double from_us, int to_process,
             int to_thread, double to_us);
  void name_process(int process, std::string_view name);
  void name_thread(int process, int thread, std::string_view name);

  /// {"displayTimeUnit": "ms", "traceEvents": [...]}, events in the order of their times.
  std::string text() const;
  Status write(const std::filesystem::path& path) const;

 private:
  void add(double time_us, Json event);
  struct Event {
    double time_us;
    Json json;
  };
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace tenon
