// Shared by cumsum and cumprod: results of a fold up to each element of an axis.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// The axis in input 1, or nullopt when it is computed at run time.
Result<std::optional<int>> scanned_axis(const Call& c);
/// acc = step(acc, element) along the axis, from its end with `reverse`; `exclusive` leaves out the
/// element itself.
Result<Datums> scan(const EvalCall& e, std::int64_t start, double (*step)(double, double),
                    std::int64_t (*integer_step)(std::int64_t, std::int64_t));
/// A scan page without meaning and gradient.
OpPage scan_page(std::string_view name, std::string_view doc);

}  // namespace tenon::ops
