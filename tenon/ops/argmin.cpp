// argmin(x; axis, keepdims, select_last_index): where the least element is.
#include "tenon/ops/positions.h"

namespace tenon::ops {

OpPage argmin() {
  OpPage p =
      position_page("argmin",
                    "index of the least element along `axis`, the first of equal ones or with "
                    "`select_last_index` the last; NaN wins");
  p.eval = [](const EvalCall& e) { return find_extreme(e, false); };
  return p;
}

}  // namespace tenon::ops
