// gru(x, w, r, b, sequence_lens, initial_h): gated recurrent units over sequences.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {

OpPage gru() {
  OpPage p = recurrent_layer(
      CellKind::gru, "gru",
      "z, r = f(W x + R h + b), n = g(W x + R (r * h) + b) or, with linear_before_reset, g(W x "
      "+ wb + r * (R h + rb)), h = (1 - z) * n + z * h; x is [time, batch, in] (layout 1: "
      "[batch, time, in]), y [time, directions, batch, hidden], states [directions, batch, "
      "hidden]; "
      "`clip` bounds what activations see; steps beyond sequence_lens leave the state and give "
      "zeros");
  p.samples = {
      sample({{3, 4, 3}, {1, 6, 3}, {1, 6, 2}}),
      sample({{3, 2, 3}, {2, 6, 3}, {2, 6, 2}, {2, 12}, {2}, {2, 2, 2}})
          .given(4, Tensor::vector<std::int32_t>({3, 1}))
          .with({{"direction", "bidirectional"}}),
      sample({{2, 3, 3}, {2, 6, 3}, {2, 6, 2}, {2, 12}, {2}, {2, 2, 2}})
          .given(4, Tensor::vector<std::int32_t>({3, 1}))
          .with({{"direction", "bidirectional"},
                 {"layout", 1},
                 {"clip", 0.4},
                 {"activations", Attr::Texts{"Sigmoid", "ScaledTanh", "HardSigmoid", "Softsign"}},
                 {"activation_alpha", Attr::Reals{0.5, 0.3}}}),
      sample({{4, 4, 3}, {1, 6, 3}, {1, 6, 2}, {1, 12}, {4}, {1, 4, 2}})
          .absent(4)
          .with({{"linear_before_reset", true}, {"hidden_size", 2}}),
      rejects({{3, 2, 3}, {1, 6, 3}, {1, 7, 2}}, "r.rows is 7 but gates * hidden is 6"),
      rejects({{3, 2, 3}, {1, 6, 3}, {1, 6, 2}}, "direction is forward")
          .with({{"direction", "up"}}),
      rejects({{3, 2, 3}, {1, 6, 3}, {1, 6, 2}}, "is not known")
          .with({{"activations", Attr::Texts{"cube", "cube", "cube"}}})};
  return p;
}

}  // namespace tenon::ops
