// hann_window(size; periodic, dtype): a cosine raised to touch zero at its ends.
#include "tenon/ops/tapers.h"

namespace tenon::ops {

OpPage hann_window() {
  return taper("hann_window",
               "w[n] = 1/2 - 1/2 cos(2 pi n / N), n < size; N is size if periodic, else size - 1",
               {0.5, -0.5});
}

}  // namespace tenon::ops
