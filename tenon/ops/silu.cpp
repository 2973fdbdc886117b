// silu(x; alpha): x gated by its sigmoid.
#include "tenon/ops/gates.h"

namespace tenon::ops {

OpPage silu() { return sigmoid_gate("silu", "y = x * sigmoid(alpha x), also named swish", 1.0); }

}  // namespace tenon::ops
