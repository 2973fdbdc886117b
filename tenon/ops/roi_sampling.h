// roi_align as gathers and arithmetic, from which its gradient follows.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// The decomposition of roi_align. Its gradient in the regions is that of the sample positions; the
/// number of samples of an adaptive grid counts as constant.
Values roi_align_by_gathers(B g, const Call& c);

}  // namespace tenon::ops
