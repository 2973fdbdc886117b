// rnn(x, w, r, b, sequence_lens, initial_h): the plain recurrent layer over sequences.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {

OpPage rnn() {
  OpPage p = recurrent_layer(
      CellKind::rnn, "rnn",
      "h = f(W x + R h + b); x is [time, batch, in] (layout 1: [batch, time, in]), y [time, "
      "directions, batch, hidden], states [directions, batch, hidden]; "
      "`clip` bounds what activations see; steps beyond sequence_lens leave the state and give "
      "zeros");
  p.samples = {
      sample({{3, 4, 3}, {1, 2, 3}, {1, 2, 2}}),
      sample({{3, 2, 3}, {2, 2, 3}, {2, 2, 2}, {2, 4}, {2}, {2, 2, 2}})
          .given(4, Tensor::vector<std::int32_t>({3, 1}))
          .with({{"direction", "bidirectional"}}),
      sample({{2, 3, 3}, {2, 2, 3}, {2, 2, 2}, {2, 4}, {2}, {2, 2, 2}})
          .given(4, Tensor::vector<std::int32_t>({3, 1}))
          .with({{"direction", "bidirectional"},
                 {"layout", 1},
                 {"clip", 0.4},
                 {"activations", Attr::Texts{"Affine", "HardSigmoid"}},
                 {"activation_alpha", Attr::Reals{0.5, 0.3}}}),
      sample({{4, 4, 3}, {1, 2, 3}, {1, 2, 2}, {1, 4}, {4}, {1, 4, 2}})
          .absent(4)
          .with(
              {{"activations", Attr::Texts{"Relu"}}, {"direction", "reverse"}, {"hidden_size", 2}}),
      rejects({{3, 2, 3}, {1, 2, 3}, {1, 3, 2}}, "r.rows is 3 but gates * hidden is 2"),
      rejects({{3, 2, 3}, {1, 2, 3}, {1, 2, 2}}, "direction is forward")
          .with({{"direction", "up"}}),
      rejects({{3, 2, 3}, {1, 2, 3}, {1, 2, 2}}, "is not known")
          .with({{"activations", Attr::Texts{"cube", "cube", "cube"}}})};
  return p;
}

}  // namespace tenon::ops
