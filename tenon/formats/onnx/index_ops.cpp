// Gathers, scatters and what depends on element values.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

Values scatter_elements(Context& c) {
  return {c.op("scatter_elements", c.inputs(),
               {{"axis", c.integer("axis", 0)}, {"reduction", c.text("reduction", "none")}})};
}

Values compress(Context& c) {
  Attrs attrs;
  if (c.has_attr("axis")) attrs.set("axis", c.integer("axis", 0));
  return {c.op("compress", c.inputs(), std::move(attrs))};
}

Values unique(Context& c) {
  Attrs attrs{{"sorted", c.flag("sorted", true)}};
  if (c.has_attr("axis")) attrs.set("axis", c.integer("axis", 0));
  return c.all("unique", c.inputs(), std::move(attrs));
}

Values nms(Context& c) {
  return {c.op("nms", c.inputs(), {{"center_point_box", c.flag("center_point_box", false)}})};
}

}  // namespace

void add_index_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       Attrs attrs = {}, int first = 1) {
    rows.push_back({"", op, convert, page, std::move(attrs), first});
  };
  add("Gather", renamed, "gather", {{"axis", 0}});
  add("GatherElements", renamed, "gather_elements", {{"axis", 0}}, 11);
  add("GatherND", renamed, "gather_nd", {{"batch_dims", 0}}, 11);
  add("Scatter", scatter_elements, {}, {}, 9);
  add("ScatterElements", scatter_elements, {}, {}, 11);
  add("ScatterND", renamed, "scatter_nd", {{"reduction", "none"}}, 11);
  add("TensorScatter", renamed, "tensor_scatter", {{"axis", -2}, {"mode", "linear"}}, 24);
  add("ReverseSequence", renamed, "reverse_sequence", {{"batch_axis", 1}, {"time_axis", 0}}, 10);
  add("Compress", compress, {}, {}, 9);
  add("NonZero", renamed, "non_zero", {}, 9);
  add("Unique", unique, {}, {}, 11);
  add("OneHot", renamed, "one_hot", {{"axis", -1}}, 9);
  add("NonMaxSuppression", nms, {}, {}, 10);
}

}  // namespace tenon::onnx
