// The pipeline schedules by name, as plans and the command line write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::planner {

#define TENON_SCHEDULES(X)      \
  X(gpipe, "gpipe")             \
  X(one_f_one_b, "1f1b")        \
  X(interleaved, "interleaved") \
  X(zb_h1, "zb-h1")             \
  X(zb_h2, "zb-h2")             \
  X(zb_v, "zb-v")               \
  X(v_half, "v-half")           \
  X(v_min, "v-min")             \
  X(dualpipe, "dualpipe")       \
  X(automatic, "auto")

enum class ScheduleKind {
#define TENON_X(id, text) id,
  TENON_SCHEDULES(TENON_X)
#undef TENON_X
};
inline constexpr int kNumSchedules = static_cast<int>(ScheduleKind::automatic) + 1;

/// The stable name ("1f1b").
std::string_view name(ScheduleKind kind);
std::optional<ScheduleKind> schedule_named(std::string_view text);
/// All names in enum order.
const std::vector<std::string>& schedule_names();
/// Chunks of layers a device holds under `kind`: 2 for the V-shaped ones, `virtual_stages` for
/// interleaved, else 1.
int chunks_per_device(ScheduleKind kind, int virtual_stages);

}  // namespace tenon::planner
