// The recurrent cells as plain loops, in double.
#include <algorithm>

#include "tenon/ops/recurrent.h"

namespace tenon::ops {
namespace {

using Doubles = std::vector<double>;

Doubles doubles_or_zero(const EvalCall& e, int input, std::int64_t count) {
  return e.has(input) ? to_doubles(e.in(input)) : Doubles(static_cast<std::size_t>(count), 0.0);
}

// out[i] += sum over k of m[i, k] * v[k]
void add_product(const double* m, const double* v, std::int64_t rows, std::int64_t cols,
                 double* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < cols; ++k) sum += m[i * cols + k] * v[k];
    out[i] += sum;
  }
}

// One direction's weights, and scratch space of one step.
struct Cell {
  const Recurrence& r;
  int direction;
  std::int64_t in, hidden;
  const double *w, *rec, *wb, *rb, *peep;
  Doubles gates, sums, mixed;  // w x + wb; r h + rb; r's input where it is not h

  double act(int i, double v) const {
    if (r.clip) v = std::min(std::max(v, -*r.clip), *r.clip);
    return r.activation(direction, i)(v);
  }
  void load(const double* x, const double* h) {
    const std::int64_t rows = num_gates(r.kind) * hidden;
    gates.assign(wb, wb + rows);
    add_product(w, x, rows, in, gates.data());
    sums.assign(rb, rb + rows);
    add_product(rec, h, rows, hidden, sums.data());
  }
  double gate(std::int64_t g, std::int64_t k) const {
    return gates[static_cast<std::size_t>(g * hidden + k)] +
           sums[static_cast<std::size_t>(g * hidden + k)];
  }
};

// h = f(W x + R h + b)
void rnn_step(Cell& cell, double* h) {
  for (std::int64_t k = 0; k < cell.hidden; ++k) h[k] = cell.act(0, cell.gate(0, k));
}

// z, r = f(..); n = g(W x + R (r * h) + b), or g(W x + wb + r * (R h + rb)); h = (1 - z) n + z h
void gru_step(Cell& cell, double* h) {
  const std::int64_t n = cell.hidden;
  cell.mixed.resize(static_cast<std::size_t>(n));
  Doubles candidate(cell.gates.begin() + 2 * n, cell.gates.end());
  if (cell.r.linear_before_reset) {
    for (std::int64_t k = 0; k < n; ++k)
      candidate[static_cast<std::size_t>(k)] +=
          cell.act(0, cell.gate(1, k)) * cell.sums[static_cast<std::size_t>(2 * n + k)];
  } else {
    for (std::int64_t k = 0; k < n; ++k)
      cell.mixed[static_cast<std::size_t>(k)] = cell.act(0, cell.gate(1, k)) * h[k];
    add_product(cell.rec + 2 * n * n, cell.mixed.data(), n, n, candidate.data());
    for (std::int64_t k = 0; k < n; ++k)
      candidate[static_cast<std::size_t>(k)] += cell.rb[2 * n + k];
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const double z = cell.act(0, cell.gate(0, k));
    h[k] = (1 - z) * cell.act(1, candidate[static_cast<std::size_t>(k)]) + z * h[k];
  }
}

// i, f = f(.. + p c); c = f c + i g(..); o = f(.. + p c); h = o h(c)
void lstm_step(Cell& cell, double* h, double* c) {
  const std::int64_t n = cell.hidden;
  for (std::int64_t k = 0; k < n; ++k) {
    const double i = cell.act(0, cell.gate(0, k) + cell.peep[k] * c[k]);
    const double f =
        cell.r.input_forget ? 1 - i : cell.act(0, cell.gate(2, k) + cell.peep[2 * n + k] * c[k]);
    c[k] = f * c[k] + i * cell.act(1, cell.gate(3, k));
    const double o = cell.act(0, cell.gate(1, k) + cell.peep[n + k] * c[k]);
    h[k] = o * cell.act(2, c[k]);
  }
}

// Everything of one call, row-major in its own layout.
struct Run {
  const EvalCall& e;
  Recurrence r;
  std::int64_t time, batch, in, hidden;
  Doubles x, w, rec, b, h, c, p, y;
  std::vector<std::int64_t> lens;

  std::int64_t x_at(std::int64_t t, std::int64_t k) const {
    return (r.batch_first ? k * time + t : t * batch + k) * in;
  }
  std::int64_t state_at(std::int64_t d, std::int64_t k) const {
    return (r.batch_first ? k * r.directions + d : d * batch + k) * hidden;
  }
  std::int64_t y_at(std::int64_t t, std::int64_t d, std::int64_t k) const {
    return (r.batch_first ? (k * time + t) * r.directions + d
                          : (t * r.directions + d) * batch + k) *
           hidden;
  }
};

Result<Run> load(const EvalCall& e, CellKind kind) {
  Run run{.e = e,
          .r = TENON_TRY(recurrence_of(e.call, kind)),
          .time = 0,
          .batch = 0,
          .in = 0,
          .hidden = 0};
  const Tensor& x = e.in(0);
  run.time = x.dim(run.r.batch_first ? 1 : 0);
  run.batch = x.dim(run.r.batch_first ? 0 : 1);
  run.in = x.dim(2);
  run.hidden = e.in(2).dim(2);
  const std::int64_t states = run.r.directions * run.batch * run.hidden;
  run.x = to_doubles(x);
  run.w = to_doubles(e.in(1));
  run.rec = to_doubles(e.in(2));
  run.b = doubles_or_zero(e, 3, run.r.directions * 2 * num_gates(kind) * run.hidden);
  run.lens = e.has(4) ? integers(e.in(4))
                      : std::vector<std::int64_t>(static_cast<std::size_t>(run.batch), run.time);
  run.h = doubles_or_zero(e, 5, states);
  run.c = kind == CellKind::lstm ? doubles_or_zero(e, 6, states)
                                 : Doubles(static_cast<std::size_t>(states), 0.0);
  run.p =
      kind == CellKind::lstm ? doubles_or_zero(e, 7, run.r.directions * 3 * run.hidden) : Doubles();
  run.y.assign(static_cast<std::size_t>(run.time * states), 0.0);
  return run;
}

// One sequence in one direction; steps beyond its length leave the state and give zeros.
void run_sequence(Run& run, Cell& cell, int d, std::int64_t k) {
  double *h = run.h.data() + run.state_at(d, k), *c = run.c.data() + run.state_at(d, k);
  const std::int64_t length =
      std::min(run.time, std::max<std::int64_t>(0, run.lens[static_cast<std::size_t>(k)]));
  for (std::int64_t s = 0; s < length; ++s) {
    const std::int64_t t = run.r.is_reversed(d) ? length - 1 - s : s;
    cell.load(run.x.data() + run.x_at(t, k), h);
    if (run.r.kind == CellKind::rnn)
      rnn_step(cell, h);
    else if (run.r.kind == CellKind::gru)
      gru_step(cell, h);
    else
      lstm_step(cell, h, c);
    std::copy(h, h + run.hidden, run.y.data() + run.y_at(t, d, k));
  }
}

}  // namespace

Result<Datums> eval_recurrent(const EvalCall& e, CellKind kind) {
  Run run = TENON_TRY(load(e, kind));
  const std::int64_t rows = num_gates(kind) * run.hidden;
  for (int d = 0; d < run.r.directions; ++d) {
    Cell cell{.r = run.r,
              .direction = d,
              .in = run.in,
              .hidden = run.hidden,
              .w = run.w.data() + d * rows * run.in,
              .rec = run.rec.data() + d * rows * run.hidden,
              .wb = run.b.data() + d * 2 * rows,
              .rb = run.b.data() + d * 2 * rows + rows,
              .peep = run.p.data() + d * 3 * run.hidden,
              .gates = {},
              .sums = {},
              .mixed = {}};
    for (std::int64_t k = 0; k < run.batch; ++k) run_sequence(run, cell, d, k);
  }
  const DType dtype = e.in(0).dtype();
  const bool first = run.r.batch_first;
  const Dims y = first ? Dims{run.batch, run.time, run.r.directions, run.hidden}
                       : Dims{run.time, run.r.directions, run.batch, run.hidden};
  const Dims state = first ? Dims{run.batch, run.r.directions, run.hidden}
                           : Dims{run.r.directions, run.batch, run.hidden};
  Datums out = {Datum(narrow(run.y, dtype, y)), Datum(narrow(run.h, dtype, state))};
  if (kind == CellKind::lstm) out.emplace_back(narrow(run.c, dtype, state));
  return out;
}

}  // namespace tenon::ops
