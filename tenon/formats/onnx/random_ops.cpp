// Random numbers: the seed attribute goes over; without one a fixed seed of the node's position
// counts.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

// ONNX's seed is a float. Without one each node gets its own stream, the same on every run.
std::int64_t seed_of(Context& c) {
  if (c.has_attr("seed")) return static_cast<std::int64_t>(c.real("seed", 0));
  return 1 + c.node().index;
}

Attrs range_attrs(Context& c) {
  Attrs attrs{{"seed", seed_of(c)}};
  const bool is_normal = c.row().page.starts_with("random_normal");
  const char *first = is_normal ? "mean" : "low", *second = is_normal ? "scale" : "high";
  attrs.set(first, c.real(first, 0));
  attrs.set(second, c.real(second, 1));
  return attrs;
}

Values random(Context& c) {
  Attrs attrs = range_attrs(c);
  attrs.set("shape", c.integers("shape"));
  attrs.set("dtype", c.element_type("dtype", DType::f32));
  return {c.op(c.row().page, {}, std::move(attrs))};
}

Values random_like(Context& c) {
  Attrs attrs = range_attrs(c);
  if (c.has_attr("dtype")) attrs.set("dtype", c.element_type("dtype", DType::f32));
  return {c.op(c.row().page, {c.in(0)}, std::move(attrs))};
}

Values bernoulli(Context& c) {
  Attrs attrs{{"seed", seed_of(c)}};
  if (c.has_attr("dtype")) attrs.set("dtype", c.element_type("dtype", DType::f32));
  return {c.op("bernoulli", {c.in(0)}, std::move(attrs))};
}

Values multinomial(Context& c) {
  return {c.op("multinomial", {c.in(0)},
               {{"seed", seed_of(c)},
                {"sample_size", c.integer("sample_size", 1)},
                {"dtype", c.element_type("dtype", DType::i32)}})};
}

}  // namespace

void add_random_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page,
                       int first = 1) { rows.push_back({"", op, convert, page, {}, first}); };
  add("RandomNormal", random, "random_normal");
  add("RandomUniform", random, "random_uniform");
  add("RandomNormalLike", random_like, "random_normal_like");
  add("RandomUniformLike", random_like, "random_uniform_like");
  add("Bernoulli", bernoulli, "bernoulli", 15);
  add("Multinomial", multinomial, "multinomial", 7);
}

}  // namespace tenon::onnx
