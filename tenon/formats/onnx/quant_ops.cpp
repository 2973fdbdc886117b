// Quantised arithmetic of ai.onnx.
#include "tenon/formats/onnx/nn_internal.h"

namespace tenon::onnx {

Value* shaped_like_scale(Context& c, Value* zero_point, const Value* scale) {
  if (!zero_point || !scale) return zero_point;
  const Type &z = zero_point->type(), &s = scale->type();
  if (!z.ranked() || !s.ranked() || z.ndim() == s.ndim() || !(z.count() == Dim(1)) ||
      !(s.count() == Dim(1)))
    return zero_point;
  return c.reshape(zero_point, std::vector<std::int64_t>(static_cast<std::size_t>(s.ndim()), 1));
}

namespace {

// x, scale and zero point.
Values operands(Context& c) { return {c.in(0), c.in(1), shaped_like_scale(c, c.in(2), c.in(1))}; }

// The result's type: output_dtype, else that of the zero point, else u8.
Values quantize(Context& c) {
  Attrs attrs{{"axis", c.integer("axis", 1)},
              {"block_size", c.integer("block_size", 0)},
              {"saturate", c.flag("saturate", true)}};
  c.ignore({"precision"});  // the page divides in double
  DType to = c.integer("output_dtype", 0) == 0 ? DType::undefined
                                               : c.element_type("output_dtype", DType::u8);
  if (to == DType::undefined) to = c.has(2) ? c.dtype(2) : DType::u8;
  if (c.has(2) && c.dtype(2) != to)
    return c.fail(
        invalid("output_dtype is {} but the zero point is {}", name(to), name(c.dtype(2))));
  attrs.set("output_dtype", to);
  return {c.op("quantize_linear", operands(c), std::move(attrs))};
}

Values dequantize(Context& c) {
  Attrs attrs{{"axis", c.integer("axis", 1)}, {"block_size", c.integer("block_size", 0)}};
  if (c.integer("output_dtype", 0) != 0)
    attrs.set("output_dtype", c.element_type("output_dtype", DType::f32));
  return {c.op("dequantize_linear", operands(c), std::move(attrs))};
}

Values conv_like(Context& c) {
  c.ignore({"kernel_shape"});
  return {c.op(c.row().page, c.inputs(), conv_attrs(c))};
}

Values dynamic_quantize(Context& c) { return c.all("dynamic_quantize_linear", c.inputs()); }

}  // namespace

void add_quant_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page,
                       int first) { rows.push_back({"", op, convert, page, {}, first}); };
  add("QuantizeLinear", quantize, {}, 10);
  add("DequantizeLinear", dequantize, {}, 10);
  add("DynamicQuantizeLinear", dynamic_quantize, {}, 11);
  add("MatMulInteger", renamed, "matmul_integer", 10);
  add("QLinearMatMul", renamed, "qlinear_matmul", 10);
  add("ConvInteger", conv_like, "conv_integer", 10);
  add("QLinearConv", conv_like, "qlinear_conv", 10);
}

}  // namespace tenon::onnx
