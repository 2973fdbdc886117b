// sequence_at_adjoint(dx, like, position): zeros for every item but one.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{c.in(1)}; }

Result<Datums> eval(const EvalCall& e) {
  std::vector<Datum> items;
  for (const Datum& d : e.datum(1).items())
    items.emplace_back(Tensor::zeros(d.tensor().dtype(), d.tensor().dims()));
  const std::size_t at = TENON_TRY(position_in(e, 2, static_cast<std::int64_t>(items.size()), 0));
  items[at] = e.datum(0);
  return Datums{Datum::sequence(std::move(items))};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.sequence_at(dys[0], c.value(2)), nullptr, nullptr};
}

}  // namespace

OpPage sequence_at_adjoint() {
  OpPage p = sequence_page("sequence_at_adjoint",
                           "the adjoint of sequence_at: zeros in the sizes of the items of `like`, "
                           "but dx at `position`");
  p.inputs = {{"dx", kNumeric}, sequence_input("like", kNumeric), {"position", kIndex, "I"}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  const std::vector<Tensor> items = {Tensor::full(DType::f32, {2}, 1),
                                     Tensor::full(DType::f32, {2}, 2)};
  p.samples = {sample({{2}, {}, {}}).sequence(1, items).given(2, Tensor::scalar<std::int64_t>(1)),
               sample({{2}, {}, {}}).sequence(1, items).given(2, Tensor::scalar<std::int64_t>(-2))};
  return p;
}

}  // namespace tenon::ops
