// Shapes, movements and constants.
#include <algorithm>

#include "tenon/formats/onnx/importer_internal.h"

namespace tenon::onnx {
namespace {

// Constant: exactly one of its attributes holds the value.
Values constant(Context& c) {
  const auto given = [&](std::string_view name) { return c.has_attr(name); };
  if (given("value")) return {c.constant(c.tensor("value"))};
  if (given("sparse_value")) return {c.constant(c.sparse_tensor("sparse_value"))};
  if (given("value_int")) return {c.integer_scalar(c.integer("value_int", 0))};
  if (given("value_ints")) return {c.ints(c.integers("value_ints"))};
  if (given("value_float")) return {c.number(c.real("value_float", 0), DType::f32)};
  if (given("value_string"))
    return {c.constant(Tensor::scalar<std::string>(c.text("value_string", "")))};
  if (given("value_strings")) return {c.constant(Tensor::vector(c.texts("value_strings")))};
  if (!given("value_floats")) return c.fail(invalid("no attribute holds the value"));
  const auto reals = c.reals("value_floats");
  return {c.constant(from_doubles(reals, DType::f32, {static_cast<std::int64_t>(reals.size())}))};
}

Values constant_of_shape(Context& c) {
  Tensor value = c.has_attr("value") ? c.tensor("value") : Tensor::full(DType::f32, {1}, 0);
  if (value.defined() && value.count() != 1)
    return c.fail(invalid("attribute value holds {} elements, not one", value.count()));
  if (!c.has(0)) return c.fail(invalid("the shape is absent"));
  return {c.op("constant_of_shape", {c.importer().freed_target(c, c.in(0))},
               {{"value", std::move(value)}})};
}

// Caffe2's form, in files of the first exporters.
Values constant_fill(Context& c) {
  const DType dtype = c.element_type("dtype", DType::f32);
  const auto extra = c.integers("extra_shape");
  Value* shape = nullptr;
  if (c.has(0))
    shape = c.flag("input_as_shape", false) ? c.in(0) : c.shape(c.in(0));
  else
    shape = c.ints(c.integers("shape"));
  c.ignore({"input_as_shape", "shape"});
  if (!extra.empty()) shape = c.concat({shape, c.ints(extra)}, 0);
  return {c.full(shape, c.real("value", 0), dtype)};
}

Values shape(Context& c) {
  Attrs attrs{{"start", c.integer("start", 0)}};
  if (c.has_attr("end")) attrs.set("end", c.integer("end", 0));
  return {c.op("shape", {c.in(0)}, std::move(attrs))};
}

Values reshape(Context& c) {
  c.ignore({"consumed_inputs"});
  Value* shape = c.version() < 5 ? c.ints(c.integers("shape")) : c.in(1);
  if (!c.has(0) || !shape) return c.fail(invalid("data and shape are needed"));
  const bool allow_zero = c.flag("allowzero", false);
  return {c.op("reshape",
               {c.in(0), allow_zero ? shape : c.importer().freed_reshape(c, c.in(0), shape)},
               {{"allow_zero", allow_zero}})};
}

Values expand(Context& c) {
  if (!c.has(0) || !c.has(1)) return c.fail(invalid("input and shape are needed"));
  return {c.op("expand", {c.in(0), c.importer().freed_target(c, c.in(1))})};
}

Values flatten(Context& c) {
  return {c.op("flatten", {c.in(0)}, {{"axis", c.integer("axis", 1)}})};
}

// Squeeze and Unsqueeze: axes are an attribute before opset 13.
Value* axes_of(Context& c) {
  if (c.version() >= 13) return c.in(1);
  return c.has_attr("axes") ? c.ints(c.integers("axes")) : nullptr;
}
Values squeeze(Context& c) { return {c.op("squeeze", {c.in(0), axes_of(c)})}; }
Values unsqueeze(Context& c) { return {c.op("unsqueeze", {c.in(0), axes_of(c)})}; }

Values transpose(Context& c) {
  Attrs attrs;
  if (c.has_attr("perm")) attrs.set("perm", c.integers("perm"));
  return {c.op("transpose", {c.in(0)}, std::move(attrs))};
}

// The axis has a default of 1 before opset 4.
Values concat(Context& c) {
  if (c.version() >= 4 && !c.has_attr("axis")) return c.fail(invalid("attribute axis is missing"));
  return {c.op("concat", c.inputs(), {{"axis", c.integer("axis", 1)}})};
}

// Split: sizes are an input in version 1 and since 13, an attribute between; equal parts otherwise.
Values split(Context& c) {
  const std::int64_t axis = c.integer("axis", 0);
  Value* sizes = nullptr;
  if (c.has(1))
    sizes = c.in(1);
  else if (c.has_attr("split"))
    sizes = c.ints(c.integers("split"));
  const std::int64_t parts = c.integer("num_outputs", c.num_outputs());
  if (!sizes && parts != c.num_outputs())
    return c.fail(
        invalid("attribute num_outputs is {} but {} outputs are named", parts, c.num_outputs()));
  return c.all("split", {c.in(0), sizes},
               {{"axis", axis}, {"num_outputs", static_cast<std::int64_t>(c.num_outputs())}},
               c.num_outputs());
}

// Slice: starts and ends are attributes before opset 10.
Values slice(Context& c) {
  if (c.version() >= 10) return {c.op("slice", c.inputs())};
  Value* axes = c.has_attr("axes") ? c.ints(c.integers("axes")) : nullptr;
  return {c.op("slice", {c.in(0), c.ints(c.integers("starts")), c.ints(c.integers("ends")), axes})};
}

// Pad: `paddings` in version 1, `pads` in 2, inputs since 11; reflect and edge exist throughout,
// wrap since 19.
Values pad(Context& c) {
  Attrs attrs{{"mode", c.text("mode", "constant")}};
  if (c.version() >= 11) return {c.op("pad", c.inputs(), std::move(attrs))};
  Value* pads = c.ints(c.integers(c.version() == 1 ? "paddings" : "pads"));
  return {c.op("pad", {c.in(0), pads, c.number(c.real("value", 0), c.in(0))}, std::move(attrs))};
}

// Tile-1 repeats one axis `tiles` times; since opset 6 the repeats are a vector.
Values tile(Context& c) {
  if (c.version() >= 6) return {c.op("tile", {c.in(0), c.in(1)})};
  const auto tiles = c.known_integers(c.in(1)), axis = c.known_integers(c.in(2));
  if (!tiles || !axis || tiles->size() != 1 || axis->size() != 1)
    return c.fail(unsupported("tiles and axis must be constants"));
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(c.ndim(c.in(0))), 1);
  if ((*axis)[0] < 0 || (*axis)[0] >= static_cast<std::int64_t>(repeats.size()))
    return c.fail(invalid("axis {} lies outside", (*axis)[0]));
  repeats[static_cast<std::size_t>((*axis)[0])] = (*tiles)[0];
  return {c.op("tile", {c.in(0), c.ints(repeats)})};
}

Values eye_like(Context& c) {
  const DType dtype = c.element_type("dtype", c.dtype(0));
  return {c.op("eye_like", {c.in(0)}, {{"dtype", dtype}, {"k", c.integer("k", 0)}})};
}

Values range(Context& c) {
  c.ignore({"stash_type"});  // the page computes every element in double
  return {c.op("range", c.inputs())};
}

Values trilu(Context& c) { return {c.op("trilu", c.inputs(), {{"upper", c.flag("upper", true)}})}; }

Values depth_to_space(Context& c) {
  Attrs attrs{{"blocksize", c.integer("blocksize", 0)}};
  if (c.row().page == "depth_to_space") attrs.set("mode", c.text("mode", "DCR"));
  return {c.op(c.row().page, {c.in(0)}, std::move(attrs))};
}

Values center_crop_pad(Context& c) {
  Attrs attrs;
  if (c.has_attr("axes")) attrs.set("axes", c.integers("axes"));
  return {c.op("center_crop_pad", c.inputs(), std::move(attrs))};
}

}  // namespace

void add_shape_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       Attrs attrs = {}, int first = 1) {
    rows.push_back({"", op, convert, page, std::move(attrs), first});
  };
  add("Constant", constant);
  add("ConstantOfShape", constant_of_shape, {}, {}, 9);
  add("ConstantFill", constant_fill);
  add("Shape", shape);
  add("Size", renamed, "size");
  add("Reshape", reshape);
  add("Flatten", flatten);
  add("Squeeze", squeeze);
  add("Unsqueeze", unsqueeze);
  add("Transpose", transpose);
  add("Concat", concat);
  add("Split", split);
  add("Slice", slice);
  add("Pad", pad);
  add("Tile", tile);
  add("Expand", expand, {}, {}, 8);
  add("EyeLike", eye_like, {}, {}, 9);
  add("Range", range, {}, {}, 11);
  add("Trilu", trilu, {}, {}, 14);
  add("DepthToSpace", depth_to_space, "depth_to_space");
  add("SpaceToDepth", depth_to_space, "space_to_depth");
  add("CenterCropPad", center_crop_pad, {}, {}, 18);
}

}  // namespace tenon::onnx
