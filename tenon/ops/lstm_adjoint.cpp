// lstm_adjoint: what the inputs of lstm get back.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {

OpPage lstm_adjoint() {
  OpPage p = recurrent_adjoint(CellKind::lstm, "lstm_adjoint",
                               "gradients of lstm's inputs (those present, sequence_lens left out) "
                               "from those of its outputs (each may be absent)");
  p.samples = {sample({{3, 2, 3},
                       {1, 8, 3},
                       {1, 8, 2},
                       {1, 16},
                       {2},
                       {1, 2, 2},
                       {1, 2, 2},
                       {1, 6},
                       {3, 1, 2, 2},
                       {1, 2, 2},
                       {1, 2, 2}})
                   .given(4, Tensor::vector<std::int32_t>({3, 2})),
               sample({{2, 2, 3}, {1, 8, 3}, {1, 8, 2}, {1}, {1}, {1}, {1}, {1}, {2, 1, 2, 2}})
                   .absent(3)
                   .absent(4)
                   .absent(5)
                   .absent(6)
                   .absent(7),
               rejects({{3, 2, 3}, {1, 8, 3}, {1, 9, 2}}, "r.rows is 9 but gates * hidden is 8")};
  return p;
}

}  // namespace tenon::ops
