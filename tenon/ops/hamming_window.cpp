// hamming_window(size; periodic, dtype): a raised cosine whose ends stay above zero.
#include "tenon/ops/tapers.h"

namespace tenon::ops {

OpPage hamming_window() {
  return taper(
      "hamming_window",
      "w[n] = 25/46 - 21/46 cos(2 pi n / N), n < size; N is size if periodic, else size - 1",
      {25.0 / 46, -21.0 / 46});
}

}  // namespace tenon::ops
