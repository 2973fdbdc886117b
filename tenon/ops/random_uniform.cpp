// random_uniform(key; shape, dtype, seed): numbers drawn by counter.
#include "tenon/ops/random_draws.h"

namespace tenon::ops {

OpPage random_uniform() {
  return draw_shaped("random_uniform", "numbers of `shape`, evenly spread over [low, high)",
                     Distribution::uniform);
}

}  // namespace tenon::ops
