// What the three recurrent pages share: attributes, types, the meaning as loops, and the unrolled
// decomposition. Gates are stacked in w and r: rnn [h], gru [z, r, h], lstm [i, o, f, c].
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

enum class CellKind : std::uint8_t { rnn, gru, lstm };
/// Gates that w and r hold.
std::int64_t num_gates(CellKind kind);
/// Inputs of the page: x, w, r, b, sequence_lens, initial_h; initial_c and p with lstm.
int num_recurrent_inputs(CellKind kind);

/// One activation with its numbers.
struct Activation {
  std::string name;  // lower case, without underscores
  double alpha = 0, beta = 0;
  double operator()(double x) const;
  Value* build(B g, Value* x) const;
};

/// What the attributes of a call say.
struct Recurrence {
  CellKind kind = CellKind::rnn;
  int directions = 1;
  bool first_is_reversed = false, batch_first = false, linear_before_reset = false,
       input_forget = false;
  std::optional<double> clip;
  std::vector<Activation> activations;  // of the first direction, then of the second
  bool is_reversed(int direction) const { return direction == 1 || first_is_reversed; }
  const Activation& activation(int direction, int i) const {
    return activations[static_cast<std::size_t>(direction) * activations.size() /
                           static_cast<std::size_t>(directions) +
                       static_cast<std::size_t>(i)];
  }
};
Result<Recurrence> recurrence_of(const Call& c, CellKind kind);

std::vector<InputSpec> recurrent_inputs(CellKind kind);
std::vector<AttrSpec> recurrent_attrs(CellKind kind);
/// y, y_h and, with lstm, y_c.
Result<Types> infer_recurrent(const Call& c, CellKind kind);
Result<Datums> eval_recurrent(const EvalCall& e, CellKind kind);
/// The outputs through slices, matrix products and elementwise operators, one step after the other;
/// the number of steps must be known.
Values unroll(B g, const Call& c, CellKind kind);
Cost cost_recurrent(const Call& c, CellKind kind);
/// Sequences of a batch are independent; everything else stays whole.
Result<Factors> sharding_recurrent(const Call& c, CellKind kind);

/// The page of a cell, all but its samples; its gradient is the page `name`_adjoint.
OpPage recurrent_layer(CellKind kind, std::string_view name, std::string_view doc);
/// The adjoint page of a cell: inputs are the cell's own, then the gradients of its outputs (each
/// may be absent); outputs are the gradients of the inputs that are present, sequence_lens left
/// out.
OpPage recurrent_adjoint(CellKind kind, std::string_view name, std::string_view doc);

}  // namespace tenon::ops
