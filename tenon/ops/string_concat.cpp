// string_concat(a, b): texts joined, with broadcasting.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  if (!c.in(0).ranked() || !c.in(1).ranked()) return Types{Type::unranked(DType::string)};
  return Types{Type(DType::string, TENON_TRY(broadcast(c.in(0).shape(), c.in(1).shape())))};
}

Result<Datums> eval(const EvalCall& e) {
  const Dims out = broadcast_dims(e.in(0).dims(), e.in(1).dims());
  const Dims step_a = broadcast_strides(e.in(0).dims(), out),
             step_b = broadcast_strides(e.in(1).dims(), out);
  Tensor y(DType::string, out);
  const auto a = e.in(0).data<std::string>(), b = e.in(1).data<std::string>();
  auto to = y.data<std::string>();
  for_each_index(out, [&](const Dims& at, std::int64_t k) {
    to[static_cast<std::size_t>(k)] = a[static_cast<std::size_t>(offset_of(at, step_a))] +
                                      b[static_cast<std::size_t>(offset_of(at, step_b))];
  });
  return Datums{Datum(y)};
}

Cost cost(const Call& c) { return {c.out(0).count(), c.bytes_in(), c.bytes_out()}; }

}  // namespace

OpPage string_concat() {
  return {.name = "string_concat",
          .doc = "y = a followed by b, element by element, with broadcasting",
          .inputs = {{"a", kString}, {"b", kString}},
          .traits = {Trait::text},
          .infer = infer,
          .eval = eval,
          .decompose = none("core: works on text"),
          .gradient = none("text has no derivative"),
          .cost = cost,
          .sharding = factors("..., ... -> ..."),
          .samples = {sample({{2, 4}, {2, 4}}).all(DType::string),
                      sample({{3, 1}, {2}}).all(DType::string), sample({{}, {}}).all(DType::string),
                      rejects({{2}, {3}}, "do not broadcast").all(DType::string),
                      rejects({{2}, {2}}, "must be one of string")}};
}

}  // namespace tenon::ops
