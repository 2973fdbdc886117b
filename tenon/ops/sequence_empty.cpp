// sequence_empty(; dtype): a sequence without items.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  return Types{Type::sequence(Type::unranked(c.dtype("dtype")))};
}
Result<Datums> eval(const EvalCall&) { return Datums{Datum::sequence({})}; }

}  // namespace

OpPage sequence_empty() {
  OpPage p = sequence_page("sequence_empty", "a sequence without items, for tensors of `dtype`");
  p.attrs = {{"dtype", DType::f32}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = none("has no inputs");
  p.samples = {sample({}), sample({}).with({{"dtype", DType::string}})};
  return p;
}

}  // namespace tenon::ops
