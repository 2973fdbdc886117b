// Iteration time and memory of pipeline schedules in closed form.
//
// p devices, m micro-batches, v chunks a device; S = F + B + W of a device. With equal stages:
//   gpipe         m S + (p-1) S                 + sends 2(p-1)
//   1f1b          m S + (p-1) S                 + sends 2m(p-1)/p + 2(p-2)
//   interleaved   m S + (p-1) S / v             + sends 2pv - p - 2
//   zb-h1         m S + (p-1) (F + B - W)       + sends 4(p-1)
//   zb-h2         m S + (p-1) (F + B - 2W)      + sends 2(p-1)
//   dualpipe      m S + (p/2-1) (F + B - W), F and B not fused
// (arXiv 2104.04473, 2401.10241, 2405.15362, 2412.19437.) With unequal stages the slowest device
// sets the pace and the others are passed once on the way in and out.
#include "tenon/planner/pipeline_time.h"

#include <algorithm>
#include <cmath>

namespace tenon::planner {
namespace {

/// The share of one micro-batch's time that passing device `d` costs in the fill.
double fill_of(ScheduleKind kind, const DeviceTimes& d, int p, int chunks) {
  const double f = d.forward, b = d.backward_input, w = d.backward_weight;
  switch (kind) {
    case ScheduleKind::gpipe:
    case ScheduleKind::one_f_one_b: return f + b + w;
    case ScheduleKind::interleaved: return (f + b + w) / chunks;
    case ScheduleKind::zb_h1: return std::max(0.0, f + b - w);
    case ScheduleKind::zb_h2: return std::max(0.0, f + b - 2 * w);
    // Two chunks a device, placed as a V: half the plain fill for each pass, less what W covers.
    case ScheduleKind::zb_v:
    case ScheduleKind::automatic:  // within 1F1B's memory its best is such a V
      return std::max(0.0, (f + b - 2 * w) / 2);
    case ScheduleKind::v_half: return (f + b + w) / 2;
    case ScheduleKind::v_min:
      // Published as two thirds; with real send times and a heavier last stage it idles more, as
      // the event simulation shows.
      return (f + b + w) * 0.85;
    case ScheduleKind::dualpipe:
      return p < 2 ? 0 : std::max(0.0, (f + b - w) * (p / 2.0 - 1) / (p - 1));
  }
  return f + b + w;
}

/// How many sends stand in the way of an iteration; the others overlap with work.
double sends_of(ScheduleKind kind, double p, double v) {
  switch (kind) {
    case ScheduleKind::gpipe: return 2 * (p - 1);
    case ScheduleKind::one_f_one_b:
      return 2 * (p - 2);  // and those of the steady state, steady_sends()
    case ScheduleKind::interleaved: return 2 * p * v - p - 2;
    case ScheduleKind::zb_h1:
    case ScheduleKind::automatic: return 4 * (p - 1);
    case ScheduleKind::zb_h2: return 2 * (p - 1);
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min: return 4 * (p - 1);
    case ScheduleKind::dualpipe: return 2 * (p - 1);
  }
  return 0;
}

/// Seconds that sends add to each micro-batch of 1F1B's steady state. A device in the middle waits
/// for two messages a micro-batch, 2(p-1)/p on average over the chain, one at an end for one; a
/// device with less work than the slowest waits in time that it has to spare.
double steady_sends(std::span<const DeviceTimes> devices, double slowest, double send) {
  const std::size_t p = devices.size();
  const double both = 2.0 * (double(p) - 1) / double(p);
  double pace = slowest;
  for (std::size_t d = 0; d < p; ++d) {
    const bool end = d == 0 || d + 1 == p;
    const double waits = end ? std::min(1.0, both) : both;
    pace = std::max(pace, devices[d].total() + waits * send);
  }
  return pace - slowest;
}

/// Least seconds of the zero-bubble kinds, which the closed forms fall below when there are too few
/// micro-batches to fill the ramps: the way through all devices and back, with the other
/// micro-batches behind the first. A V passes each device twice, so they follow at half the pace,
/// but all F and B of the innermost device still lie between the ways to it and back.
double ramp_floor(ScheduleKind kind, std::span<const DeviceTimes> devices, double m) {
  double way = 0, before_last = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    way += devices[d].forward + devices[d].backward_input;
    if (d + 1 < devices.size()) before_last = way;
  }
  const DeviceTimes& last = devices.back();
  const double follow = last.forward + last.backward_input, w = devices.front().backward_weight;
  switch (kind) {
    case ScheduleKind::zb_h1:
    case ScheduleKind::zb_h2: return way + (m - 1) * follow + w;
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min:
    case ScheduleKind::automatic:
      return std::max(way + (m - 1) *
                                std::max(devices.front().forward, devices.front().backward_input) /
                                2,
                      before_last / 2 + m * follow) +
             w / 2;
    case ScheduleKind::gpipe:
    case ScheduleKind::one_f_one_b:
    case ScheduleKind::interleaved:
    case ScheduleKind::dualpipe: return 0;
  }
  return 0;
}

}  // namespace

PipelineTime pipeline_time(ScheduleKind kind, std::span<const DeviceTimes> devices,
                           std::int64_t micro_batches, int chunks, double send) {
  const int p = static_cast<int>(devices.size());
  const double m = static_cast<double>(micro_batches);
  double slowest = 0, fill = 0, slowest_fill = 0;
  for (const DeviceTimes& d : devices) {
    const double share = fill_of(kind, d, p, chunks);
    fill += share;
    if (d.total() > slowest) slowest = d.total(), slowest_fill = share;
  }
  PipelineTime time;
  time.busy_seconds = m * slowest;
  if (p > 1) {
    time.fill_seconds =
        std::max(fill - slowest_fill, ramp_floor(kind, devices, m) - time.busy_seconds);
    if (kind == ScheduleKind::v_min) {
      // Two thirds of p micro-batches circulate: they come round no faster than that.
      const DeviceTimes& middle = devices[devices.size() / 2];
      time.fill_seconds +=
          m * std::max(0.0, 1.5 * (middle.forward + middle.backward_input) - slowest);
    }
    time.send_seconds = std::max(0.0, sends_of(kind, p, chunks)) * send;
    if (kind == ScheduleKind::one_f_one_b) {
      time.send_seconds += m * steady_sends(devices, slowest, send);
    }
  }
  time.seconds = time.busy_seconds + time.fill_seconds + time.send_seconds;
  return time;
}

double micro_batches_in_flight(ScheduleKind kind, int d, int p, std::int64_t micro_batches,
                               int chunks, double weight_share) {
  const double m = static_cast<double>(micro_batches), behind = p - d;
  switch (kind) {
    case ScheduleKind::gpipe: return m;
    case ScheduleKind::one_f_one_b: return std::min(m, behind);
    case ScheduleKind::interleaved: {
      const double in_chunks = 2.0 * (behind - 1) + (chunks - 1.0) * p + 1;
      return std::min(m, in_chunks / chunks);
    }
    case ScheduleKind::zb_h1: return std::min(m, behind + d * weight_share);
    case ScheduleKind::zb_h2: return std::min(m, 2.0 * behind - 1 + 2 * d * weight_share);
    case ScheduleKind::zb_v:
    case ScheduleKind::automatic:  // is given 1F1B's memory on every device
      return std::min<double>(m, p);
    case ScheduleKind::v_half: return std::min(m, p / 2.0 + 1);
    case ScheduleKind::v_min: return std::min(m, p / 3.0 + 1.5);
    case ScheduleKind::dualpipe: return std::min(m, p + 1.0);
  }
  return m;
}

}  // namespace tenon::planner
