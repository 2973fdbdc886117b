// Targets, weights and reductions of classification losses.
#include "tenon/ops/losses.h"

namespace tenon::ops {

std::vector<InputSpec> loss_inputs() {
  return {{"x", kFloat}, {"target", kIndex, "I"}, maybe("weight", kFloat)};
}
std::vector<AttrSpec> loss_attrs() {
  return {{"reduction", "mean"}, AttrSpec::optional("ignore_index", Attr::Kind::integer)};
}

Result<Type> infer_loss(const Call& c) {
  const Type &x = c.in(0), &target = c.in(1);
  const std::string& reduction = c.text("reduction");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return invalid("reduction is none, sum or mean but '{}' is given", reduction);
  if (x.ranked()) {
    if (x.ndim() < 2) return invalid("x is [n, classes, ...] but {} is given", x.text());
    if (c.has(2) && c.in(2).ranked())
      TENON_EXPECT_SAME(c.in(2).dim(0), x.dim(1), "weight.size == x.classes");
    if (target.ranked()) {
      if (target.ndim() != x.ndim() - 1)
        return invalid("target is {} but x is {}", target.text(), x.text());
      for (int i = 0; i < target.ndim(); ++i)
        TENON_EXPECT_SAME(target.dim(i), x.dim(i == 0 ? 0 : i + 1), "target.size == x.size");
    }
  }
  if (reduction != "none") return Type(x.dtype(), {});
  return target.ranked() ? target.with_dtype(x.dtype()) : Type::unranked(x.dtype());
}

Targets targets_of(B g, const Call& c, DType dtype) {
  Value *target = c.value(1), *live = nullptr;
  if (c.has_attr("ignore_index")) {
    live = g.not_equal(target,
                       g.constant(from_int64s(std::vector<std::int64_t>{c.integer("ignore_index")},
                                              c.in(1).dtype(), {})));
    target = g.masked(live, target);
  }
  Value* weights = c.has(2) ? g.gather(g.cast_to(c.value(2), dtype), target)
                            : g.expand(g.number(1, dtype), g.shape(target));
  return {target, live ? g.masked(live, weights) : weights};
}

Value* loss_of(B g, const Call& c, Value* log_p) {
  const Targets t = targets_of(g, c, log_p->type().dtype());
  Value* picked = g.reshape_like(
      g.gather_elements(log_p, g.unsqueeze(t.classes, g.ints({1})), Attrs{{"axis", 1}}), t.classes);
  // An ignored target may have picked an infinity.
  Value *zero = g.number(0, picked),
        *each = g.where(g.equal(t.weights, zero), zero, g.neg(g.mul(picked, t.weights)));
  if (c.text("reduction") == "none") return each;
  const Attrs all = {{"keepdims", false}};
  if (c.text("reduction") == "sum") return g.reduce_sum(each, all);
  const bool counts = c.has(2) || c.has_attr("ignore_index");
  return counts ? g.div(g.reduce_sum(each, all), g.reduce_sum(t.weights, all))
                : g.reduce_mean(each, all);
}

Value* loss_shares(B g, const Call& c, const Targets& t, Value* dy) {
  Value* dy_wide = g.cast_to(dy, t.weights->type().dtype());
  if (c.text("reduction") == "mean")
    dy_wide = g.div(dy_wide, g.reduce_sum(t.weights, Attrs{{"keepdims", false}}));
  return g.unsqueeze(g.mul(t.weights, dy_wide), g.ints({1}));
}

Value* is_target(B g, const Call& c, const Targets& t) {
  return g.equal(g.unsqueeze(t.classes, g.ints({1})),
                 positions_along(g, c.value(0), 1, c.in(1).dtype()));
}

Result<Factors> sharding_loss(const Call& c) {
  Factors f;
  const auto names = [](int ndim, bool has_classes) {
    std::vector<std::string> out;
    for (int i = 0; i < ndim; ++i)
      out.push_back(has_classes && i == 1 ? ""
                                          : fmt::format("d{}", has_classes && i > 1 ? i - 1 : i));
    return out;
  };
  f.inputs = {names(c.in(0).ndim(), true), names(c.in(1).ndim(), false)};
  if (c.num_inputs() > 2) f.inputs.emplace_back(c.has(2) ? 1 : 0, "");
  f.outputs = {c.text("reduction") == "none" ? f.inputs[1] : std::vector<std::string>{}};
  if (c.num_outputs() > 1) f.outputs.push_back(f.inputs[0]);
  if (c.text("reduction") == "mean") f.whole_factors = f.inputs[1];
  return f;
}

}  // namespace tenon::ops
