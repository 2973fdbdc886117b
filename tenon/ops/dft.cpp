// dft(x, dft_length, axis; inverse, onesided): the discrete Fourier transform along an axis.
#include <map>

#include "tenon/ops/fourier.h"
#include "tenon/ops/movements.h"

namespace tenon::ops {
namespace {

// The last axis holds (real) or (real, imaginary) and is not transformed.
Result<std::optional<int>> transformed_axis(const Call& c, int ndim) {
  TENON_EXPECT(ndim >= 2, "x.ndim >= 2", c.in(0));
  if (!c.has(2)) return std::optional(ndim - 2);
  auto known = c.known_integers(2);
  if (!known) return std::optional<int>();
  TENON_EXPECT(known->size() == 1, "axis is one number");
  const int axis = TENON_TRY(c.axis((*known)[0], ndim));
  TENON_EXPECT(axis != ndim - 1, "axis is not the one of real and imaginary parts", c.in(0));
  return std::optional(axis);
}

bool from_half(const Call& c) { return c.flag("inverse") && c.flag("onesided"); }
bool to_half(const Call& c) { return !c.flag("inverse") && c.flag("onesided"); }

// Points of the transform: dft_length, or what x has (2 (m - 1) for m of one side).
Dim length_of(const Call& c, const Dim& size) {
  if (c.has(1)) {
    auto given = c.dims(1);
    return given && given->size() == 1 ? (*given)[0] : c.fresh_dim("length");
  }
  return from_half(c) ? (size - Dim(1)) * Dim(2) : size;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  if (!x.ranked()) return Types{x};
  auto axis = TENON_TRY(transformed_axis(c, x.ndim()));
  if (auto parts = x.dim(-1).known())
    TENON_EXPECT(*parts == 1 || *parts == 2, "x.last is 1 (real) or 2 (real, imaginary)", x);
  Type out = x.with_dim(-1, Dim(from_half(c) ? 1 : 2));
  if (!axis)
    return Types{
        out.with_shape(unknown_shape(c, x.ndim())).with_dim(-1, Dim(from_half(c) ? 1 : 2))};
  const Dim n = length_of(c, x.dim(*axis));
  return Types{out.with_dim(*axis, to_half(c) ? floor_div(n, Dim(2)) + Dim(1) : n)};
}

// One line: n points in, n points out, missing ones 0; an inverse of one side completes by
// symmetry.
void transform(std::vector<std::complex<double>>& line, const FourierTransform& f, bool inverse,
               bool half) {
  const auto n = static_cast<std::size_t>(f.length());
  if (half)
    for (std::size_t k = n / 2 + 1; k < n; ++k) line[k] = std::conj(line[n - k]);
  if (half && n > 0) {
    line[0] = line[0].real();
    if (n % 2 == 0) line[n / 2] = line[n / 2].real();
  }
  if (inverse)
    for (auto& v : line) v = std::conj(v);
  f.run(line.data());
  if (inverse)
    for (auto& v : line) v = std::conj(v) / static_cast<double>(n);
}

Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  auto types = TENON_TRY(e.call.op().infer(e.call));
  const Dims dims = *constant_dims(types[0].shape());
  const int axis = **transformed_axis(e.call, x.ndim());
  const std::int64_t n = length_of(e.call, Dim(x.dim(axis))).value(), in = x.dim(axis),
                     out = dims[static_cast<std::size_t>(axis)], parts = x.dim(-1),
                     out_parts = dims.back();
  if (n < 1) return invalid("dft: {} points are no transform", n);
  const FourierTransform f(n);
  const auto values = to_doubles(x);
  std::vector<double> y(static_cast<std::size_t>(num_elements(dims)));
  const std::int64_t inner = num_elements(Dims(x.dims().begin() + axis + 1, x.dims().end() - 1)),
                     outer = num_elements(Dims(x.dims().begin(), x.dims().begin() + axis));
  std::vector<std::complex<double>> line(static_cast<std::size_t>(n));
  const std::int64_t used = std::min(in, from_half(e.call) ? n / 2 + 1 : n);
  for (std::int64_t o = 0; o < outer * inner; ++o) {
    std::fill(line.begin(), line.end(), 0.0);
    for (std::int64_t k = 0; k < used; ++k) {
      const double* p = values.data() + ((o / inner * in + k) * inner + o % inner) * parts;
      line[static_cast<std::size_t>(k)] = {p[0], parts == 2 ? p[1] : 0};
    }
    transform(line, f, e.call.flag("inverse"), from_half(e.call));
    for (std::int64_t k = 0; k < out; ++k) {
      double* p = y.data() + ((o / inner * out + k) * inner + o % inner) * out_parts;
      p[0] = line[static_cast<std::size_t>(k)].real();
      if (out_parts == 2) p[1] = line[static_cast<std::size_t>(k)].imag();
    }
  }
  return Datums{Datum(from_doubles(y, x.dtype(), dims))};
}

// v cut or padded with zeros to `size` (a 1-d value of one element) along an axis.
Value* resized(B g, Value* v, Value* size, int axis) {
  Value* more = g.sub(size, g.shape(v, Attrs{{"start", axis}, {"end", axis + 1}}));
  return g.pad(v, g.concat(g.ints({0}), more, Attrs{{"axis", 0}}), nullptr, g.ints({axis}));
}

// The transform is linear over real and imaginary parts. With F the matrix of n points and F* its
// conjugate transpose: y = F P x gives dx = P' F* dy, where F* = n * inverse, and P pads; y = F* P
// x / n gives P' F dy / n; the inverse of one side, y = sum of w[k] Re(x[k] e^(...)) / n with w = 1
// at the ends and 2 between, gives w F dy / n.
Values gradient(B g, const Call& c, const Values& dys) {
  auto known = transformed_axis(c, c.in(0).ndim());
  if (!known.ok() || !*known) {
    g.builder().fail(unsupported("dft: the gradient needs an axis that is known"));
    return {nullptr};
  }
  const int axis = **known, ndim = c.in(0).ndim();
  Value *size = size_of_axis(g, c.value(0), axis), *n = size;
  if (c.has(1))
    n = g.reshape(g.cast_to(c.value(1), DType::i64), g.ints({1}));
  else if (from_half(c))
    n = g.mul(g.sub(size, g.ints({1})), g.ints({2}));
  Value *points = g.cast_to(n, c.in(0).dtype()),
        *axis_value = g.constant(Tensor::scalar<std::int64_t>(axis)), *dx = nullptr;
  if (!c.flag("inverse")) {
    dx = g.mul(g.dft(resized(g, dys[0], n, axis), nullptr, axis_value, Attrs{{"inverse", true}}),
               points);
  } else {
    dx = g.div(g.dft(dys[0], nullptr, axis_value, Attrs{{"onesided", from_half(c)}}), points);
    if (from_half(c)) {
      Value *k = iota_along(g, size_of_axis(g, dx, axis), axis, ndim), *zero = g.ints({0});
      const auto at = [&](Value* a, Value* b) { return g.cast_to(g.equal(a, b), c.in(0).dtype()); };
      Value* ends = g.add(at(k, zero), at(g.mul(k, g.ints({2})), n));
      dx = g.mul(dx, g.sub(g.number(2, dx), ends));
    }
  }
  dx = resized(g, dx, size, axis);
  if (c.in(0).dim(-1) == Dim(1)) dx = g.slice(dx, g.ints({0}), g.ints({1}), g.ints({-1}));
  return {dx, nullptr, nullptr};
}

// 5 n log2 n for every line; the logarithm taken as 10 where n is not known
Cost cost(const Call& c) {
  std::int64_t log = 10;
  if (auto axis = transformed_axis(c, c.in(0).ndim()); axis.ok() && *axis)
    if (auto n = c.out(0).dim(**axis).known())
      log = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(*n) + 1)));
  return {c.out(0).count() * Dim(3 * log), c.bytes_in(), c.bytes_out()};
}

Result<Factors> sharding(const Call& c) {
  auto axis = TENON_TRY(transformed_axis(c, c.in(0).ndim()));
  if (!axis) return all_whole(c);
  return axes_through(c, {*axis, c.in(0).ndim() - 1});
}

}  // namespace

OpPage dft() {
  const auto n = [](std::int64_t v) { return Tensor::scalar(v); };
  return {
      .name = "dft",
      .doc =
          "the discrete Fourier transform along `axis` (the one before the last by default) of "
          "x[..., 1] (real) or x[..., 2] (real and imaginary parts), cut or padded with zeros to "
          "dft_length "
          "points; onesided gives the first half and the middle only, or with `inverse` takes them "
          "and gives real numbers; an inverse divides by the number of points",
      .inputs = {{"x", kFloat}, maybe("dft_length", kIndex, "L"), maybe("axis", kIndex, "A")},
      .attrs = {{"inverse", false}, {"onesided", false}},
      .infer = infer,
      .eval = eval,
      .decompose =
          none("core: a product with the matrix of the transform would take n^2 operations"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = {
          sample({{2, 8, 1}}), sample({{4, 6, 2}}), sample({{2, 5, 1}}).with({{"onesided", true}}),
          sample({{2, 6, 2}}).with({{"inverse", true}}),
          sample({{2, 4, 2}}).with({{"inverse", true}, {"onesided", true}}),
          sample({{2, 3, 2}, {}}).given(1, n(5)).with({{"inverse", true}, {"onesided", true}}),
          sample({{2, 6, 1}, {}, {}}).known(1, n(4)).known(2, n(1)),
          sample({{3, 4, 2}, {}, {}}).known(1, n(7)).known(2, n(0)).with({{"onesided", true}}),
          rejects({{2, 4, 3}}, "x.last is 1 (real) or 2"),
          rejects({{2, 4, 1}, {}, {}}, "not the one of real and imaginary")
              .absent(1)
              .known(2, n(-1))}};
}

}  // namespace tenon::ops
