// sequence_at(sequence, position): one item of a sequence.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

// Items of a sequence may differ in every size that is not constant.
Result<Types> infer(const Call& c) {
  Type item = c.in(0).element();
  for (int i = 0; item.is_tensor() && i < item.ndim(); ++i)
    if (!item.dim(i).is_constant()) item = item.with_dim(i, c.fresh_dim(fmt::format("d{}", i)));
  return Types{item};
}

Result<Datums> eval(const EvalCall& e) {
  const auto& items = e.datum(0).items();
  return Datums{items[TENON_TRY(position_in(e, 1, static_cast<std::int64_t>(items.size()), 0))]};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.sequence_at_adjoint(dys[0], c.value(0), c.value(1)), nullptr};
}

}  // namespace

OpPage sequence_at() {
  OpPage p =
      sequence_page("sequence_at", "the item at `position`; negative positions count from the end");
  p.inputs = {sequence_input("sequence"), {"position", kIndex, "I"}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  const std::vector<Tensor> items = {Tensor::zeros(DType::f32, {2}),
                                     Tensor::full(DType::f32, {3}, 1)};
  p.samples = {
      sample({{}, {}}).sequence(0, items).given(1, Tensor::scalar<std::int64_t>(1)),
      sample({{}, {}}).sequence(0, items).given(1, Tensor::scalar<std::int64_t>(-2)),
      rejects({{2}, {}}, "sequence cannot be f32[2]").given(1, Tensor::scalar<std::int64_t>(0))};
  return p;
}

}  // namespace tenon::ops
