// identity(x): x itself.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{c.in(0)}; }

Result<Datums> eval(const EvalCall& e) { return Datums{e.datum(0)}; }

Values gradient(B, const Call&, const Values& dys) { return {dys[0]}; }

}  // namespace

OpPage identity() {
  OpPage p = movement("identity", "y = x: a tensor of any type, a sequence or an optional");
  p.inputs = {{"x", kAny, "T", Arity::one, Holds::anything}};
  p.traits.push_back(Trait::view);
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding_elementwise;
  p.samples = {sample({{2, 3}}), sample({{0}}), sample({{2}}).all(DType::string),
               sample({{4}}).all(DType::i4).range(-8, 7)};
  return p;
}

}  // namespace tenon::ops
