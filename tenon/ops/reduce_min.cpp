// reduce_min(x, axes): least element over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {

OpPage reduce_min() {
  return reduce_extreme("reduce_min",
                        "least element over `axes` (all without them), NaN when one is; over "
                        "nothing it is the largest value of the type",
                        false);
}

}  // namespace tenon::ops
