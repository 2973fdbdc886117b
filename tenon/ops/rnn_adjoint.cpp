// rnn_adjoint: what the inputs of rnn get back.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {

OpPage rnn_adjoint() {
  OpPage p = recurrent_adjoint(CellKind::rnn, "rnn_adjoint",
                               "gradients of rnn's inputs (those present, sequence_lens left out) "
                               "from those of its outputs (each may be absent)");
  p.samples = {
      sample({{3, 2, 3}, {1, 2, 3}, {1, 2, 2}, {1, 4}, {2}, {1, 2, 2}, {3, 1, 2, 2}, {1, 2, 2}})
          .given(4, Tensor::vector<std::int32_t>({3, 2})),
      sample({{2, 2, 3}, {1, 2, 3}, {1, 2, 2}, {1}, {1}, {1}, {2, 1, 2, 2}})
          .absent(3)
          .absent(4)
          .absent(5),
      rejects({{3, 2, 3}, {1, 2, 3}, {1, 3, 2}}, "r.rows is 3 but gates * hidden is 2")};
  return p;
}

}  // namespace tenon::ops
