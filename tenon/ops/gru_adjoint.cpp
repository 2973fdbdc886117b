// gru_adjoint: what the inputs of gru get back.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {

OpPage gru_adjoint() {
  OpPage p = recurrent_adjoint(CellKind::gru, "gru_adjoint",
                               "gradients of gru's inputs (those present, sequence_lens left out) "
                               "from those of its outputs (each may be absent)");
  p.samples = {
      sample({{3, 2, 3}, {1, 6, 3}, {1, 6, 2}, {1, 12}, {2}, {1, 2, 2}, {3, 1, 2, 2}, {1, 2, 2}})
          .given(4, Tensor::vector<std::int32_t>({3, 2})),
      sample({{2, 2, 3}, {1, 6, 3}, {1, 6, 2}, {1}, {1}, {1}, {2, 1, 2, 2}})
          .absent(3)
          .absent(4)
          .absent(5),
      rejects({{3, 2, 3}, {1, 6, 3}, {1, 7, 2}}, "r.rows is 7 but gates * hidden is 6")};
  return p;
}

}  // namespace tenon::ops
