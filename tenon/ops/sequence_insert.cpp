// sequence_insert(sequence, x, position): a sequence with one more item.
#include "tenon/ops/control_flow.h"
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  return Types{Type::sequence(TENON_TRY(cover(c, c.in(0).element(), c.in(1), "item")))};
}

// Before the item at `position`; at the end without one.
Result<Datums> eval(const EvalCall& e) {
  std::vector<Datum> items = e.datum(0).items();
  const auto n = static_cast<std::int64_t>(items.size());
  std::int64_t at = e.has(2) ? integer_element(e.in(2), 0) : n;
  if (at < 0) at += n;
  if (at < 0 || at > n)
    return invalid("sequence_insert: position {} is outside of {} items", at, n);
  items.insert(items.begin() + at, e.datum(1));
  return Datums{Datum::sequence(std::move(items))};
}

// A negative position counts from the end of the shorter sequence.
Value* position_after(B g, const Call& c) {
  Value *at = g.reshape(g.cast_to(c.value(2), DType::i64), g.ints({})),
        *zero = g.constant(Tensor::scalar<std::int64_t>(0));
  return g.add(at, g.mul(g.cast_to(g.less(at, zero), DType::i64), g.sequence_length(c.value(0))));
}

Values gradient(B g, const Call& c, const Values& dys) {
  Value* at = c.has(2) ? position_after(g, c) : g.constant(Tensor::scalar<std::int64_t>(-1));
  return {g.sequence_erase(dys[0], at), g.sequence_at(dys[0], at), nullptr};
}

}  // namespace

OpPage sequence_insert() {
  OpPage p = sequence_page("sequence_insert",
                           "the sequence with x before the item at `position` (at the end without "
                           "one); negative positions count from the end");
  p.inputs = {sequence_input("sequence"), {"x", kAny}, position_input()};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  const std::vector<Tensor> two = {Tensor::zeros(DType::f32, {2}),
                                   Tensor::full(DType::f32, {2}, 1)};
  p.samples = {sample({{}, {2}}).sequence(0, two),
               sample({{}, {3}, {}}).sequence(0, two).given(2, Tensor::scalar<std::int64_t>(0)),
               sample({{}, {2}, {}}).sequence(0, two).given(2, Tensor::scalar<std::int64_t>(-1)),
               sample({{}, {2, 2}}).sequence(0, {})};
  Sample other = sample({{}, {2}}).sequence(0, two).dtypes({DType::f32, DType::i64});
  other.rejected_because = "is i64 but";
  p.samples.push_back(other);
  return p;
}

}  // namespace tenon::ops
