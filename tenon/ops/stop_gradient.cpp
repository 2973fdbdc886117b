// stop_gradient(x): x, held constant by differentiation.
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{c.in(0)}; }

Result<Datums> eval(const EvalCall& e) { return Datums{e.datum(0)}; }

// 0 by definition: x counts as a constant here
Values gradient(B, const Call&, const Values&) { return {nullptr}; }

}  // namespace

OpPage stop_gradient() {
  OpPage p = movement("stop_gradient", "y = x; no gradient passes");
  p.inputs = {{"x", kAny}};
  p.traits.push_back(Trait::view);
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.sharding = sharding_elementwise;
  p.samples = {sample({{2, 3}}).without_gradient("0 by definition, whatever differences say"),
               sample({{2}}).all(DType::i64).range(0, 9)};
  return p;
}

}  // namespace tenon::ops
