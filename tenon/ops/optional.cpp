// optional(x; type): a value that may be absent.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

// Without x the type says of what.
Result<Types> infer(const Call& c) {
  if (c.has(0)) return Types{Type::optional(c.in(0))};
  TENON_EXPECT(c.has_attr("type"), "x or type is given");
  return Types{Type::optional(TENON_TRY(Type::parse(c.text("type"))))};
}

Result<Datums> eval(const EvalCall& e) { return Datums{e.inputs.empty() ? Datum() : e.datum(0)}; }
Values gradient(B g, const Call&, const Values& dys) { return {g.optional_get_element(dys[0])}; }

}  // namespace

OpPage optional() {
  OpPage p = sequence_page("optional",
                           "x as an optional, or without x an absent optional of `type` (\"f32[2, "
                           "N]\", \"seq(i64[...])\")");
  p.inputs = {{"x", kAny, "T", Arity::maybe, Holds::anything}};
  p.attrs = {AttrSpec::optional("type", Attr::Kind::text)};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  p.samples = {sample({{2, 3}}), sample({{}}).sequence(0, {Tensor::zeros(DType::f32, {2})}),
               sample({{}}).absent(0).with({{"type", "f32[2]"}}),
               rejects({{}}, "x or type is given").absent(0)};
  return p;
}

}  // namespace tenon::ops
