// Event forms by the "Trace Event Format" document: ph X span, i instant, C counter, s/f arrow, M
// name.
#include "tenon/base/trace.h"

#include <algorithm>
#include <limits>

#include "tenon/base/file.h"

namespace tenon {
namespace {

constexpr double kFirst =
    -std::numeric_limits<double>::infinity();  // names stand before all events

}  // namespace

void TraceWriter::add(double time_us, Json event) {
  std::lock_guard lock(mutex_);
  events_.push_back({time_us, std::move(event)});
}

void TraceWriter::span(std::string_view name, std::string_view category, int process, int thread,
                       double start_us, double duration_us, Json arguments) {
  Json e = {{"ph", "X"},     {"name", name},   {"cat", category},   {"pid", process},
            {"tid", thread}, {"ts", start_us}, {"dur", duration_us}};
  if (!arguments.is_null()) e["args"] = std::move(arguments);
  add(start_us, std::move(e));
}

void TraceWriter::instant(std::string_view name, int process, int thread, double time_us) {
  add(time_us, {{"ph", "i"},
                {"s", "t"},
                {"name", name},
                {"pid", process},
                {"tid", thread},
                {"ts", time_us}});
}

void TraceWriter::counter(std::string_view name, int process, double time_us, double value) {
  add(time_us, {{"ph", "C"},
                {"name", name},
                {"pid", process},
                {"ts", time_us},
                {"args", {{"value", value}}}});
}

void TraceWriter::arrow(std::uint64_t id, int from_process, int from_thread, double from_us,
                        int to_process, int to_thread, double to_us) {
  add(from_us, {{"ph", "s"},
                {"name", "flow"},
                {"cat", "flow"},
                {"id", id},
                {"pid", from_process},
                {"tid", from_thread},
                {"ts", from_us}});
  add(to_us, {{"ph", "f"},
              {"bp", "e"},
              {"name", "flow"},
              {"cat", "flow"},
              {"id", id},
              {"pid", to_process},
              {"tid", to_thread},
              {"ts", to_us}});
}

void TraceWriter::name_process(int process, std::string_view name) {
  add(kFirst,
      {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}});
}

void TraceWriter::name_thread(int process, int thread, std::string_view name) {
  add(kFirst, {{"ph", "M"},
               {"name", "thread_name"},
               {"pid", process},
               {"tid", thread},
               {"args", {{"name", name}}}});
}

std::string TraceWriter::text() const {
  std::lock_guard lock(mutex_);
  std::vector<const Event*> sorted;
  for (const Event& e : events_) sorted.push_back(&e);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Event* a, const Event* b) { return a->time_us < b->time_us; });
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  for (const Event* e : sorted) out += (e == sorted.front() ? "\n" : ",\n") + write_json(e->json);
  return out + "\n]}\n";
}

Status TraceWriter::write(const std::filesystem::path& path) const {
  return write_file_atomic(path, text());
}

}  // namespace tenon
