// sequence_construct(xs...): tensors as a sequence.
#include "tenon/ops/control_flow.h"
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  Type item = c.in(0);
  for (int i = 1; i < c.num_inputs(); ++i) item = TENON_TRY(cover(c, item, c.in(i), "item"));
  return Types{Type::sequence(item)};
}

Result<Datums> eval(const EvalCall& e) { return Datums{Datum::sequence(e.inputs)}; }

Values gradient(B g, const Call& c, const Values& dys) {
  Values dxs;
  for (int i = 0; i < c.num_inputs(); ++i)
    dxs.push_back(g.sequence_at(dys[0], g.constant(Tensor::scalar<std::int64_t>(i))));
  return dxs;
}

}  // namespace

OpPage sequence_construct() {
  OpPage p = sequence_page("sequence_construct", "a sequence of the given tensors");
  p.inputs = {many("xs", kAny)};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.samples = {sample({{2, 3}, {2, 3}}), sample({{2}, {3}, {}}), sample({{2}}).all(DType::string),
               rejects({{2}, {2}}, "is i64 but").dtypes({DType::f32, DType::i64})};
  return p;
}

}  // namespace tenon::ops
