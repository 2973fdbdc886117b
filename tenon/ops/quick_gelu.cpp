// quick_gelu(x; alpha): x gated by a sigmoid near the normal distribution.
#include "tenon/ops/gates.h"

namespace tenon::ops {

OpPage quick_gelu() { return sigmoid_gate("quick_gelu", "y = x * sigmoid(alpha x)", 1.702); }

}  // namespace tenon::ops
