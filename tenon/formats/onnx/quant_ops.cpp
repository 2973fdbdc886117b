// Quantised arithmetic of ai.onnx.
#include "tenon/formats/onnx/nn_internal.h"

namespace tenon::onnx {
namespace {

// The result's type: output_dtype, else that of the zero point, else u8.
Values quantize(Context& c) {
  Attrs attrs{{"axis", c.integer("axis", 1)}, {"block_size", c.integer("block_size", 0)}, {"saturate", c.flag("saturate", true)}};
  c.ignore({"precision"});  // the page divides in double
  DType to = c.integer("output_dtype", 0) == 0 ? DType::undefined : c.element_type("output_dtype", DType::u8);
  if (to == DType::undefined) to = c.has(2) ? c.dtype(2) : DType::u8;
  if (c.has(2) && c.dtype(2) != to) return c.fail(invalid("output_dtype is {} but the zero point is {}", name(to), name(c.dtype(2))));
  attrs.set("output_dtype", to);
  return {c.op("quantize_linear", c.inputs(), std::move(attrs))};
}

Values dequantize(Context& c) {
  Attrs attrs{{"axis", c.integer("axis", 1)}, {"block_size", c.integer("block_size", 0)}};
  if (c.integer("output_dtype", 0) != 0) attrs.set("output_dtype", c.element_type("output_dtype", DType::f32));
  return {c.op("dequantize_linear", c.inputs(), std::move(attrs))};
}

Values conv_like(Context& c) {
  c.ignore({"kernel_shape"});
  return {c.op(c.row().page, c.inputs(), conv_attrs(c))};
}

Values dynamic_quantize(Context& c) { return c.all("dynamic_quantize_linear", c.inputs()); }

}  // namespace

void add_quant_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page, int first) { rows.push_back({"", op, convert, page, {}, first}); };
  add("QuantizeLinear", quantize, {}, 10);
  add("DequantizeLinear", dequantize, {}, 10);
  add("DynamicQuantizeLinear", dynamic_quantize, {}, 11);
  add("MatMulInteger", renamed, "matmul_integer", 10);
  add("QLinearMatMul", renamed, "qlinear_matmul", 10);
  add("ConvInteger", conv_like, "conv_integer", 10);
  add("QLinearConv", conv_like, "qlinear_conv", 10);
}

}  // namespace tenon::onnx
