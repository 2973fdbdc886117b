// com.microsoft: fused and quantised operators that optimised files hold, composed from pages.
// Semantics: ONNX Runtime's published operator descriptions.
#include <algorithm>

#include "tenon/formats/onnx/contrib_internal.h"
#include "tenon/formats/onnx/nn_internal.h"

namespace tenon::onnx {
namespace {

Value* swap_last(Context& c, Value* x) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(c.ndim(x)));
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
  if (perm.size() < 2) return x;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return c.transpose(x, std::move(perm));
}

Value* scaled(Context& c, Value* x, double factor) {
  return factor == 1 ? x : c.op("mul", {x, c.number(factor, x)});
}

Values fused_matmul(Context& c) {
  if (c.flag("transBatchA", false) || c.flag("transBatchB", false))
    return c.fail(unsupported("batches that are transposed"));
  Value* a = c.flag("transA", false) ? swap_last(c, c.in(0)) : c.in(0);
  Value* b = c.flag("transB", false) ? swap_last(c, c.in(1)) : c.in(1);
  return {scaled(c, c.op("matmul", {a, b}), c.real("alpha", 1))};
}

// The activation attribute of fused operators, with up to two parameters.
Value* activated(Context& c, Value* x) {
  const std::string kind = c.text("activation", "");
  const auto p = c.reals("activation_params");
  const auto parameter = [&](std::size_t i, double fallback) {
    return i < p.size() ? p[i] : fallback;
  };
  if (kind.empty() || kind == "Identity") return x;
  if (kind == "Relu") return c.op("relu", {x});
  if (kind == "Tanh") return c.op("tanh", {x});
  if (kind == "Sigmoid") return c.op("sigmoid", {x});
  if (kind == "LeakyRelu") return c.op("leaky_relu", {x}, {{"alpha", parameter(0, 0.01)}});
  if (kind == "HardSigmoid")
    return c.op("hard_sigmoid", {x}, {{"alpha", parameter(0, 0.2)}, {"beta", parameter(1, 0.5)}});
  if (kind == "Clip")
    return c.op("clip", {x, c.number(parameter(0, -3.4028234663852886e38), x),
                         c.number(parameter(1, 3.4028234663852886e38), x)});
  return c.fail_value(unsupported("the fused activation '{}'", kind));
}

Values fused_conv(Context& c) {
  c.ignore({"kernel_shape"});
  Value* y = c.op("conv", {c.in(0), c.in(1), c.in(2)}, conv_attrs(c));
  return {activated(c, c.has(3) ? c.op("add", {y, c.in(3)}) : y)};
}

Values fused_gemm(Context& c) {
  Value* y = c.op("gemm", c.inputs(),
                  {{"alpha", c.real("alpha", 1)},
                   {"beta", c.real("beta", 1)},
                   {"trans_a", c.flag("transA", false)},
                   {"trans_b", c.flag("transB", false)}});
  std::vector<double> parameters;
  const std::string kind = c.text("activation", "");
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (c.has_attr(name)) parameters.push_back(c.real(name, 0));
  c.ignore({"activation_gamma", "activation_axis"});
  if (kind == "LeakyRelu")
    return {c.op("leaky_relu", {y}, {{"alpha", parameters.empty() ? 0.01 : parameters[0]}})};
  return {activated(c, y)};
}

Value* plus(Context& c, Value* x, Value* bias) { return bias ? c.op("add", {x, bias}) : x; }

Values bias_gelu(Context& c) {
  return {c.op("gelu", {plus(c, c.in(0), c.in(1))},
               {{"approximate", c.row().page == "tanh" ? "tanh" : "none"}})};
}

// BiasSplitGelu: the halves of x + bias; the first times gelu of the second.
Values bias_split_gelu(Context& c) {
  const Values halves =
      c.all("split", {c.op("add", {c.in(0), c.in(1)})}, {{"axis", -1}, {"num_outputs", 2}}, 2);
  return {c.op("mul", {halves[0], c.op("gelu", {halves[1]})})};
}

// ---- normalisation
// --------------------------------------------------------------------------------

Values simplified_layer_norm(Context& c) {
  c.ignore({"stash_type"});
  if (c.wants(1)) return c.fail(unsupported("the output inv_std_var"));
  return {c.op("rms_norm", {c.in(0), c.in(1)},
               {{"axis", c.integer("axis", -1)}, {"epsilon", c.real("epsilon", 1e-5)}})};
}

// Inputs x, skip, gamma, beta, bias: the sum of x, skip and bias is normalised, and is output 3.
Values skip_layer_norm(Context& c) {
  Value* sum = plus(c, c.op("add", {c.in(0), c.in(1)}), c.in(4));
  const Values y = c.all("layer_norm", {sum, c.in(2), c.in(3)},
                         {{"axis", -1}, {"epsilon", c.real("epsilon", 1e-12)}},
                         c.wants(1) || c.wants(2) ? 3 : 1);
  Values outputs = y;
  outputs.resize(3, nullptr);
  outputs.push_back(sum);
  return outputs;
}

// Inputs x, skip, gamma, bias.
Values skip_simplified_layer_norm(Context& c) {
  Value* sum = plus(c, c.op("add", {c.in(0), c.in(1)}), c.in(3));
  if (c.wants(1) || c.wants(2)) return c.fail(unsupported("the outputs mean and inv_std_var"));
  return {c.op("rms_norm", {sum, c.in(2)}, {{"axis", -1}, {"epsilon", c.real("epsilon", 1e-12)}}),
          nullptr, nullptr, sum};
}

// Inputs: ids, segments, word, position and segment tables, gamma, beta, mask, position ids.
Values embed_layer_norm(Context& c) {
  Value* ids = c.in(0);
  c.ignore({"mask_index_type"});
  for (int i : {2, 3, 5, 6})
    if (!c.has(i)) return c.fail(invalid("input {} is absent", i));
  Value* sum = c.op("gather", {c.in(2), ids});
  Value* positions = c.in(8);
  if (!positions) {
    Value* length = c.squeeze(c.size_of_axis(ids, 1), {0});
    positions = c.op("range", {c.integer_scalar(0), length, c.integer_scalar(1)});
  }
  sum = c.op("add", {sum, c.op("gather", {c.in(3), positions})});
  if (c.has(1) && c.has(4)) sum = c.op("add", {sum, c.op("gather", {c.in(4), c.in(1)})});
  Value* y = c.op("layer_norm", {sum, c.in(5), c.in(6)},
                  {{"axis", -1}, {"epsilon", c.real("epsilon", 1e-12)}});
  Value* lengths = nullptr;
  if (c.has(7))
    lengths = c.cast(c.op("reduce_sum", {c.in(7), c.ints({1})}, {{"keepdims", false}}), DType::i32);
  else if (c.wants(1))
    lengths = c.full(c.size_of_axis(ids, 0), 0, DType::i32);
  return {y, lengths, sum};
}

// GroupNorm: channels last by default, gamma and beta in f32, Swish after it on demand.
Values group_norm(Context& c) {
  const bool channels_last = c.flag("channels_last", true);
  Value* x = channels_last ? c.transpose(c.in(0), {0, 3, 1, 2}) : c.in(0);
  Value* y = c.op("group_norm", {x, c.cast_like(c.in(1), x), c.cast_like(c.in(2), x)},
                  {{"num_groups", c.integer("groups", 1)}, {"epsilon", c.real("epsilon", 1e-5)}});
  if (c.integer("activation", 0) == 1) y = c.op("silu", {y});
  return {channels_last ? c.transpose(y, {0, 2, 3, 1}) : y};
}

Values bias_add(Context& c) { return {c.op("add", {c.op("add", {c.in(0), c.in(1)}), c.in(2)})}; }

// Weights [M, kH, kW, C / group], x and y [N, H, W, C].
Values nhwc_conv(Context& c) {
  c.ignore({"kernel_shape"});
  Value* x = c.transpose(c.in(0), {0, 3, 1, 2});
  Value* y = c.op("conv", {x, c.transpose(c.in(1), {0, 3, 1, 2}), c.in(2)}, conv_attrs(c));
  return {c.transpose(plus(c, y, c.has(3) ? c.transpose(c.in(3), {0, 3, 1, 2}) : nullptr),
                      {0, 2, 3, 1})};
}

Values expand_dims(Context& c) { return {c.op("unsqueeze", {c.in(0), c.in(1)})}; }
Values trilu(Context& c) { return {c.op("trilu", c.inputs(), {{"upper", c.flag("upper", true)}})}; }
Values range(Context& c) {
  return {c.op("range", {c.in(0), c.in(1), c.has(2) ? c.in(2) : c.number(1, c.in(0))})};
}
Values pad(Context& c) { return {c.op("pad", c.inputs(), {{"mode", c.text("mode", "constant")}})}; }
Values gather_nd(Context& c) { return {c.op("gather_nd", c.inputs(), {{"batch_dims", 0}})}; }

Values grid_sample(Context& c) {
  std::string mode = c.text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return {c.op("grid_sample", c.inputs(),
               {{"mode", mode},
                {"padding_mode", c.text("padding_mode", "zeros")},
                {"align_corners", c.flag("align_corners", false)}})};
}

// Inverse of square matrices of up to three rows has a closed form; larger ones need a page.
Values inverse(Context& c) { return {c.op("inverse", {c.in(0)})}; }

}  // namespace

void add_contrib_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       Attrs attrs = {}) {
    rows.push_back({kMicrosoft, op, convert, page, std::move(attrs)});
  };
  add("FusedMatMul", fused_matmul);
  add("TransposeMatMul", fused_matmul);
  add("FusedConv", fused_conv);
  add("FusedGemm", fused_gemm);
  add("Gelu", bias_gelu);
  add("BiasGelu", bias_gelu);
  add("FastGelu", bias_gelu, "tanh");
  add("QuickGelu", renamed, "quick_gelu", {{"alpha", 1.702}});
  add("BiasSplitGelu", bias_split_gelu);
  add("BiasAdd", bias_add);
  add("SimplifiedLayerNormalization", simplified_layer_norm);
  // Optimised files carry it under the default domain too.
  rows.push_back(
      {.domain = "", .op_type = "SimplifiedLayerNormalization", .convert = simplified_layer_norm});
  add("SkipLayerNormalization", skip_layer_norm);
  add("SkipSimplifiedLayerNormalization", skip_simplified_layer_norm);
  add("EmbedLayerNormalization", embed_layer_norm);
  add("GroupNorm", group_norm);
  add("NhwcConv", nhwc_conv);
  add("NhwcFusedConv", nhwc_conv);
  add("ExpandDims", expand_dims);
  add("Trilu", trilu);
  add("Range", range);
  add("Pad", pad);
  add("GatherND", gather_nd);
  add("GridSample", grid_sample);
  add("Inverse", inverse);
  add_contrib_quant_rows(rows);
  add_contrib_attention_rows(rows);
}

}  // namespace tenon::onnx
