// equal(a, b): whether a == b, element by element.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::equal(x[0], x[1]); }

// Compares elements of vectors (texts or complex numbers) under broadcasting.
template <class V>
Tensor compare(const V& a, const V& b, const Dims& a_dims, const Dims& b_dims) {
  const Dims out = broadcast_dims(a_dims, b_dims);
  const Dims left = broadcast_strides(a_dims, out), right = broadcast_strides(b_dims, out);
  std::vector<std::int64_t> same;
  for_each_index(out, [&](const Dims& at, std::int64_t) {
    const auto i = static_cast<std::size_t>(offset_of(at, left)),
               k = static_cast<std::size_t>(offset_of(at, right));
    same.push_back(a[i] == b[k]);
  });
  return from_int64s(same, DType::boolean, out);
}

// Strings and complex numbers.
Result<Datums> eval(const EvalCall& e) {
  const Tensor &a = e.in(0), &b = e.in(1);
  if (a.dtype() != DType::string)
    return Datums{Datum(compare(to_complexes(a), to_complexes(b), a.dims(), b.dims()))};
  return Datums{Datum(compare(a.data<std::string>(), b.data<std::string>(), a.dims(), b.dims()))};
}

}  // namespace

OpPage equal() {
  OpPage p = elementwise({
      .name = "equal",
      .doc = "y = a == b, with broadcasting; false when either is NaN; for every element type",
      .inputs = {{"a", kAny}, {"b", kAny}},
      .scalar = scalar,
      .gradient = none("boolean result"),
      .samples = {sample({{2, 3}, {3}}), sample({{4}, {4}}).all(DType::u64).range(0, 9),
                  sample({{4}, {}}).all(DType::boolean).range(0, 1),
                  sample({{2, 4}, {4}}).all(DType::string), sample({{3}, {3}}).all(DType::c64),
                  rejects({{2}, {3}}, "do not broadcast")},
      .traits = {Trait::commutative},
  });
  p.eval = eval;
  return p;
}

}  // namespace tenon::ops
