// size(x): the number of elements of x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call&) { return Types{Type(DType::i64, {})}; }

std::optional<std::vector<Dim>> contents(const Call& c) {
  if (!c.in(0).ranked()) return std::nullopt;
  return std::vector<Dim>{c.in(0).count()};
}

Result<Datums> eval(const EvalCall& e) {
  return Datums{Datum(Tensor::scalar<std::int64_t>(e.in(0).count()))};
}
Cost cost(const Call& c) { return {Dim(0), Dim(0), c.bytes_out()}; }

}  // namespace

OpPage size() {
  return {.name = "size",
          .doc = "number of elements of x, as an i64 scalar",
          .inputs = {{"x", kAny}},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = none("integer result"),
          .cost = cost,
          .sharding = none("the result speaks of the whole tensor, not of a part"),
          .contents = contents,
          .samples = {sample({{2, 3, 4}}), sample({{}}), sample({{3, 0}})}};
}

}  // namespace tenon::ops
