// sequence_erase(sequence, position): a sequence with one item less.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{c.in(0)}; }

Result<Datums> eval(const EvalCall& e) {
  std::vector<Datum> items = e.datum(0).items();
  const std::size_t at = TENON_TRY(position_in(e, 1, static_cast<std::int64_t>(items.size()), -1));
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return Datums{Datum::sequence(std::move(items))};
}

// The erased item gets zeros. A negative position is brought into the longer sequence.
Values gradient(B g, const Call& c, const Values& dys) {
  Value *at = c.has(1) ? g.reshape(g.cast_to(c.value(1), DType::i64), g.ints({}))
                       : g.constant(Tensor::scalar<std::int64_t>(-1)),
        *zero = g.constant(Tensor::scalar<std::int64_t>(0));
  at = g.add(at, g.mul(g.cast_to(g.less(at, zero), DType::i64), g.sequence_length(c.value(0))));
  return {g.sequence_insert(dys[0], g.zeros_like(g.sequence_at(c.value(0), at)), at), nullptr};
}

}  // namespace

OpPage sequence_erase() {
  OpPage p = sequence_page("sequence_erase",
                           "the sequence without the item at `position` (the last without one); "
                           "negative positions count from the end");
  p.inputs = {sequence_input("sequence"), position_input()};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  const std::vector<Tensor> items = {Tensor::zeros(DType::f32, {2}),
                                     Tensor::full(DType::f32, {3}, 1)};
  p.samples = {sample({{}}).sequence(0, items),
               sample({{}, {}}).sequence(0, items).given(1, Tensor::scalar<std::int64_t>(0)),
               sample({{}, {}}).sequence(0, items).given(1, Tensor::scalar<std::int64_t>(-2)),
               rejects({{2}}, "sequence cannot be f32[2]")};
  return p;
}

}  // namespace tenon::ops
