// rnn_adjoint: what the inputs of rnn get back.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {
namespace {

// Sequences of a batch are independent, and what weights get is a sum over them.
Result<Factors> sharding(const Call& c) {
  Factors f = TENON_TRY(sharding_recurrent(c, CellKind::rnn));
  const std::vector<std::vector<std::string>> ys = f.outputs;
  const int own = num_recurrent_inputs(CellKind::rnn);
  for (int i = own; i < c.num_inputs(); ++i)
    f.inputs[static_cast<std::size_t>(i)] =
        c.has(i) ? ys[static_cast<std::size_t>(i - own)] : std::vector<std::string>{};
  f.outputs.clear();
  for (int i = 0; i < own; ++i)
    if (c.has(i) && i != 4) f.outputs.push_back(f.inputs[static_cast<std::size_t>(i)]);
  return f;
}

}  // namespace

OpPage rnn_adjoint() {
  OpPage p = recurrent_adjoint(CellKind::rnn, "rnn_adjoint",
                               "gradients of rnn's inputs (those present, sequence_lens left out) "
                               "from those of its outputs (each may be absent)");
  p.sharding = sharding;
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
