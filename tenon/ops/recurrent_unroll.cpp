// The recurrent cells as graphs, one step after the other, and the adjoint pages that follow from
// them.
#include <algorithm>

#include "tenon/ops/recurrent.h"

namespace tenon::ops {
namespace {

// x with positions [from, to) of `axis`.
Value* part(B g, Value* x, int axis, std::int64_t from, std::int64_t to) {
  return g.slice(x, g.ints({from}), g.ints({to}), g.ints({axis}));
}
Value* squeezed(B g, Value* x, int axis) {
  Shape shape = x->type().shape();
  shape.erase(shape.begin() + axis);
  return g.reshape_to(x, shape);
}
Value* turned(B g, Value* x) { return g.transpose(x, Attrs{{"perm", Attr::Integers{1, 0}}}); }

// One direction of a call, in the layout [time, batch, ...] and in at least 32 bits.
class Unrolling {
 public:
  Unrolling(B g, const Call& c, const Recurrence& r, int direction)
      : g_(g), c_(c), r_(r), d_(direction), hidden_(c.in(2).dim(2).value()) {
    rows_ = num_gates(r.kind) * hidden_;
    recurrent_ = turned(g_, weights(2));
    if (c_.has(3)) {
      wb_ = part(g_, weights(3), 0, 0, rows_);
      rb_ = part(g_, weights(3), 0, rows_, 2 * rows_);
    }
    if (r.kind == CellKind::lstm && c_.has(7)) peepholes_ = weights(7);
  }

  // h of every step (zeros beyond a sequence's length), the last h and the last c.
  Values run(Value* x, std::int64_t time, Value* h, Value* c) {
    Value* gates = g_.matmul(x, turned(g_, weights(1)));
    if (wb_) gates = g_.add(gates, wb_);
    Values steps(static_cast<std::size_t>(time));
    for (std::int64_t s = 0; s < time; ++s) {
      const std::int64_t t = r_.is_reversed(d_) ? time - 1 - s : s;
      Value *old_h = h, *old_c = c, *live = alive(t);
      step(squeezed(g_, part(g_, gates, 0, t, t + 1), 0), h, c);
      Value* y = h;
      if (live) {
        y = g_.where(live, h, g_.number(0, h));
        h = g_.where(live, h, old_h);
        if (c) c = g_.where(live, c, old_c);
      }
      steps[static_cast<std::size_t>(t)] = g_.unsqueeze(y, g_.ints({0, 1}));
    }
    return {g_.concat(steps, Attrs{{"axis", 0}}), h, c};
  }

 private:
  // Input `i` of this direction: the first axis is directions.
  Value* weights(int i) {
    return squeezed(
        g_, part(g_, g_.cast_to(c_.value(i), wide_float(c_.in(0).dtype())), 0, d_, d_ + 1), 0);
  }

  // [batch, 1]: whether step t lies within the sequence; nullptr when all do.
  Value* alive(std::int64_t t) {
    if (!c_.has(4)) return nullptr;
    return g_.unsqueeze(g_.less(g_.number(static_cast<double>(t), c_.in(4).dtype()), c_.value(4)),
                        g_.ints({1}));
  }
  Value* act(int i, Value* x) {
    if (r_.clip) x = g_.clip(x, g_.number(-*r_.clip, x), g_.number(*r_.clip, x));
    return r_.activation(d_, i).build(g_, x);
  }
  Value* gate(Value* x, std::int64_t i) { return part(g_, x, 1, i * hidden_, (i + 1) * hidden_); }
  Value* recurrent(Value* h, Value* matrix, Value* bias) {
    Value* y = g_.matmul(h, matrix);
    return bias ? g_.add(y, bias) : y;
  }

  void step(Value* x, Value*& h, Value*& c) {
    if (r_.kind == CellKind::gru) return gru(x, h);
    Value* sums = g_.add(x, recurrent(h, recurrent_, rb_));
    if (r_.kind == CellKind::rnn)
      h = act(0, sums);
    else
      lstm(sums, h, c);
  }

  void gru(Value* x, Value*& h) {
    const std::int64_t n = hidden_;
    Value* bias = rb_ ? part(g_, rb_, 0, 0, 2 * n) : nullptr;
    Value* sums =
        g_.add(part(g_, x, 1, 0, 2 * n), recurrent(h, part(g_, recurrent_, 1, 0, 2 * n), bias));
    Value *z = act(0, gate(sums, 0)), *reset = act(0, gate(sums, 1));
    Value* matrix = part(g_, recurrent_, 1, 2 * n, 3 * n);
    Value* last_bias = rb_ ? part(g_, rb_, 0, 2 * n, 3 * n) : nullptr;
    Value* mixed = r_.linear_before_reset ? g_.mul(reset, recurrent(h, matrix, last_bias))
                                          : recurrent(g_.mul(reset, h), matrix, last_bias);
    Value* candidate = act(1, g_.add(gate(x, 2), mixed));
    h = g_.add(g_.mul(g_.sub(g_.number(1, z), z), candidate), g_.mul(z, h));
  }

  // Peephole weights are stacked i, o, f.
  Value* peeped(Value* sum, std::int64_t i, Value* c) {
    return peepholes_
               ? g_.add(sum, g_.mul(part(g_, peepholes_, 0, i * hidden_, (i + 1) * hidden_), c))
               : sum;
  }

  void lstm(Value* sums, Value*& h, Value*& c) {
    Value* i = act(0, peeped(gate(sums, 0), 0, c));
    Value* f = r_.input_forget ? g_.sub(g_.number(1, i), i) : act(0, peeped(gate(sums, 2), 2, c));
    c = g_.add(g_.mul(f, c), g_.mul(i, act(1, gate(sums, 3))));
    Value* o = act(0, peeped(gate(sums, 1), 1, c));
    h = g_.mul(o, act(2, c));
  }

  B g_;
  const Call& c_;
  const Recurrence& r_;
  int d_;
  std::int64_t hidden_, rows_ = 0;
  Value *recurrent_ = nullptr, *wb_ = nullptr, *rb_ = nullptr, *peepholes_ = nullptr;
};

// The initial state of one direction, [batch, hidden].
Value* initial_state(B g, const Call& c, const Recurrence& r, int input, int d, Value* x) {
  const DType wide = x->type().dtype();
  if (!c.has(input))
    return g.expand(g.number(0, wide), g.dims_value({x->type().dim(1), c.in(2).dim(2)}, x));
  const int axis = r.batch_first ? 1 : 0;
  return g.cast_to(squeezed(g, part(g, c.value(input), axis, d, d + 1), axis), wide);
}

}  // namespace

Values unroll(B g, const Call& c, CellKind kind) {
  auto r = recurrence_of(c, kind);
  const auto time = c.in(0).dim(r.ok() && r->batch_first ? 1 : 0).known();
  if (!r.ok() || !time || *time == 0 || !c.in(2).dim(2).known()) {
    g.builder().fail(
        r.ok() ? unsupported("{}: unrolling needs a known number of steps, at least 1", c.op().name)
               : r.error());
    return Values(kind == CellKind::lstm ? 3 : 2, c.value(0));
  }
  const DType dtype = c.in(0).dtype();
  Value* x = g.cast_to(c.value(0), wide_float(dtype));
  if (r->batch_first) x = g.transpose(x, Attrs{{"perm", Attr::Integers{1, 0, 2}}});
  std::vector<Values> parts(3);
  for (int d = 0; d < r->directions; ++d) {
    Value* h = initial_state(g, c, *r, 5, d, x);
    Value* cell = kind == CellKind::lstm ? initial_state(g, c, *r, 6, d, x) : nullptr;
    const Values out = Unrolling(g, c, *r, d).run(x, *time, h, cell);
    parts[0].push_back(out[0]);
    for (std::size_t i = 1; i < 3; ++i)
      parts[i].push_back(out[i] ? g.unsqueeze(out[i], g.ints({r->batch_first ? 1 : 0})) : nullptr);
  }
  Value* y = g.concat(parts[0], Attrs{{"axis", 1}});
  if (r->batch_first) y = g.transpose(y, Attrs{{"perm", Attr::Integers{2, 0, 1, 3}}});
  Values ys = {g.cast_to(y, dtype)};
  for (std::size_t i = 1; i < (kind == CellKind::lstm ? 3u : 2u); ++i)
    ys.push_back(g.cast_to(g.concat(parts[i], Attrs{{"axis", r->batch_first ? 1 : 0}}), dtype));
  return ys;
}

namespace {

// Calls the page `adjoint` for the inputs that are present.
Values recurrent_gradient(B g, const Call& c, CellKind kind, std::string_view adjoint,
                          const Values& dys) {
  Values inputs = c.values();
  inputs.resize(static_cast<std::size_t>(num_recurrent_inputs(kind)), nullptr);
  inputs.insert(inputs.end(), dys.begin(), dys.end());
  const Values found = g.all_of(adjoint, inputs, c.node().attrs());
  Values dxs(static_cast<std::size_t>(c.num_inputs()), nullptr);
  std::size_t k = 0;
  for (int i = 0; i < c.num_inputs(); ++i)
    if (c.has(i) && i != 4) dxs[static_cast<std::size_t>(i)] = found[k++];
  return dxs;
}

// As the layer is split; what weights get is a sum over the sequences of a batch.
Result<Factors> sharding_adjoint(const Call& c, CellKind kind) {
  Factors f = TENON_TRY(sharding_recurrent(c, kind));
  const std::vector<std::vector<std::string>> ys = f.outputs;
  const int own = num_recurrent_inputs(kind);
  for (int i = own; i < c.num_inputs(); ++i)
    f.inputs[static_cast<std::size_t>(i)] =
        c.has(i) ? ys[static_cast<std::size_t>(i - own)] : std::vector<std::string>{};
  f.outputs.clear();
  for (int i = 0; i < own; ++i)
    if (c.has(i) && i != 4) f.outputs.push_back(f.inputs[static_cast<std::size_t>(i)]);
  return f;
}

}  // namespace

OpPage recurrent_layer(CellKind kind, std::string_view name, std::string_view doc) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.inputs = recurrent_inputs(kind);
  p.outputs = {"y", "y_h"};
  if (kind == CellKind::lstm) p.outputs.push_back("y_c");
  p.attrs = recurrent_attrs(kind);
  p.infer = [kind](const Call& c) { return infer_recurrent(c, kind); };
  p.eval = [kind](const EvalCall& e) { return eval_recurrent(e, kind); };
  p.decompose = [kind](B g, const Call& c) { return unroll(g, c, kind); };
  p.gradient = [kind, adjoint = std::string(name) + "_adjoint"](B g, const Call& c,
                                                                const Values& dys) {
    return recurrent_gradient(g, c, kind, adjoint, dys);
  };
  p.cost = [kind](const Call& c) { return cost_recurrent(c, kind); };
  p.sharding = [kind](const Call& c) { return sharding_recurrent(c, kind); };
  return p;
}

OpPage recurrent_adjoint(CellKind kind, std::string_view name, std::string_view doc) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.inputs = recurrent_inputs(kind);
  for (const char* dy : {"dy", "dy_h"}) p.inputs.push_back(maybe(dy, kFloat));
  if (kind == CellKind::lstm) p.inputs.push_back(maybe("dy_c", kFloat));
  p.outputs = {"dx", "dw", "dr"};
  p.attrs = recurrent_attrs(kind);
  p.infer = [kind](const Call& c) -> Result<Types> {
    TENON_TRY(infer_recurrent(c, kind));
    Types out;
    for (int i = 0; i < num_recurrent_inputs(kind); ++i)
      if (c.has(i) && i != 4) out.push_back(c.in(i));
    return out;
  };
  p.decompose = [kind](B g, const Call& c) {
    const int first = g.builder().graph().num_node_ids(), own = num_recurrent_inputs(kind);
    const Values ys = unroll(g, c, kind), all = c.values();
    const Values dys(all.begin() + std::min<std::ptrdiff_t>(own, std::ssize(all)), all.end());
    Values xs;
    for (int i = 0; i < own; ++i)
      if (c.has(i) && i != 4) xs.push_back(c.value(i));
    Values dxs = gradients_through(g, first, ys, dys, xs);
    for (std::size_t i = 0; i < dxs.size(); ++i)
      if (!dxs[i]) dxs[i] = g.zeros_like(xs[i]);
    return dxs;
  };
  p.gradient = [](B g, const Call& c, const Values& dys) {
    return gradient_of_decomposition(g, c, dys);
  };
  p.cost = [kind](const Call& c) { return cost_recurrent(c, kind); };
  p.sharding = [kind](const Call& c) { return sharding_adjoint(c, kind); };
  return p;
}

}  // namespace tenon::ops
