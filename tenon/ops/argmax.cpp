// argmax(x; axis, keepdims, select_last_index): where the largest element is.
#include "tenon/ops/positions.h"

namespace tenon::ops {

OpPage argmax() {
  OpPage p =
      position_page("argmax",
                    "index of the largest element along `axis`, the first of equal ones or with "
                    "`select_last_index` the last; NaN wins");
  p.eval = [](const EvalCall& e) { return find_extreme(e, true); };
  return p;
}

}  // namespace tenon::ops
