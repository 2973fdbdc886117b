// where(condition, a, b): elements of a or b, as the condition says.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Expr scalar(const Call&, const Exprs& x) { return scalar::select(x[0], x[1], x[2]); }

// Strings and complex numbers: copies.
Result<Datums> eval(const EvalCall& e) {
  const Tensor &condition = e.in(0), &a = e.in(1), &b = e.in(2);
  const Dims out = broadcast_dims(condition.dims(), broadcast_dims(a.dims(), b.dims()));
  Tensor y = copy_elements(
      b, out, [steps = broadcast_strides(b.dims(), out)](const Dims& at, std::int64_t) {
        return offset_of(at, steps);
      });
  const Dims choice = broadcast_strides(condition.dims(), out),
             source = broadcast_strides(a.dims(), out);
  const auto size = static_cast<std::size_t>(size_of(a.dtype()));
  for_each_index(out, [&](const Dims& at, std::int64_t k) {
    if (!integer_element(condition, offset_of(at, choice))) return;
    const auto from = static_cast<std::size_t>(offset_of(at, source)),
               to = static_cast<std::size_t>(k);
    if (a.dtype() == DType::string)
      y.data<std::string>()[to] = a.data<std::string>()[from];
    else
      std::memcpy(y.raw() + to * size, a.raw() + from * size, size);
  });
  return Datums{Datum(y)};
}

// dy goes to the side that was taken
Values gradient(B g, const Call& c, const Values& dys) {
  Value *condition = c.value(0), *zero = g.number(0, dys[0]);
  return {nullptr, g.sum_to(g.where(condition, dys[0], zero), c.value(1)),
          g.sum_to(g.where(condition, zero, dys[0]), c.value(2))};
}

}  // namespace

OpPage where() {
  OpPage p = elementwise({
      .name = "where",
      .doc = "y = a where condition holds, else b, with broadcasting; for every element type",
      .inputs = {{"condition", kBool, "C"}, {"a", kAny}, {"b", kAny}},
      .scalar = scalar,
      .gradient = gradient,
      .samples =
          {sample({{2, 3}, {2, 3}, {2, 3}})
               .dtypes({DType::boolean, DType::f32, DType::f32})
               .range_of(0, 0, 1),
           sample({{3, 1}, {2, 3, 4}, {}})
               .dtypes({DType::boolean, DType::f64, DType::f64})
               .range_of(0, 0, 1),
           sample({{4}, {4}, {4}}).dtypes({DType::boolean, DType::u64, DType::u64}).range(0, 1),
           sample({{2, 2}, {1}, {2, 2}})
               .dtypes({DType::boolean, DType::string, DType::string})
               .range_of(0, 0, 1),
           sample({{4}, {4}, {}})
               .dtypes({DType::boolean, DType::c64, DType::c64})
               .range_of(0, 0, 1),
           rejects({{2}, {3}, {3}}, "do not broadcast")
               .dtypes({DType::boolean, DType::f32, DType::f32})},
  });
  p.eval = eval;
  return p;
}

}  // namespace tenon::ops
