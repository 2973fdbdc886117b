// random_normal(key; shape, dtype, seed): numbers drawn by counter.
#include "tenon/ops/random_draws.h"

namespace tenon::ops {

OpPage random_normal() {
  return draw_shaped(
      "random_normal",
      "numbers of `shape`, normally distributed, with a mean and a standard deviation (scale)",
      Distribution::normal);
}

}  // namespace tenon::ops
