// reduce_max(x, axes): largest element over axes.
#include "tenon/ops/reductions.h"

namespace tenon::ops {

OpPage reduce_max() {
  return reduce_extreme("reduce_max",
                        "largest element over `axes` (all without them), NaN when one is; over "
                        "nothing it is the least value of the type",
                        true);
}

}  // namespace tenon::ops
