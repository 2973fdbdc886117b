// random_uniform_like(x, key; dtype, seed): numbers drawn by counter, as many as x has.
#include "tenon/ops/random_draws.h"

namespace tenon::ops {

OpPage random_uniform_like() {
  return draw_like("random_uniform_like", "numbers of x's shape, evenly spread over [low, high)",
                   Distribution::uniform);
}

}  // namespace tenon::ops
