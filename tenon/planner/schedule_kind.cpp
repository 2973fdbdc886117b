// Names of the pipeline schedules.
#include "tenon/planner/schedule_kind.h"

namespace tenon::planner {
namespace {

constexpr std::string_view kNames[] = {
#define TENON_X(id, text) text,
    TENON_SCHEDULES(TENON_X)
#undef TENON_X
};

}  // namespace

std::string_view name(ScheduleKind kind) { return kNames[static_cast<int>(kind)]; }

std::optional<ScheduleKind> schedule_named(std::string_view text) {
  for (int i = 0; i < kNumSchedules; ++i) {
    if (kNames[i] == text) return static_cast<ScheduleKind>(i);
  }
  return std::nullopt;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  return names;
}

int chunks_per_device(ScheduleKind kind, int virtual_stages) {
  switch (kind) {
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min:
    case ScheduleKind::dualpipe: return 2;
    case ScheduleKind::interleaved: return virtual_stages;
    case ScheduleKind::automatic: return virtual_stages;
    case ScheduleKind::gpipe:
    case ScheduleKind::one_f_one_b:
    case ScheduleKind::zb_h1:
    case ScheduleKind::zb_h2: return 1;
  }
  return 1;
}

}  // namespace tenon::planner
