// A schedule for people: time runs to the right, one line a device.
#pragma once

#include <string>
#include <vector>

#include "tenon/planner/pipeline/timing.h"

namespace tenon::planner {

/// One line a device: `columns` slices of the wall time, each the letter of what the device does
/// for the most of it (f and b for ops of a second or later chunk, '.' for nothing), its idle share
/// and its peak of activations.
std::string picture(const Schedule& schedule, const ScheduleTiming& timing,
                    const std::vector<double>& peaks, int columns = 96);

/// The same as an SVG element: runs of slices with the same work become one box.
std::string timeline_svg(const Schedule& schedule, const ScheduleTiming& timing, int columns = 700);

}  // namespace tenon::planner
