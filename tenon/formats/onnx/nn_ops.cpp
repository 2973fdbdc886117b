// Convolutions, pooling, normalisations, recurrent networks and losses of ai.onnx.
#include "tenon/formats/onnx/context_internal.h"
#include "tenon/formats/onnx/nn_internal.h"

namespace tenon::onnx {

Attrs window_attrs(Context& c) {
  Attrs attrs{{"auto_pad", c.text("auto_pad", "NOTSET")},
              {"strides", c.integers("strides")},
              {"dilations", c.integers("dilations")}};
  // pads are meaningless beside an automatic padding, yet some exporters write both
  const auto pads = c.integers("pads");
  if (*attrs.get<std::string>("auto_pad") == "NOTSET") attrs.set("pads", pads);
  return attrs;
}

Attrs conv_attrs(Context& c) {
  Attrs attrs = window_attrs(c);
  attrs.set("group", c.integer("group", 1));
  return attrs;
}

namespace {

// kernel_shape repeats what w says; a file that contradicts itself is refused.
void check_kernel_shape(Context& c, const Value* w) {
  if (!c.has_attr("kernel_shape") || !w || !w->type().ranked()) return;
  const auto kernel = c.integers("kernel_shape");
  bool agrees = static_cast<int>(kernel.size()) == w->type().ndim() - 2;
  for (std::size_t i = 0; agrees && i < kernel.size(); ++i)
    agrees = same(w->type().dim(static_cast<int>(i) + 2), Dim(kernel[i])) != Truth::no;
  if (!agrees)
    c.fail(invalid("attribute kernel_shape contradicts the weight {}", w->type().text()));
}

Values conv(Context& c) {
  check_kernel_shape(c, c.in(1));
  Values inputs = c.inputs();
  if (c.in(1)->type().ranked()) inputs[0] = c.with_ndim(inputs[0], c.in(1)->type().ndim());
  return {c.op("conv", std::move(inputs), conv_attrs(c))};
}

Values conv_transpose(Context& c) {
  check_kernel_shape(c, c.in(1));
  Attrs attrs = conv_attrs(c);
  attrs.set("output_padding", c.integers("output_padding"));
  attrs.set("output_shape", c.integers("output_shape"));
  return {c.op("conv_transpose", c.inputs(), std::move(attrs))};
}

Values deform_conv(Context& c) {
  check_kernel_shape(c, c.in(1));
  Attrs attrs{{"strides", c.integers("strides")},
              {"dilations", c.integers("dilations")},
              {"pads", c.integers("pads")},
              {"group", c.integer("group", 1)},
              {"offset_group", c.integer("offset_group", 1)}};
  return {c.op("deform_conv", c.inputs(), std::move(attrs))};
}

Attrs pool_attrs(Context& c) {
  Attrs attrs = window_attrs(c);
  attrs.set("kernel", c.integers("kernel_shape"));
  attrs.set("ceil_mode", c.flag("ceil_mode", false));
  return attrs;
}

Values max_pool(Context& c) {
  Attrs attrs = pool_attrs(c);
  attrs.set("storage_order", c.integer("storage_order", 0));
  return c.all("max_pool", {c.in(0)}, std::move(attrs), c.wants(1) ? 2 : 1);
}

Values average_pool(Context& c) {
  Attrs attrs = pool_attrs(c);
  attrs.set("count_include_pad", c.flag("count_include_pad", false));
  return {c.op("average_pool", {c.in(0)}, std::move(attrs))};
}

// p is a float in version 1 and an integer since 2.
std::int64_t norm_order(Context& c) {
  const AttributeProto* p = c.attr("p");
  return p && p->type == AttributeType::real ? static_cast<std::int64_t>(c.real("p", 2))
                                             : c.integer("p", 2);
}

Values lp_pool(Context& c) {
  Attrs attrs = pool_attrs(c);
  attrs.set("p", norm_order(c));
  return {c.op("lp_pool", {c.in(0)}, std::move(attrs))};
}

Values global_lp_pool(Context& c) {
  return {c.op("global_lp_pool", {c.in(0)}, {{"p", norm_order(c)}})};
}

Values max_unpool(Context& c) {
  return {c.op("max_unpool", c.inputs(),
               {{"kernel", c.integers("kernel_shape")},
                {"strides", c.integers("strides")},
                {"pads", c.integers("pads")}})};
}

Values max_roi_pool(Context& c) {
  return {c.op("max_roi_pool", c.inputs(),
               {{"pooled_shape", c.integers("pooled_shape")},
                {"spatial_scale", c.real("spatial_scale", 1)}})};
}

// Before opset 16 boxes are not moved by half a pixel.
Values roi_align(Context& c) {
  const std::string fallback = c.version() < 16 ? "output_half_pixel" : "half_pixel";
  return {c.op(
      "roi_align", c.inputs(),
      {{"mode", c.text("mode", "avg")},
       {"output_height", c.integer("output_height", 1)},
       {"output_width", c.integer("output_width", 1)},
       {"sampling_ratio", c.integer("sampling_ratio", 0)},
       {"spatial_scale", c.real("spatial_scale", 1)},
       {"coordinate_transformation_mode", c.text("coordinate_transformation_mode", fallback)}})};
}

// ---- normalisation ----------------------------------------------------------------------------

// Statistics for every position instead of every channel (spatial=0 before opset 9):
// y = (x - mean) / sqrt(var + epsilon) * scale + b, broadcast over the batch.
Values batch_norm_per_position(Context& c, double epsilon) {
  Value* x = c.in(0);
  Value* deviation = c.op("sqrt", {c.op("add", {c.in(4), c.number(epsilon, c.in(4))})});
  Value* y = c.op("div", {c.op("sub", {x, c.in(3)}), deviation});
  return {c.op("add", {c.op("mul", {y, c.in(1)}), c.in(2)})};
}

// The statistics' outputs say "training" before opset 7 (with is_test=0); an attribute does
// since 14.
Values batch_norm(Context& c) {
  const double epsilon = c.real("epsilon", 1e-5), momentum = c.real("momentum", 0.9);
  c.ignore({"consumed_inputs"});
  const bool per_channel = c.version() >= 9 || c.flag("spatial", true);
  bool training = c.version() >= 14 && c.flag("training_mode", false);
  if (c.version() < 7) training = !c.flag("is_test", false) && c.wants(1);
  if (c.version() >= 7 && c.version() < 14 && c.wants(1)) training = true;
  if (c.version() < 14 && (c.wants(3) || c.wants(4)))
    return c.fail(unsupported("the outputs saved_mean and saved_var, which opset 14 dropped"));
  if (!per_channel && !training) return batch_norm_per_position(c, epsilon);
  if (!per_channel) return c.fail(unsupported("training with spatial=0"));
  return c.all("batch_norm", c.inputs(),
               {{"epsilon", epsilon}, {"momentum", momentum}, {"training", training}},
               training ? 3 : 1);
}

Values instance_norm(Context& c) {
  c.ignore({"consumed_inputs"});
  return {c.op("instance_norm", c.inputs(), {{"epsilon", c.real("epsilon", 1e-5)}})};
}

// [groups] -> [groups * width], each element `width` times: opset 18 scales whole groups.
Value* per_channel(Context& c, Value* v, std::int64_t groups, std::int64_t channels) {
  return c.reshape(c.op("expand", {c.reshape(v, {groups, 1}), c.ints({groups, channels / groups})}),
                   {channels});
}

Values group_norm(Context& c) {
  const std::int64_t groups = c.integer("num_groups", 0);
  c.ignore({"stash_type"});
  Value *scale = c.in(1), *bias = c.in(2);
  if (c.version() < 21) {
    const auto channels = c.ndim(c.in(0)) > 1 ? c.in(0)->type().dim(1).known() : std::nullopt;
    if (!channels || groups < 1 || *channels % groups)
      return c.fail(
          unsupported("the number of channels must be known and a multiple of num_groups"));
    scale = per_channel(c, scale, groups, *channels);
    bias = per_channel(c, bias, groups, *channels);
  }
  return {c.op("group_norm", {c.in(0), scale, bias},
               {{"num_groups", groups}, {"epsilon", c.real("epsilon", 1e-5)}})};
}

Values layer_norm(Context& c) {
  c.ignore({"stash_type"});
  return c.all("layer_norm", c.inputs(),
               {{"axis", c.integer("axis", -1)}, {"epsilon", c.real("epsilon", 1e-5)}},
               c.wants(1) || c.wants(2) ? 3 : 1);
}

Values rms_norm(Context& c) {
  c.ignore({"stash_type"});
  return {c.op("rms_norm", c.inputs(),
               {{"axis", c.integer("axis", -1)}, {"epsilon", c.real("epsilon", 1e-5)}})};
}

Values lrn(Context& c) {
  return {c.op("lrn", {c.in(0)},
               {{"alpha", c.real("alpha", 1e-4)},
                {"beta", c.real("beta", 0.75)},
                {"bias", c.real("bias", 1)},
                {"size", c.integer("size", 0)}})};
}

Values lp_norm(Context& c) {
  return {c.op("lp_norm", {c.in(0)}, {{"axis", c.integer("axis", -1)}, {"p", c.integer("p", 2)}})};
}

// Version 1 averages over batch and plane, and over channels when across_channels is set.
Values mean_variance_norm(Context& c) {
  return {c.op("mean_variance_norm", {c.in(0)}, {{"axes", c.integers("axes", {0, 2, 3})}})};
}

// ---- recurrent --------------------------------------------------------------------------------

Values recurrent(Context& c) {
  Attrs attrs{{"direction", c.text("direction", "forward")}};
  if (*attrs.get<std::string>("direction") == "foward")
    attrs.set("direction", "forward");  // as the first schema of GRU spells it
  const bool has_size = c.has_attr("hidden_size");
  const auto hidden = has_size               ? std::optional(c.integer("hidden_size", 0))
                      : c.ndim(c.in(2)) == 3 ? c.in(2)->type().dim(2).known()
                                             : std::nullopt;
  if (!hidden) return c.fail(unsupported("hidden_size must be given or known from R"));
  attrs.set("hidden_size", *hidden);
  for (const char* list : {"activation_alpha", "activation_beta"}) attrs.set(list, c.reals(list));
  attrs.set("activations", c.texts("activations"));
  if (c.has_attr("clip")) attrs.set("clip", c.real("clip", 0));
  attrs.set("layout", c.integer("layout", 0));
  if (c.row().page == "gru") attrs.set("linear_before_reset", c.flag("linear_before_reset", false));
  if (c.row().page == "lstm") attrs.set("input_forget", c.flag("input_forget", false));
  c.ignore({"output_sequence"});
  Values inputs = c.inputs();
  for (std::size_t i : {0, 5, 6})  // x and the initial states
    if (i < inputs.size()) inputs[i] = c.with_ndim(inputs[i], 3);
  return c.all(c.row().page, std::move(inputs), std::move(attrs));
}

// ---- training ---------------------------------------------------------------------------------

// Inference makes Dropout the identity with a mask of ones.
Values no_dropout(Context& c) {
  Values outputs = {c.in(0)};
  if (c.wants(1))
    outputs.push_back(c.full(c.shape(c.in(0)), 1, c.version() < 10 ? c.dtype(0) : DType::boolean));
  return outputs;
}

Values dropout(Context& c) {
  c.ignore({"consumed_inputs"});
  const std::int64_t seed = c.integer("seed", 0);
  if (c.version() < 12) {
    const double ratio = c.real("ratio", 0.5);
    if (c.version() >= 7 || c.flag("is_test", false)) return no_dropout(c);
    return c.all(
        "dropout",
        {c.in(0), c.number(ratio, c.in(0)), c.constant(Tensor::full(DType::boolean, {}, 1))},
        {{"seed", seed}});
  }
  const auto training = c.known(c.in(2));
  if (!c.has(2) || (training && training->count() == 1 && integer_element(*training, 0) == 0))
    return no_dropout(c);
  return c.all("dropout", c.inputs(), {{"seed", seed}});
}

Values loss(Context& c) {
  Attrs attrs{{"reduction", c.text("reduction", "mean")}};
  if (c.has_attr("ignore_index")) attrs.set("ignore_index", c.integer("ignore_index", 0));
  return c.all(c.row().page, c.inputs(), std::move(attrs), c.num_outputs());
}

Values col2im(Context& c) {
  Attrs attrs;
  for (const char* list : {"strides", "pads", "dilations"})
    if (c.has_attr(list)) attrs.set(list, c.integers(list));
  return {c.op("col2im", c.inputs(), std::move(attrs))};
}

}  // namespace

void add_nn_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       Attrs attrs = {}, int first = 1) {
    rows.push_back({"", op, convert, page, std::move(attrs), first});
  };
  add("Conv", conv);
  add("ConvTranspose", conv_transpose);
  add("DeformConv", deform_conv, {}, {}, 19);
  add("MaxPool", max_pool);
  add("AveragePool", average_pool);
  add("LpPool", lp_pool);
  add("GlobalAveragePool", renamed, "global_average_pool");
  add("GlobalMaxPool", renamed, "global_max_pool");
  add("GlobalLpPool", global_lp_pool);
  add("MaxUnpool", max_unpool, {}, {}, 9);
  add("MaxRoiPool", max_roi_pool);
  add("RoiAlign", roi_align, {}, {}, 10);
  add("BatchNormalization", batch_norm);
  add("InstanceNormalization", instance_norm);
  add("GroupNormalization", group_norm, {}, {}, 18);
  add("LayerNormalization", layer_norm);  // the first version is 17; earlier ones come from
                                          // com.microsoft under this domain
  add("RMSNormalization", rms_norm, {}, {}, 23);
  add("LRN", lrn);
  add("LpNormalization", lp_norm);
  add("MeanVarianceNormalization", mean_variance_norm, {}, {}, 9);
  add("RNN", recurrent, "rnn");
  add("GRU", recurrent, "gru");
  add("LSTM", recurrent, "lstm");
  add("Dropout", dropout);
  add("NegativeLogLikelihoodLoss", loss, "nll_loss", {}, 12);
  add("SoftmaxCrossEntropyLoss", loss, "softmax_cross_entropy", {}, 12);
  add("Col2Im", col2im, {}, {}, 18);
}

}  // namespace tenon::onnx
