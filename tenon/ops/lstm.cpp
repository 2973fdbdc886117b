// lstm(x, w, r, b, sequence_lens, initial_h, initial_c, p): long short-term memory over sequences.
#include "tenon/ops/recurrent.h"

namespace tenon::ops {

OpPage lstm() {
  OpPage p = recurrent_layer(
      CellKind::lstm, "lstm",
      "i, f = f(W x + R h + p * c + b), c = f * c + i * g(W x + R h + b), o = f(W x + R h "
      "+ p * c + b), h = o * h(c); x is [time, batch, in] (layout 1: [batch, time, in]), y "
      "[time, directions, batch, hidden], states [directions, batch, hidden]; "
      "`clip` bounds what activations see; steps beyond sequence_lens leave the state and "
      "give zeros");
  p.samples = {sample({{3, 4, 3}, {1, 8, 3}, {1, 8, 2}}),
               sample({{3, 2, 3}, {2, 8, 3}, {2, 8, 2}, {2, 16}, {2}, {2, 2, 2}, {2, 2, 2}, {2, 6}})
                   .given(4, Tensor::vector<std::int32_t>({3, 1}))
                   .with({{"direction", "bidirectional"}}),
               sample({{2, 3, 3}, {2, 8, 3}, {2, 8, 2}, {2, 16}, {2}, {2, 2, 2}, {2, 2, 2}, {2, 6}})
                   .given(4, Tensor::vector<std::int32_t>({3, 1}))
                   .with({{"direction", "bidirectional"},
                          {"layout", 1},
                          {"clip", 0.4},
                          {"activations", Attr::Texts{"Sigmoid", "Softsign", "Elu", "Softplus",
                                                      "Tanh", "ScaledTanh"}},
                          {"activation_alpha", Attr::Reals{0.5, 0.3}}}),
               sample({{4, 4, 3}, {1, 8, 3}, {1, 8, 2}, {1, 16}, {4}, {1, 4, 2}, {1, 4, 2}, {1, 6}})
                   .absent(4)
                   .with({{"input_forget", true}, {"hidden_size", 2}}),
               rejects({{3, 2, 3}, {1, 8, 3}, {1, 9, 2}}, "r.rows is 9 but gates * hidden is 8"),
               rejects({{3, 2, 3}, {1, 8, 3}, {1, 8, 2}}, "direction is forward")
                   .with({{"direction", "up"}}),
               rejects({{3, 2, 3}, {1, 8, 3}, {1, 8, 2}}, "is not known")
                   .with({{"activations", Attr::Texts{"cube", "cube", "cube"}}})};
  return p;
}

}  // namespace tenon::ops
