// resize(x, roi, scales, sizes): x sampled at other sizes.
#include <cmath>

#include "tenon/ops/movements.h"
#include "tenon/ops/resampling.h"

namespace tenon::ops {
namespace {

// floor(n * scale) where a double holds the scale as a short binary fraction; else only the data
// tells.
std::optional<Dim> scaled_dim(const Dim& n, float scale) {
  if (n.is_constant()) return Dim(scaled_size(n.value(), scale));
  for (std::int64_t denominator = 1; denominator <= 256; denominator *= 2) {
    const double numerator = static_cast<double>(scale) * static_cast<double>(denominator);
    if (numerator == std::floor(numerator) && numerator < 1e6)
      return floor_div(n * Dim(static_cast<std::int64_t>(numerator)), Dim(denominator));
  }
  return std::nullopt;
}

// The size of named axis i, as far as it is known before x's sizes are.
Result<Dim> size_of_named(const Call& c, std::size_t i, int axis) {
  const Dim unknown = c.fresh_dim(fmt::format("d{}", axis));
  const auto in_range = [&](std::size_t n) -> Status {
    TENON_EXPECT(i < n, "scales and sizes have one number for each axis", c.in(0));
    return {};
  };
  if (auto sizes = c.dims(3); sizes && !sizes->empty()) {
    TENON_TRY(in_range(sizes->size()));
    return c.text("keep_aspect_ratio_policy") == "stretch" ? (*sizes)[i] : unknown;
  }
  if (auto scales = c.constant(2); scales && scales->count() > 0) {
    TENON_TRY(in_range(static_cast<std::size_t>(scales->count())));
    return scaled_dim(c.in(0).dim(axis),
                      static_cast<float>(element(*scales, static_cast<std::int64_t>(i))))
        .value_or(unknown);
  }
  return unknown;
}

Result<Types> infer(const Call& c) {
  const Type& x = c.in(0);
  TENON_TRY(check_resampling(c));
  TENON_EXPECT(c.has(2) || c.has(3), "one of scales and sizes is given", x);
  if (!x.ranked()) return Types{x};
  const auto axes = TENON_TRY(resampled_axes(c, x.ndim()));
  const auto dims = constant_dims(x.shape());
  const bool all_known = dims && (!c.has(1) || c.constant(1)) && (!c.has(2) || c.constant(2)) &&
                         (!c.has(3) || c.constant(3));
  if (all_known) return Types{x.with_shape(to_shape(TENON_TRY(resampling_of(c, 1, *dims)).out))};
  Type out = x;
  for (std::size_t i = 0; i < axes.size(); ++i)
    out = out.with_dim(axes[i], TENON_TRY(size_of_named(c, i, axes[i])));
  return Types{out};
}

// Axis by axis: the filters are separable. Integers round to nearest and saturate.
Result<Datums> eval(const EvalCall& e) {
  const Tensor& x = e.in(0);
  const Resampling r = TENON_TRY(resampling_of(e.call, 1, x.dims()));
  std::vector<double> y = to_doubles(x);
  Dims dims = x.dims();
  for (const AxisTaps& t : r.axes) y = read_axis(y, dims, t);
  if (e.call.text("coordinate_transformation_mode") == "tf_crop_and_resize")
    for_each_index(dims, [&](const Dims& at, std::int64_t k) {
      for (const AxisTaps& t : r.axes)
        if (t.outside[static_cast<std::size_t>(at[static_cast<std::size_t>(t.axis)])])
          y[static_cast<std::size_t>(k)] = e.call.real("extrapolation_value");
    });
  if (!is_floating(x.dtype())) {
    const bool is_signed = class_of(x.dtype()) == DTypeClass::signed_integer;
    const int bits = bits_of(x.dtype()) - (is_signed ? 1 : 0);
    const double high = std::ldexp(1.0, bits) - 1, low = is_signed ? -std::ldexp(1.0, bits) : 0;
    for (double& v : y) v = std::min(std::max(std::nearbyint(v), low), high);
  }
  return Datums{Datum(from_doubles(y, x.dtype(), dims))};
}

// Linear in x. roi, scales and sizes steer where x is read and are taken as given.
Values gradient(B g, const Call& c, const Values& dys) {
  Values args = {dys[0], g.shape(c.value(0))};
  for (int i = 1; i < 4; ++i) args.push_back(c.value(i));
  return {g.resize_adjoint(args, c.node().attrs()), nullptr, nullptr, nullptr};
}

// Two taps an axis for linear, four for cubic; multiply and add.
Cost cost(const Call& c) {
  const std::string& mode = c.text("mode");
  return {c.out(0).count() * Dim(mode == "nearest"  ? 1
                                 : mode == "linear" ? 8
                                                    : 16),
          c.bytes_in(), c.bytes_out()};
}

// Axes that keep their size go through.
Result<Factors> sharding(const Call& c) {
  Factors f = all_whole(c);
  auto scales = c.constant(2);
  const auto axes = TENON_TRY(resampled_axes(c, c.in(0).ndim()));
  for (int i = 0; i < c.in(0).ndim(); ++i) {
    const auto at = std::find(axes.begin(), axes.end(), i) - axes.begin();
    const bool unnamed = at == static_cast<std::ptrdiff_t>(axes.size());
    if (unnamed || (scales && scales->count() > at && element(*scales, at) == 1 &&
                    c.text("coordinate_transformation_mode") != "tf_crop_and_resize"))
      f.inputs[0][static_cast<std::size_t>(i)] = f.outputs[0][static_cast<std::size_t>(i)] =
          fmt::format("d{}", i);
  }
  return f;
}

std::vector<Sample> samples() {
  const auto by_scales = [](Dims dims, std::vector<float> s, Attrs a) {
    return sample({std::move(dims), {}, {}})
        .absent(1)
        .known(2, Tensor::vector(s))
        .with(std::move(a));
  };
  const auto by_sizes = [](Dims dims, Dims s, Attrs a) {
    return sample({std::move(dims), {}, {}, {}})
        .absent(1)
        .absent(2)
        .known(3, i64s(s))
        .with(std::move(a));
  };
  std::vector<Sample> all = {
      by_scales({2, 1, 2, 3}, {1, 1, 2, 3}, {}),
      by_scales({4, 4, 4}, {1, 0.6F, 0.8F}, {{"mode", "linear"}}),
      by_scales({1, 3, 4}, {1, 2, 1.5F},
                {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}}),
      by_scales({4, 5}, {0.8F, 2}, {{"mode", "cubic"}}),
      by_scales({4, 5}, {0.8F, 2},
                {{"mode", "cubic"}, {"exclude_outside", true}, {"cubic_coeff_a", -0.5}}),
      by_scales({6, 8}, {0.5F, 0.6F}, {{"mode", "linear"}, {"antialias", true}}),
      by_scales({6, 8}, {0.5F, 0.6F}, {{"mode", "cubic"}, {"antialias", true}}),
      by_scales({4}, {1.6F},
                {{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}}),
      by_scales({4}, {2.5F},
                {{"coordinate_transformation_mode", "half_pixel_symmetric"}, {"mode", "linear"}}),
      by_sizes({2, 3, 4}, {2, 7, 1},
               {{"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}}),
      by_sizes({4, 2, 4}, {7, 8}, {{"axes", Dims{1, 2}}, {"nearest_mode", "ceil"}}),
      by_sizes({2, 4}, {6, 7},
               {{"keep_aspect_ratio_policy", "not_larger"}, {"nearest_mode", "round_prefer_ceil"}}),
      by_sizes({2, 4}, {6, 7}, {{"keep_aspect_ratio_policy", "not_smaller"}}),
      sample({{4, 5}, {4}, {0}, {2}})
          .known(1, Tensor::vector<float>({0.4F, 0.6F, 0.6F, 1.3F}))
          .absent(2)
          .known(3, i64s({3, 3}))
          .with({{"mode", "linear"},
                 {"coordinate_transformation_mode", "tf_crop_and_resize"},
                 {"extrapolation_value", 10.0}})
          .without_gradient("the region is taken as given"),
      sample({{3, 4}, {}, {}, {2}}).absent(1).absent(2).given(3, i64s({2, 5})),
      rejects({{3, 4}, {}, {2}}, "mode is 'area'")
          .absent(1)
          .known(2, Tensor::vector<float>({1, 2}))
          .with({{"mode", "area"}}),
      rejects({{3, 4}, {}, {1}}, "one number for each axis")
          .absent(1)
          .known(2, Tensor::vector<float>({2}))};
  return all;
}

}  // namespace

OpPage resize() {
  return {
      .name = "resize",
      .doc =
          "x at other sizes: `scales` or `sizes` for each of `axes` (all by default); every output "
          "element is the nearest input element, or a linear or cubic combination, at the place "
          "that "
          "coordinate_transformation_mode says; antialias widens the filter when shrinking; "
          "tf_crop_and_resize samples the region `roi` (begins, then ends, in [0, 1]) and gives "
          "extrapolation_value outside of x",
      .inputs = {{"x", kNumeric},
                 maybe("roi", kFloat, "R"),
                 maybe("scales", TypeSet::one(DType::f32), "S"),
                 maybe("sizes", kIndex, "I")},
      .attrs = resampling_attrs(),
      .infer = infer,
      .eval = eval,
      .decompose = none("core: where x is read is arithmetic on sizes"),
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .samples = samples()};
}

}  // namespace tenon::ops
