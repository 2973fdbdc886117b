// sequence_length(sequence): how many items there are.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call&) { return Types{Type(DType::i64, {})}; }
Result<Datums> eval(const EvalCall& e) {
  return Datums{Datum(Tensor::scalar(static_cast<std::int64_t>(e.datum(0).items().size())))};
}

}  // namespace

OpPage sequence_length() {
  OpPage p = sequence_page("sequence_length", "the number of items, an i64 scalar");
  p.inputs = {sequence_input("sequence")};
  p.infer = infer;
  p.eval = eval;
  p.gradient = none("integer result");
  p.samples = {
      sample({{}}).sequence(0, {Tensor::zeros(DType::f32, {2}), Tensor::zeros(DType::f32, {})}),
      sample({{}}).sequence(0, {}), rejects({{2}}, "sequence cannot be f32[2]")};
  return p;
}

}  // namespace tenon::ops
