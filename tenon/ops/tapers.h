// Shared by the window pages: sums of cosines over one period.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// w[n] = sum over k of weights[k] cos(2 pi k n / N), n < size: N is size when `periodic`, else
/// size - 1, so that both ends are equal. Computed in double and rounded once.
OpPage taper(std::string_view name, std::string_view doc, std::vector<double> weights);

}  // namespace tenon::ops
