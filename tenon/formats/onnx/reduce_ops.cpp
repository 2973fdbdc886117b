// Reductions, softmax and scans along an axis.
#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

// Axes are an attribute before opset 18 (13 for ReduceSum) and an input since.
Values reduce(Context& c) {
  const bool by_input = c.version() >= (c.row().page == "reduce_sum" ? 13 : 18);
  Attrs attrs{{"keepdims", c.flag("keepdims", true)}};
  if (by_input) attrs.set("noop_with_empty_axes", c.flag("noop_with_empty_axes", false));
  Value* axes = by_input ? c.in(1) : nullptr;
  if (!by_input && c.has_attr("axes")) axes = c.ints(c.integers("axes"));
  return {c.op(c.row().page, {c.in(0), axes}, std::move(attrs))};
}

Values argmax(Context& c) {
  return {c.op(c.row().page, {c.in(0)},
               {{"axis", c.integer("axis", 0)},
                {"keepdims", c.flag("keepdims", true)},
                {"select_last_index", c.flag("select_last_index", false)}})};
}

// Before opset 13 the default axis is 1 and everything from it on counts as one axis.
Values softmax(Context& c) {
  if (c.version() >= 13) return {c.op(c.row().page, {c.in(0)}, {{"axis", c.integer("axis", -1)}})};
  const std::int64_t axis = c.integer("axis", 1);
  const Type& type = c.in(0)->type();
  const bool is_last =
      axis == -1 || (type.ranked() && (axis == type.ndim() - 1 || (type.ndim() == 1 && axis == 1)));
  if (is_last) return {c.op(c.row().page, {c.in(0)}, {{"axis", -1}})};
  Value* flat = c.op("flatten", {c.in(0)}, {{"axis", axis}});
  return {c.reshape_like(c.op(c.row().page, {flat}, {{"axis", -1}}), c.in(0))};
}

Values cumulate(Context& c) {
  return {c.op(c.row().page, {c.in(0), c.in(1)},
               {{"exclusive", c.flag("exclusive", false)}, {"reverse", c.flag("reverse", false)}})};
}

// TopK: k is an attribute in version 1 and an input since 10; `largest` and `sorted` exist
// since 11.
Values top_k(Context& c) {
  Value* k = c.version() < 10 ? c.ints({c.integer("k", 0)}) : c.in(1);
  Attrs attrs{{"axis", c.integer("axis", -1)}};
  if (c.version() >= 11) {
    attrs.set("largest", c.flag("largest", true));
    attrs.set("sorted", c.flag("sorted", true));
  }
  return c.all("top_k", {c.in(0), k}, std::move(attrs));
}

}  // namespace

void add_reduce_rows(Rows& rows) {
  for (auto [op, page] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"ReduceSum", "reduce_sum"},
           {"ReduceMean", "reduce_mean"},
           {"ReduceMax", "reduce_max"},
           {"ReduceMin", "reduce_min"},
           {"ReduceProd", "reduce_prod"},
           {"ReduceL1", "reduce_l1"},
           {"ReduceL2", "reduce_l2"},
           {"ReduceLogSum", "reduce_log_sum"},
           {"ReduceLogSumExp", "reduce_log_sum_exp"},
           {"ReduceSumSquare", "reduce_sum_square"}})
    rows.push_back({.domain = "", .op_type = op, .convert = reduce, .page = page});
  for (auto [op, page] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"Softmax", "softmax"}, {"LogSoftmax", "log_softmax"}, {"Hardmax", "hardmax"}})
    rows.push_back({.domain = "", .op_type = op, .convert = softmax, .page = page});
  rows.push_back({.domain = "", .op_type = "ArgMax", .convert = argmax, .page = "argmax"});
  rows.push_back({.domain = "", .op_type = "ArgMin", .convert = argmax, .page = "argmin"});
  rows.push_back(
      {.domain = "", .op_type = "CumSum", .convert = cumulate, .page = "cumsum", .first = 11});
  rows.push_back(
      {.domain = "", .op_type = "CumProd", .convert = cumulate, .page = "cumprod", .first = 26});
  rows.push_back({.domain = "", .op_type = "TopK", .convert = top_k});
}

}  // namespace tenon::onnx
