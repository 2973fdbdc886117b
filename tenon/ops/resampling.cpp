// Coordinates, filter weights and borders of resize. Source of the meaning: ONNX Resize (opset 19);
// cubic filter: Keys 1981, equation 4.
#include "tenon/ops/resampling.h"

#include <algorithm>
#include <cmath>

namespace tenon::ops {
namespace {

struct AxisPlan {
  std::int64_t in, out;
  double scale;
  double roi_begin = 0, roi_end = 1;
};

// Where output position o lies among the input positions.
double coordinate(const std::string& mode, const AxisPlan& a, std::int64_t o) {
  const double x = static_cast<double>(o), in = static_cast<double>(a.in), out = a.scale * in;
  if (mode == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (mode == "tf_crop_and_resize") {
    const double width = (a.roi_end - a.roi_begin) * (in - 1);
    return a.roi_begin * (in - 1) + (out == 1 ? width / 2 : x * width / (out - 1));
  }
  if (mode == "pytorch_half_pixel" && out == 1) return -0.5;
  const double centred = (x + 0.5) / a.scale - 0.5;
  return mode == "half_pixel_symmetric" ? in / 2 * (1 - static_cast<double>(a.out) / out) + centred
                                        : centred;
}

double linear_filter(double d) { return std::max(0.0, 1 - std::fabs(d)); }

double cubic_filter(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

std::int64_t nearest(double x, const std::string& mode) {
  const double down = std::floor(x), rest = x - down;
  if (mode == "floor") return static_cast<std::int64_t>(down);
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  const bool up = mode == "round_prefer_ceil" ? rest >= 0.5 : rest > 0.5;
  return static_cast<std::int64_t>(down) + up;
}

class TapBuilder {
 public:
  TapBuilder(const Call& c, const AxisPlan& plan)
      : mode_(c.text("mode")),
        nearest_mode_(c.text("nearest_mode")),
        cubic_a_(c.real("cubic_coeff_a")),
        exclude_outside_(c.flag("exclude_outside")),
        plan_(plan) {
    // Antialiasing widens the filter so that it covers every input between two outputs.
    stretch_ = c.flag("antialias") && mode_ != "nearest" ? std::min(plan.scale, 1.0) : 1.0;
    reach_ = static_cast<std::int64_t>(std::ceil((mode_ == "cubic" ? 2 : 1) / stretch_));
  }
  int taps() const { return mode_ == "nearest" ? 1 : static_cast<int>(2 * reach_); }

  // Taps around coordinate x, clamped to the axis.
  void add(double x, AxisTaps& t) const {
    if (mode_ == "nearest") {
      t.index.push_back(std::clamp<std::int64_t>(nearest(x, nearest_mode_), 0, plan_.in - 1));
      t.weight.push_back(1);
      return;
    }
    // The window is (x - reach, x + reach]; weights that fall on its open end are 0.
    const std::int64_t first = static_cast<std::int64_t>(std::ceil(x)) - reach_;
    const std::size_t start = t.weight.size();
    double sum = 0;
    for (std::int64_t i = first; i < first + 2 * reach_; ++i) {
      const double d = (static_cast<double>(i) - x) * stretch_;
      double w = mode_ == "cubic" ? cubic_filter(d, cubic_a_) : linear_filter(d);
      if (exclude_outside_ && (i < 0 || i >= plan_.in)) w = 0;
      sum += w;
      t.index.push_back(std::clamp<std::int64_t>(i, 0, plan_.in - 1));
      t.weight.push_back(w);
    }
    if ((exclude_outside_ || stretch_ < 1) && sum != 0)
      for (std::size_t k = start; k < t.weight.size(); ++k) t.weight[k] /= sum;
  }

 private:
  std::string mode_, nearest_mode_;
  double cubic_a_;
  bool exclude_outside_;
  AxisPlan plan_;
  double stretch_ = 1;
  std::int64_t reach_ = 1;
};

AxisTaps taps_of(const Call& c, int axis, const AxisPlan& plan) {
  const std::string& where = c.text("coordinate_transformation_mode");
  const TapBuilder builder(c, plan);
  AxisTaps t{.axis = axis, .in = plan.in, .out = plan.out, .taps = builder.taps()};
  for (std::int64_t o = 0; o < plan.out; ++o) {
    const double x = coordinate(where, plan, o);
    builder.add(x, t);
    const bool outside =
        where == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(plan.in - 1));
    t.outside.push_back(outside);
    if (outside) std::fill(t.weight.end() - t.taps, t.weight.end(), 0.0);
  }
  return t;
}

bool given(const Call& c, int i) {
  auto t = c.constant(i);
  return t && t->count() > 0;
}

// Sizes and scale of each named axis from `sizes`, under keep_aspect_ratio_policy.
Status plan_from_sizes(const Call& c, int input, std::vector<AxisPlan>& plans) {
  const auto sizes = integers(*c.constant(input));
  TENON_EXPECT(sizes.size() == plans.size(), "sizes has one number for each axis", c.in(0));
  const std::string& policy = c.text("keep_aspect_ratio_policy");
  double common = policy == "not_larger" ? HUGE_VAL : 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    TENON_EXPECT(sizes[i] >= 0, "sizes >= 0", c.in(0));
    plans[i].out = sizes[i];
    plans[i].scale = static_cast<double>(sizes[i]) / static_cast<double>(plans[i].in);
    common = policy == "not_larger" ? std::min(common, plans[i].scale)
                                    : std::max(common, plans[i].scale);
  }
  if (policy == "stretch") return {};
  for (AxisPlan& p : plans) {
    p.scale = common;
    p.out = static_cast<std::int64_t>(common * static_cast<double>(p.in) + 0.5);
  }
  return {};
}

Status plan_from_scales(const Call& c, int input, std::vector<AxisPlan>& plans) {
  const Tensor scales = *c.constant(input);
  TENON_EXPECT(scales.count() == static_cast<std::int64_t>(plans.size()),
               "scales has one number for each axis", c.in(0));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].scale = element(scales, static_cast<std::int64_t>(i));
    TENON_EXPECT(plans[i].scale > 0, "scales > 0", c.in(0));
    plans[i].out = scaled_size(plans[i].in, static_cast<float>(plans[i].scale));
  }
  return {};
}

}  // namespace

std::vector<AttrSpec> resampling_attrs() {
  return {{"mode", "nearest"},
          {"coordinate_transformation_mode", "half_pixel"},
          {"nearest_mode", "round_prefer_floor"},
          {"cubic_coeff_a", -0.75},
          {"exclude_outside", false},
          {"extrapolation_value", 0.0},
          {"antialias", false},
          {"keep_aspect_ratio_policy", "stretch"},
          AttrSpec::optional("axes", Attr::Kind::integers)};
}

Status check_resampling(const Call& c) {
  const auto one_of = [&](const char* attr, std::initializer_list<const char*> names) -> Status {
    for (const char* n : names)
      if (c.text(attr) == n) return {};
    return invalid("{}: {} is '{}', which is not known", c.op().name, attr, c.text(attr));
  };
  TENON_TRY(one_of("mode", {"nearest", "linear", "cubic"}));
  TENON_TRY(one_of("coordinate_transformation_mode",
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  TENON_TRY(one_of("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  return one_of("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"});
}

Result<std::vector<int>> resampled_axes(const Call& c, int ndim) {
  std::vector<int> axes;
  if (c.has_attr("axes"))
    for (std::int64_t a : c.integers("axes")) axes.push_back(TENON_TRY(c.axis(a, ndim)));
  else
    for (int i = 0; i < ndim; ++i) axes.push_back(i);
  return axes;
}

std::int64_t scaled_size(std::int64_t in, float scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(in) * scale));
}

Result<Resampling> resampling_of(const Call& c, int first, const Dims& dims) {
  const auto axes = TENON_TRY(resampled_axes(c, static_cast<int>(dims.size())));
  std::vector<AxisPlan> plans;
  for (int a : axes)
    plans.push_back({dims[static_cast<std::size_t>(a)], dims[static_cast<std::size_t>(a)], 1});
  const bool by_sizes = given(c, first + 2), by_scales = given(c, first + 1);
  TENON_EXPECT(by_sizes != by_scales, "one of scales and sizes is given", c.in(0));
  TENON_TRY(by_sizes ? plan_from_sizes(c, first + 2, plans)
                     : plan_from_scales(c, first + 1, plans));
  const bool crops = c.text("coordinate_transformation_mode") == "tf_crop_and_resize";
  if (crops) {
    const auto roi = given(c, first) ? to_doubles(*c.constant(first)) : std::vector<double>();
    TENON_EXPECT(roi.size() == 2 * plans.size(), "roi has two numbers for each axis", c.in(0));
    for (std::size_t i = 0; i < plans.size(); ++i)
      plans[i].roi_begin = roi[i], plans[i].roi_end = roi[i + plans.size()];
  }
  Resampling r{.out = dims, .axes = {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const AxisPlan& p = plans[i];
    r.out[static_cast<std::size_t>(axes[i])] = p.out;
    TENON_EXPECT(p.in > 0 || p.out == 0, "an empty axis stays empty", c.in(0));
    const bool same =
        p.out == p.in && std::fabs(p.scale - 1) < 1e-9 && p.roi_begin == 0 && p.roi_end == 1;
    if (!same) r.axes.push_back(taps_of(c, axes[i], p));
  }
  return r;
}

std::vector<double> read_axis(const std::vector<double>& x, Dims& dims, const AxisTaps& t) {
  const std::int64_t inner = num_elements(Dims(dims.begin() + t.axis + 1, dims.end())),
                     outer = num_elements(Dims(dims.begin(), dims.begin() + t.axis));
  dims[static_cast<std::size_t>(t.axis)] = t.out;
  std::vector<double> y(static_cast<std::size_t>(outer * t.out * inner), 0.0);
  for (std::int64_t a = 0; a < outer; ++a)
    for (std::int64_t o = 0; o < t.out; ++o)
      for (int k = 0; k < t.taps; ++k) {
        const auto at = static_cast<std::size_t>(o * t.taps + k);
        const double w = t.weight[at];
        if (w == 0) continue;
        const double* from = x.data() + (a * t.in + t.index[at]) * inner;
        double* to = y.data() + (a * t.out + o) * inner;
        for (std::int64_t i = 0; i < inner; ++i) to[i] += w * from[i];
      }
  return y;
}

std::vector<double> write_axis(const std::vector<double>& y, Dims& dims, const AxisTaps& t) {
  const std::int64_t inner = num_elements(Dims(dims.begin() + t.axis + 1, dims.end())),
                     outer = num_elements(Dims(dims.begin(), dims.begin() + t.axis));
  dims[static_cast<std::size_t>(t.axis)] = t.in;
  std::vector<double> x(static_cast<std::size_t>(outer * t.in * inner), 0.0);
  for (std::int64_t a = 0; a < outer; ++a)
    for (std::int64_t o = 0; o < t.out; ++o)
      for (int k = 0; k < t.taps; ++k) {
        const auto at = static_cast<std::size_t>(o * t.taps + k);
        const double w = t.weight[at];
        if (w == 0) continue;
        const double* from = y.data() + (a * t.out + o) * inner;
        double* to = x.data() + (a * t.in + t.index[at]) * inner;
        for (std::int64_t i = 0; i < inner; ++i) to[i] += w * from[i];
      }
  return x;
}

}  // namespace tenon::ops
