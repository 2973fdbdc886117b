// random_normal_like(x, key; dtype, seed): numbers drawn by counter, as many as x has.
#include "tenon/ops/random_draws.h"

namespace tenon::ops {

OpPage random_normal_like() {
  return draw_like(
      "random_normal_like",
      "numbers of x's shape, normally distributed, with a mean and a standard deviation (scale)",
      Distribution::normal);
}

}  // namespace tenon::ops
