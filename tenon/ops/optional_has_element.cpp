// optional_has_element(x): whether an optional holds something.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call&) { return Types{Type(DType::boolean, {})}; }
Result<Datums> eval(const EvalCall& e) { return Datums{Datum(Tensor::scalar(e.has(0)))}; }

}  // namespace

OpPage optional_has_element() {
  OpPage p = sequence_page("optional_has_element", "whether x is there: a boolean scalar");
  p.inputs = {{"x", kAny, "T", Arity::maybe, Holds::anything}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = none("boolean result");
  p.samples = {sample({{2}}).optional(0), sample({{2}}), sample({{}}).absent(0), sample({})};
  return p;
}

}  // namespace tenon::ops
