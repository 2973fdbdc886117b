// det(x): determinants of square matrices.
#include "tenon/ops/op_page.h"

namespace tenon::ops {
namespace {

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{x};
  TENON_EXPECT(x.ndim() >= 2, "x is [..., n, n]", x);
  TENON_EXPECT_SAME(x.dim(-1), x.dim(-2), "x.cols == x.rows");
  return Types{x.with_shape(Shape(x.shape().begin(), x.shape().end() - 2))};
}

// Gaussian elimination with row exchanges: the product of the pivots.
double determinant(std::vector<double> a, std::size_t n) {
  double det = 1;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < n; ++r)
      if (std::fabs(a[r * n + i]) > std::fabs(a[pivot * n + i])) pivot = r;
    if (a[pivot * n + i] == 0) return 0;
    if (pivot != i) {
      det = -det;
      for (std::size_t k = i; k < n; ++k) std::swap(a[i * n + k], a[pivot * n + k]);
    }
    det *= a[i * n + i];
    for (std::size_t r = i + 1; r < n; ++r) {
      const double f = a[r * n + i] / a[i * n + i];
      for (std::size_t k = i + 1; k < n; ++k) a[r * n + k] -= f * a[i * n + k];
    }
  }
  return det;
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const auto n = static_cast<std::size_t>(x.dim(-1));
  const auto values = to_doubles(x);
  const Dims out(x.dims().begin(), x.dims().end() - 2);
  std::vector<double> y;
  for (std::int64_t k = 0; k < num_elements(out); ++k) {
    const auto from = values.begin() + k * static_cast<std::int64_t>(n * n);
    y.push_back(determinant(std::vector<double>(from, from + static_cast<std::int64_t>(n * n)), n));
  }
  return Datums{Datum(narrow(y, x.dtype(), out))};
}

// dx[i, j] = dy * cofactor[i, j], and a cofactor is the determinant of x with row i replaced by the
// unit row e_j. Unlike det(x) * inverse(x)^T this also holds where x is singular.
Values gradient(B g, const Call& c, const Values& dys) {
  const auto n = c.in(0).dim(-1).known();
  if (!n) {
    g.builder().fail(unsupported("det: the gradient needs a known matrix size"));
    return {nullptr};
  }
  const DType d = c.in(0).dtype();
  std::vector<double> keep(static_cast<std::size_t>(*n * *n), 1),
      unit(static_cast<std::size_t>(*n * *n * *n * *n), 0);
  for (std::int64_t i = 0; i < *n; ++i) {
    keep[static_cast<std::size_t>(i * (*n + 1))] = 0;
    for (std::int64_t j = 0; j < *n; ++j)
      unit[static_cast<std::size_t>(((i * *n + j) * *n + i) * *n + j)] = 1;
  }
  Value* x = g.unsqueeze(c.value(0), g.ints({-3, -4}));
  Value* others = g.mul(x, g.constant(from_doubles(keep, d, {*n, 1, *n, 1})));
  Value* cofactors = g.det(g.add(others, g.constant(from_doubles(unit, d, {*n, *n, *n, *n}))));
  return {g.mul(g.unsqueeze(dys[0], g.ints({-1, -2})), cofactors)};
}

// n^3 / 3 multiplications and as many subtractions for each matrix
Cost cost(const Call& c) {
  const Dim& n = c.in(0).dim(-1);
  return {floor_div(Dim(2) * c.in(0).count() * n, Dim(3)), c.bytes_in(), c.bytes_out()};
}

}  // namespace

OpPage det() {
  return {.name = "det",
          .doc = "determinant of the last two axes",
          .inputs = {{"x", kFloat}},
          .infer = infer,
          .eval = eval,
          .decompose = none("core"),
          .gradient = gradient,
          .cost = cost,
          .sharding = factors("... _ _ -> ..."),
          .samples = {
              sample({{3, 3}}), sample({{2, 4, 2, 2}}), sample({{1, 1}}),
              sample({{2, 2}}).given(0, Tensor::of<float>({2, 2}, std::vector<float>{1, 2, 2, 4})),
              rejects({{2, 3}}, "x.cols is 3 but x.rows is 2")}};
}

}  // namespace tenon::ops
