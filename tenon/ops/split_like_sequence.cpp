// split_like_sequence(x, like; axis, new_axis): a joined tensor cut back into the items of a
// sequence.
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) { return Types{c.in(1)}; }

Result<Datums> eval(const EvalCall& e) {
  const int axis = TENON_TRY(e.call.axis(e.call.integer("axis"), e.in(0).ndim()));
  const bool stacked = e.call.flag("new_axis");
  std::vector<std::int64_t> widths;
  std::int64_t sum = 0;
  for (const Datum& d : e.datum(1).items()) {
    widths.push_back(stacked ? 1 : d.tensor().dim(axis));
    sum += widths.back();
  }
  if (sum != e.in(0).dim(axis))
    return invalid("split_like_sequence: items take {} of axis {} but x has {}", sum, axis,
                   e.in(0).dim(axis));
  return Datums{pieces(e.in(0), axis, widths, !stacked)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.concat_from_sequence(dys[0], c.node().attrs()), nullptr};
}

}  // namespace

OpPage split_like_sequence() {
  OpPage p = sequence_page("split_like_sequence",
                           "the inverse and adjoint of concat_from_sequence: x cut along `axis` "
                           "into items of the widths of those of `like`");
  p.inputs = {{"x", kAny}, sequence_input("like")};
  p.attrs = {AttrSpec::required("axis", Attr::Kind::integer), {"new_axis", false}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  const std::vector<Tensor> wider = {Tensor::zeros(DType::f32, {2, 3}),
                                     Tensor::full(DType::f32, {2, 1}, 1)},
                            same = {Tensor::zeros(DType::f32, {2}),
                                    Tensor::full(DType::f32, {2}, 1)};
  p.samples = {sample({{2, 4}, {}}).sequence(1, wider).with({{"axis", 1}}),
               sample({{2, 2}, {}}).sequence(1, same).with({{"axis", -1}, {"new_axis", true}})};
  return p;
}

}  // namespace tenon::ops
