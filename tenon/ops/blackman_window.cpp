// blackman_window(size; periodic, dtype): a sum of two cosines that touches zero at its ends.
#include "tenon/ops/tapers.h"

namespace tenon::ops {

OpPage blackman_window() {
  return taper("blackman_window",
               "w[n] = 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N), n < size; N is size if "
               "periodic, else size - 1",
               {0.42, -0.5, 0.08});
}

}  // namespace tenon::ops
