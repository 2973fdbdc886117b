// shape(x): the sizes of x.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

// [start, end) brought into [0, ndim], negative values counted from the end.
std::pair<int, int> range_of(const Call& c, int ndim) {
  const auto clamp = [&](std::int64_t v) {
    return static_cast<int>(
        std::min<std::int64_t>(ndim, std::max<std::int64_t>(0, v < 0 ? v + ndim : v)));
  };
  const int start = clamp(c.integer("start")),
            end = c.has_attr("end") ? clamp(c.integer("end")) : ndim;
  return {start, std::max(start, end)};
}

Result<Types> infer(const Call& c) {
  if (!c.in(0).ranked()) return Types{Type(DType::i64, {c.fresh_dim("ndim")})};
  const auto [start, end] = range_of(c, c.in(0).ndim());
  return Types{Type(DType::i64, {Dim(end - start)})};
}

std::optional<std::vector<Dim>> contents(const Call& c) {
  if (!c.in(0).ranked()) return std::nullopt;
  const auto [start, end] = range_of(c, c.in(0).ndim());
  return std::vector<Dim>(c.in(0).shape().begin() + start, c.in(0).shape().begin() + end);
}

Result<Datums> eval(const EvalCall& e) {
  const auto [start, end] = range_of(e.call, e.in(0).ndim());
  return Datums{
      Datum(Tensor::vector(Dims(e.in(0).dims().begin() + start, e.in(0).dims().begin() + end)))};
}

Cost cost(const Call& c) { return {Dim(0), Dim(0), c.bytes_out()}; }

}  // namespace

OpPage shape() {
  return {.name = "shape",
          .doc = "sizes of x as i64, axes [start, end)",
          .inputs = {{"x", kAny}},
          .attrs = {{"start", 0}, AttrSpec::optional("end", Attr::Kind::integer)},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = none("integer result"),
          .cost = cost,
          .sharding = none("the result speaks of the whole tensor, not of a part"),
          .contents = contents,
          .samples = {sample({{2, 3, 4}}), sample({{2, 3, 4}}).with({{"start", 1}}),
                      sample({{2, 3, 4}}).with({{"start", -2}, {"end", -1}}), sample({{}})}};
}

}  // namespace tenon::ops
