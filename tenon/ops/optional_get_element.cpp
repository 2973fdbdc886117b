// optional_get_element(x): what an optional holds.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  return Types{c.in(0).is_optional() ? c.in(0).element() : c.in(0)};
}

Result<Datums> eval(const EvalCall& e) {
  if (!e.has(0)) return invalid("optional_get_element: the optional holds nothing");
  return Datums{e.datum(0)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {c.in(0).is_optional() ? g.optional(dys[0]) : dys[0]};
}

}  // namespace

OpPage optional_get_element() {
  OpPage p = sequence_page("optional_get_element",
                           "what the optional x holds; x itself when it is no optional");
  p.inputs = {{"x", kAny, "T", Arity::one, Holds::anything}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.samples = {sample({{2, 3}}).optional(0), sample({{2}}),
               sample({{}}).sequence(0, {Tensor::zeros(DType::f32, {2})}).optional(0)};
  return p;
}

}  // namespace tenon::ops
