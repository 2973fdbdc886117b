// concat_from_sequence(sequence; axis, new_axis): the items of a sequence as one tensor.
#include "tenon/ops/control_flow.h"
#include "tenon/ops/sequences.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& item = c.in(0).element();
  if (!item.ranked()) return Types{Type::unranked(item.dtype())};
  const bool stacks = c.flag("new_axis");
  const int axis = TENON_TRY(c.axis(c.integer("axis"), item.ndim() + (stacks ? 1 : 0)));
  Shape shape = item.shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is_constant()) shape[i] = c.fresh_dim(fmt::format("d{}", i));
  if (stacks)
    shape.insert(shape.begin() + axis, c.fresh_dim("count"));
  else
    shape[static_cast<std::size_t>(axis)] = c.fresh_dim("joined");
  return Types{item.with_shape(shape)};
}

Result<Datums> eval(const EvalCall& e) {
  const auto& items = e.datum(0).items();
  if (items.empty()) return invalid("concat_from_sequence: the sequence has no items");
  std::vector<Tensor> parts;
  for (const Datum& d : items) parts.push_back(d.tensor());
  const bool stacks = e.call.flag("new_axis");
  const int axis =
      TENON_TRY(e.call.axis(e.call.integer("axis"), parts[0].ndim() + (stacks ? 1 : 0)));
  if (stacks) return Datums{Datum(TENON_TRY(stack(parts, axis, false, Type::of(parts[0]))))};
  Dims dims = parts[0].dims();
  dims[static_cast<std::size_t>(axis)] = 0;
  for (const Tensor& p : parts) {
    Dims rest = p.dims();
    if (p.ndim() == static_cast<int>(dims.size()))
      rest[static_cast<std::size_t>(axis)] = dims[static_cast<std::size_t>(axis)];
    if (rest != dims)
      return invalid("concat_from_sequence: items {} and {} differ beside axis {}",
                     to_text(parts[0].dims()), to_text(p.dims()), axis);
    dims[static_cast<std::size_t>(axis)] += p.dim(axis);
  }
  Tensor out(parts[0].dtype(), dims);
  const std::int64_t inner = num_elements(Dims(dims.begin() + axis + 1, dims.end())),
                     outer = num_elements(Dims(dims.begin(), dims.begin() + axis));
  std::int64_t start = 0;
  for (const Tensor& p : parts) {
    const std::int64_t run = p.dim(axis) * inner;
    for (std::int64_t o = 0; o < outer; ++o)
      copy_run(p, o * run, out, o * out.dim(axis) * inner + start, run);
    start += run;
  }
  return Datums{Datum(out)};
}

Values gradient(B g, const Call& c, const Values& dys) {
  return {g.split_like_sequence(dys[0], c.value(0), c.node().attrs())};
}

}  // namespace

OpPage concat_from_sequence() {
  OpPage p =
      sequence_page("concat_from_sequence",
                    "the items one after the other along `axis`, or side by side along a new one");
  p.inputs = {sequence_input("sequence")};
  p.attrs = {AttrSpec::required("axis", Attr::Kind::integer), {"new_axis", false}};
  p.infer = infer;
  p.eval = eval;
  p.gradient = gradient;
  const std::vector<Tensor> same = {Tensor::zeros(DType::f32, {2, 3}),
                                    Tensor::full(DType::f32, {2, 3}, 1)},
                            wider = {Tensor::zeros(DType::f32, {2, 3}),
                                     Tensor::full(DType::f32, {2, 1}, 1)};
  p.samples = {sample({{}}).sequence(0, same).with({{"axis", 0}}),
               sample({{}}).sequence(0, wider).with({{"axis", -1}}),
               sample({{}}).sequence(0, same).with({{"axis", -1}, {"new_axis", true}}),
               sample({{}}).sequence(0, same).with({{"axis", 1}, {"new_axis", true}})};
  return p;
}

}  // namespace tenon::ops
