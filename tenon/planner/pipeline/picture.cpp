#include "tenon/planner/pipeline/picture.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::planner {
namespace {

char letter(const ScheduledOp& op) {
  const bool later = op.chunk > 0;
  switch (op.phase) {
    case Phase::forward: return later ? 'f' : 'F';
    case Phase::backward_input:
    case Phase::backward: return later ? 'b' : 'B';
    case Phase::backward_weight: return later ? 'w' : 'W';
  }
  return '?';
}

// The letter that fills the most of each slice.
std::string line_of(const Schedule& schedule, const ScheduleTiming& timing, int device,
                    double slice, int columns) {
  std::string line(columns, '.');
  std::vector<double> longest(columns, slice / 2);
  const auto& ops = schedule.devices[device];
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const double begin = timing.start[device][i];
    const double end =
        begin + duration(schedule.placement.at(device, ops[i].chunk).times, ops[i].phase);
    const int first = std::min(columns - 1, static_cast<int>(begin / slice));
    const int last = std::min(columns - 1, static_cast<int>(end / slice));
    for (int c = first; c <= last; ++c) {
      const double covered = std::min(end, (c + 1) * slice) - std::max(begin, c * slice);
      if (covered <= longest[c] && !(line[c] == '.' && covered > slice / 3)) continue;
      line[c] = letter(ops[i]);
      longest[c] = covered;
    }
  }
  return line;
}

double work_of(const Schedule& schedule, int device) {
  double work = 0;
  for (const int k : schedule.placement.of_device[device]) {
    const Chunk& chunk = schedule.placement.chunks[k];
    work += chunk.num_micro_batches * chunk.times.work();
  }
  return work;
}

const char* colour(char letter) {
  switch (letter) {
    case 'F': return "#2b6cb0";
    case 'f': return "#63a4e0";
    case 'B': return "#dd6b20";
    case 'b': return "#f6ad55";
    default: return "#48a868";  // W and w
  }
}

}  // namespace

std::string timeline_svg(const Schedule& schedule, const ScheduleTiming& timing, int columns) {
  const int p = schedule.placement.devices(), height = p > 24 ? 6 : 14;
  std::string svg =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\">\n",
                  columns + 40, p * (height + 2), columns + 40);
  for (int d = 0; d < p && timing.wall > 0; ++d) {
    const std::string line = line_of(schedule, timing, d, timing.wall / columns, columns);
    const int y = d * (height + 2);
    if (height > 10)
      svg += fmt::format("<text x=\"0\" y=\"{}\" font-size=\"10\">{}</text>\n", y + 11, d);
    for (int from = 0; from < columns;) {
      int to = from + 1;
      while (to < columns && line[to] == line[from]) ++to;
      if (line[from] != '.') {
        svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                           30 + from, y, to - from, height, colour(line[from]));
      }
      from = to;
    }
  }
  return svg + "</svg>\n";
}

std::string picture(const Schedule& schedule, const ScheduleTiming& timing,
                    const std::vector<double>& peaks, int columns) {
  if (timing.wall <= 0) return {};
  std::string text = fmt::format("{:>6} {:<{}} {:>7} {:>7}\n", "device",
                                 "F forward, B, W gradients, . idle", columns, "idle %", "peak");
  for (int d = 0; d < schedule.placement.devices(); ++d) {
    const double idle = std::max(0.0, 1 - work_of(schedule, d) / timing.makespan);
    text += fmt::format("{:>6} {} {:>7.2f} {:>7.2f}\n", d,
                        line_of(schedule, timing, d, timing.wall / columns, columns), 100 * idle,
                        peaks[d]);
  }
  return text;
}

}  // namespace tenon::planner
