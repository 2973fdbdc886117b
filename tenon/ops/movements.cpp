// Views, unknown sizes and sharding shared by the movement pages.
#include "tenon/ops/movements.h"

#include <algorithm>

namespace tenon::ops {

Result<Datums> eval_view(const EvalCall& e) {
  auto types = TENON_TRY(e.call.op().infer(e.call));
  return Datums{Datum(e.in(0).reshaped(*constant_dims(types[0].shape())))};
}

Shape unknown_shape(const Call& c, int ndim) {
  Shape shape;
  for (int i = 0; i < ndim; ++i) shape.push_back(c.fresh_dim(fmt::format("d{}", i)));
  return shape;
}

std::optional<std::int64_t> known_length(const Call& c, int i) {
  if (!c.has(i) || !c.in(i).ranked()) return std::nullopt;
  if (c.in(i).ndim() == 0) return 1;
  return c.in(i).ndim() == 1 ? c.in(i).dim(0).known() : std::nullopt;
}

std::vector<std::string> axis_names(int ndim, const std::vector<int>& whole) {
  std::vector<std::string> names;
  for (int i = 0; i < ndim; ++i)
    names.push_back(std::find(whole.begin(), whole.end(), i) == whole.end() ? fmt::format("d{}", i)
                                                                            : "");
  return names;
}

Factors all_whole(const Call& c) {
  const auto whole = [](const Type& t) {
    return std::vector<std::string>(static_cast<std::size_t>(t.ranked() ? t.ndim() : 0), "");
  };
  Factors f;
  for (int i = 0; i < c.num_inputs(); ++i)
    f.inputs.push_back(c.has(i) ? whole(c.in(i)) : std::vector<std::string>());
  for (int i = 0; i < c.num_outputs(); ++i) f.outputs.push_back(whole(c.out(i)));
  return f;
}

Factors axes_through(const Call& c, const std::vector<int>& whole) {
  Factors f = all_whole(c);
  f.inputs[0] = axis_names(c.in(0).ndim(), whole);
  for (auto& names : f.outputs) names = f.inputs[0];
  return f;
}

Value* iota_along(B g, Value* size, int axis, int ndim) {
  const auto scalar = [&](std::int64_t v) { return g.constant(Tensor::scalar<std::int64_t>(v)); };
  Value* iota = g.range(scalar(0), g.reshape(size, g.ints({})), scalar(1));
  std::vector<std::int64_t> shape(static_cast<std::size_t>(ndim), 1);
  if (ndim > 0) shape[static_cast<std::size_t>(axis)] = -1;
  if (auto n = iota->type().ranked() ? iota->type().dim(0).known() : std::nullopt; n && ndim > 0)
    shape[static_cast<std::size_t>(axis)] = *n;
  return g.reshape(iota, g.ints(shape), Attrs{{"allow_zero", true}});
}

Value* size_of_axis(B g, Value* x, int axis) {
  if (auto n = x->type().dim(axis).known()) return g.ints({*n});
  return g.shape(x, Attrs{{"start", axis}, {"end", axis + 1}});
}

}  // namespace tenon::ops
