// Resampling: Resize and Upsample of all versions, grids.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

// Before opset 11 Resize maps output i to input floor(i / scale).
Attrs early_attrs(std::string mode) {
  return {{"mode", mode == "bilinear" ? "linear" : std::move(mode)},
          {"coordinate_transformation_mode", "asymmetric"},
          {"nearest_mode", "floor"}};
}

Values upsample(Context& c) {
  Value* scales = c.in(1);
  if (c.version() < 7) {
    const double height = c.real("height_scale", 1), width = c.real("width_scale", 1);
    scales = c.constant(
        Tensor::vector<float>({1, 1, static_cast<float>(height), static_cast<float>(width)}));
  } else if (c.version() < 9) {
    const auto reals = c.reals("scales");
    scales = c.constant(from_doubles(reals, DType::f32, {static_cast<std::int64_t>(reals.size())}));
  }
  return {c.op("resize", {c.in(0), nullptr, scales}, early_attrs(c.text("mode", "nearest")))};
}

// Exporters write an empty tensor where they mean none.
Value* unless_empty(Value* v) {
  const bool is_empty =
      v && v->type().ranked() && v->type().ndim() == 1 && v->type().dim(0) == Dim(0);
  return is_empty ? nullptr : v;
}

Values resize(Context& c) {
  const std::string mode = c.text("mode", "nearest");
  if (c.version() < 11) return {c.op("resize", {c.in(0), nullptr, c.in(1)}, early_attrs(mode))};
  Attrs attrs{
      {"mode", mode},
      {"coordinate_transformation_mode", c.text("coordinate_transformation_mode", "half_pixel")},
      {"nearest_mode", c.text("nearest_mode", "round_prefer_floor")},
      {"cubic_coeff_a", c.real("cubic_coeff_a", -0.75)},
      {"exclude_outside", c.flag("exclude_outside", false)},
      {"extrapolation_value", c.real("extrapolation_value", 0)}};
  if (c.version() >= 18) {
    attrs.set("antialias", c.flag("antialias", false));
    attrs.set("keep_aspect_ratio_policy", c.text("keep_aspect_ratio_policy", "stretch"));
    if (c.has_attr("axes")) attrs.set("axes", c.integers("axes"));
  }
  return {c.op("resize",
               {c.in(0), unless_empty(c.in(1)), unless_empty(c.in(2)), unless_empty(c.in(3))},
               std::move(attrs))};
}

// Opset 16 names the modes after two dimensions.
Values grid_sample(Context& c) {
  std::string mode = c.text("mode", c.version() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return {c.op("grid_sample", c.inputs(),
               {{"mode", mode},
                {"padding_mode", c.text("padding_mode", "zeros")},
                {"align_corners", c.flag("align_corners", false)}})};
}

Values affine_grid(Context& c) {
  return {c.op("affine_grid", c.inputs(), {{"align_corners", c.flag("align_corners", false)}})};
}

}  // namespace

void add_resize_rows(Rows& rows) {
  rows.push_back({.domain = "", .op_type = "Resize", .convert = resize, .first = 10});
  rows.push_back({.domain = "", .op_type = "Upsample", .convert = upsample});
  rows.push_back({.domain = "", .op_type = "GridSample", .convert = grid_sample, .first = 16});
  rows.push_back({.domain = "", .op_type = "AffineGrid", .convert = affine_grid, .first = 20});
}

}  // namespace tenon::onnx
