#include "tenon/planner/pipeline/closed_forms.h"

namespace tenon::planner {

std::optional<double> closed_form_iteration(ScheduleKind kind, int p, int m, int v,
                                            const StageTimes& stage) {
  const double all = stage.work(), f = stage.forward, b = stage.backward_input;
  const double w = stage.backward_weight, send = stage.send;
  switch (kind) {
    case ScheduleKind::gpipe: return (m + p - 1) * all + 2 * (p - 1) * send;
    case ScheduleKind::one_f_one_b:
      // p micro-batches circulate, and each round trip has 2(p-1) sends.
      return (m + p - 1) * all + (2.0 * m * (p - 1) / p + 2 * (p - 2)) * send;
    case ScheduleKind::interleaved: return m * all + (p - 1) * all / v + (2 * p * v - p - 2) * send;
    case ScheduleKind::zb_h1: return m * all + (p - 1) * (f + b - w) + 4 * (p - 1) * send;
    case ScheduleKind::zb_h2: return m * all + (p - 1) * (f + b - 2 * w) + 2 * (p - 1) * send;
    case ScheduleKind::dualpipe:
      // The published idle time, (p/2 - 1) (F&B + B + W - 3W), is that of F and B fused to one op
      // F&B. Here F's result leaves before the backward that follows it, which saves B for each
      // step.
      if (send > 0) return std::nullopt;
      return m * all + (p / 2 - 1) * (f + b - w);
    case ScheduleKind::zb_v:
    case ScheduleKind::v_half:
    case ScheduleKind::v_min:
    case ScheduleKind::automatic: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tenon::planner
