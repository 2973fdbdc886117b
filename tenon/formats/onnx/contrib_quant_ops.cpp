// com.microsoft: arithmetic on quantised tensors, as the float operator between dequantisation and
// quantisation.
#include "tenon/formats/onnx/contrib_internal.h"
#include "tenon/formats/onnx/nn_internal.h"

namespace tenon::onnx {
namespace {

// Inputs at, at + 1, at + 2 are a tensor, its scale and its zero point.
Value* dequantized(Context& c, int at, std::int64_t axis = 1) {
  return c.op("dequantize_linear",
              {c.in(at), c.in(at + 1), shaped_like_scale(c, c.in(at + 2), c.in(at + 1))},
              {{"axis", axis}});
}

// Quantises to the type of x with the scale and zero point at inputs `at` and `at + 1`.
Value* quantized(Context& c, Value* y, int at, DType to) {
  return c.op("quantize_linear", {y, c.in(at), shaped_like_scale(c, c.in(at + 1), c.in(at))},
              {{"output_dtype", c.has(at + 1) ? c.dtype(at + 1) : to}});
}

Values binary(Context& c) {
  return {quantized(c, c.op(c.row().page, {dequantized(c, 0), dequantized(c, 3)}), 6, c.dtype(0))};
}

Values sigmoid(Context& c) {
  return {quantized(c, c.op("sigmoid", {dequantized(c, 0)}), 3, c.dtype(0))};
}

Values leaky_relu(Context& c) {
  return {quantized(c, c.op("leaky_relu", {dequantized(c, 0)}, {{"alpha", c.real("alpha", 0.01)}}),
                    3, c.dtype(0))};
}

// `opset` says whether axes from `axis` on count as one (below 13).
Values softmax(Context& c) {
  const std::int64_t axis = c.integer("axis", -1), opset = c.integer("opset", 13);
  Value* x = dequantized(c, 0);
  if (opset >= 13) return {quantized(c, c.op("softmax", {x}, {{"axis", axis}}), 3, c.dtype(0))};
  Value* y = c.op("softmax", {c.op("flatten", {x}, {{"axis", axis}})}, {{"axis", -1}});
  return {quantized(c, c.reshape_like(y, x), 3, c.dtype(0))};
}

// Runs `f` on x with channels in axis 1.
template <class F>
Value* channels_first(Context& c, Value* x, bool is_last, F f) {
  if (!is_last) return f(x);
  const int n = c.ndim(x);
  std::vector<std::int64_t> to_first = {0, n - 1}, to_last = {0};
  for (int i = 1; i < n - 1; ++i) to_first.push_back(i);
  for (int i = 2; i < n; ++i) to_last.push_back(i);
  to_last.push_back(1);
  return c.transpose(f(c.transpose(x, to_first)), to_last);
}

Values average_pool(Context& c) {
  Attrs attrs = window_attrs(c);
  attrs.set("kernel", c.integers("kernel_shape"));
  attrs.set("ceil_mode", c.flag("ceil_mode", false));
  attrs.set("count_include_pad", c.flag("count_include_pad", false));
  Value* y = channels_first(c, dequantized(c, 0), c.flag("channels_last", false),
                            [&](Value* x) { return c.op("average_pool", {x}, attrs); });
  return {quantized(c, y, 3, c.dtype(0))};
}

Values global_average_pool(Context& c) {
  Value* y = channels_first(c, dequantized(c, 0), c.flag("channels_last", false),
                            [&](Value* x) { return c.op("global_average_pool", {x}); });
  return {quantized(c, y, 3, c.dtype(0))};
}

// Inputs: y's scale and zero point, then a triple for each part.
Values concat(Context& c) {
  Values parts;
  for (int i = 2; i + 2 < c.num_inputs(); i += 3) parts.push_back(dequantized(c, i));
  if (parts.empty()) return c.fail(invalid("no parts are given"));
  return {quantized(c, c.concat(std::move(parts), c.integer("axis", 0)), 0, c.dtype(2))};
}

// Inputs: condition, then triples for x and y, then z's scale and zero point.
Values where(Context& c) {
  return {
      quantized(c, c.op("where", {c.in(0), dequantized(c, 1), dequantized(c, 4)}), 7, c.dtype(1))};
}

Values reduce_mean(Context& c) {
  Value* axes = c.has_attr("axes") ? c.ints(c.integers("axes")) : nullptr;
  return {quantized(
      c, c.op("reduce_mean", {dequantized(c, 0), axes}, {{"keepdims", c.flag("keepdims", true)}}),
      3, c.dtype(0))};
}

// With channels_last x and y are [N, H, W, C]; the weight stays [M, C / group, kH, kW].
Values qlinear_conv(Context& c) {
  const bool is_last = c.flag("channels_last", false);
  c.ignore({"kernel_shape"});
  const Attrs attrs = conv_attrs(c);
  return {channels_first(c, c.in(0), is_last, [&](Value* x) {
    Values inputs = c.inputs();
    inputs[0] = x;
    return c.op("qlinear_conv", std::move(inputs), attrs);
  })};
}

Values quantize(Context& c) {
  return {
      c.op("quantize_linear", {c.in(0), c.in(1), shaped_like_scale(c, c.in(2), c.in(1))},
           {{"axis", c.integer("axis", 1)}, {"output_dtype", c.has(2) ? c.dtype(2) : DType::u8}})};
}
Values dequantize(Context& c) {
  return {c.op("dequantize_linear", {c.in(0), c.in(1), shaped_like_scale(c, c.in(2), c.in(1))},
               {{"axis", c.integer("axis", 1)}})};
}

// ---- products
// ---------------------------------------------------------------------------------------

// (a - za)(b - zb) scaled to float, plus bias.
Value* integer_product(Context& c, const Values& operands, Value* a_scale, Value* b_scale,
                       Value* bias) {
  Value* y = c.op("mul", {c.cast_like(c.op("matmul_integer", operands), a_scale),
                          c.op("mul", {a_scale, b_scale})});
  return bias ? c.op("add", {y, bias}) : y;
}

Values matmul_integer_to_float(Context& c) {
  return {integer_product(c, {c.in(0), c.in(1), c.in(4), c.in(5)}, c.in(2), c.in(3), c.in(6))};
}

Values dynamic_quantize_matmul(Context& c) {
  const Values a = c.all("dynamic_quantize_linear", {c.in(0)});
  if (a.size() < 3) return c.fail(Error{});
  return {integer_product(c, {a[0], c.in(1), a[2], c.in(3)}, a[1], c.in(2), c.in(4))};
}

// Inputs: triples of a and b, c (i32, scaled by alpha * a's * b's scale), y's scale and zero point.
Values gemm(Context& c) {
  const Attrs attrs{{"trans_a", c.flag("transA", false)}, {"trans_b", c.flag("transB", false)}};
  const std::int64_t b_axis = *attrs.get<bool>("trans_b") ? 0 : 1;
  const double alpha = c.real("alpha", 1);
  Value* y = c.op("gemm", {dequantized(c, 0), dequantized(c, 3, b_axis)}, attrs);
  if (c.has(6))
    y = c.op("add", {y, c.op("mul", {c.cast_like(c.in(6), y), c.op("mul", {c.in(1), c.in(4)})})});
  if (alpha != 1) y = c.op("mul", {y, c.number(alpha, y)});
  return {c.has(7) ? quantized(c, y, 7, c.dtype(0)) : y};
}

// ---- MatMulNBits
// --------------------------------------------------------------------------------------

// Rows of `packed` bytes to `width` elements of 2, 4 or 8 bits each, lowest bits first.
Tensor unpacked(const Tensor& packed, std::int64_t rows, std::int64_t width, std::int64_t bits) {
  Tensor out(bits == 4 ? DType::u4 : bits == 2 ? DType::u2 : DType::u8, {rows, width});
  const auto in = packed.data<std::uint8_t>();
  const auto y = out.data<std::uint8_t>();
  const std::int64_t stride = packed.count() / std::max<std::int64_t>(1, rows), per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < width; ++k)
      y[static_cast<std::size_t>(r * width + k)] = static_cast<std::uint8_t>(
          (in[static_cast<std::size_t>(r * stride + k / per_byte)] >> (bits * (k % per_byte))) &
          mask);
  return out;
}

struct Blocks {
  std::int64_t k, n, bits, size;
  std::int64_t count() const { return (k + size - 1) / size; }
};

// Zero points as an integer tensor [n, blocks]; packed like the weight, or 2^(bits - 1) everywhere.
std::optional<Tensor> zero_points(Context& c, const Blocks& b, const Value* given) {
  const DType dtype = b.bits == 4 ? DType::u4 : b.bits == 2 ? DType::u2 : DType::u8;
  if (!given) return Tensor::full(dtype, {b.n, b.count()}, static_cast<double>(1 << (b.bits - 1)));
  const auto t = c.known(given);
  if (!t || t->dtype() != DType::u8 || t->count() < b.n * ((b.count() * b.bits + 7) / 8))
    return std::nullopt;
  return unpacked(*t, b.n, b.count(), b.bits);
}

// y = a * dequantised(b)' + bias; b[n, blocks, bytes] holds rows of k elements in blocks that share
// a scale.
Values matmul_nbits(Context& c) {
  const Blocks b{c.integer("K", 0), c.integer("N", 0), c.integer("bits", 4),
                 c.integer("block_size", 32)};
  c.ignore({"accuracy_level", "weight_prepacked"});
  if (b.k < 1 || b.n < 1 || b.size < 1 || (b.bits != 2 && b.bits != 4 && b.bits != 8))
    return c.fail(unsupported("K {}, N {}, {} bits in blocks of {}", b.k, b.n, b.bits, b.size));
  if (c.has(4)) return c.fail(unsupported("rows in another order (g_idx)"));
  const auto weight = c.known(c.in(1));
  const auto zeros = zero_points(c, b, c.in(3));
  if (!weight || weight->dtype() != DType::u8 || weight->count() < b.n * ((b.k * b.bits + 7) / 8))
    return c.fail(
        unsupported("the packed weight must be a constant of u8 with N rows of K elements"));
  if (!zeros) return c.fail(unsupported("zero points must be constants, packed like the weight"));
  Value* scales = c.reshape(c.in(2), {b.n, b.count()});
  Value* w = c.op("dequantize_linear",
                  {c.constant(unpacked(*weight, b.n, b.k, b.bits)), scales, c.constant(*zeros)},
                  {{"axis", 1}, {"block_size", b.size}});
  Value* y = c.op("matmul", {c.in(0), c.transpose(c.cast_like(w, c.in(0)), {1, 0})});
  return {c.has(5) ? c.op("add", {y, c.in(5)}) : y};
}

// QAttention: input and weight as floats, then Attention. Inputs: x, w, bias, x scale, w scale,
// mask, x zero, w zero, past.
Values attention(Context& c) {
  Value* x = c.op("dequantize_linear", {c.in(0), c.in(3), shaped_like_scale(c, c.in(6), c.in(3))});
  Value* w = c.op("dequantize_linear", {c.in(1), c.in(4), shaped_like_scale(c, c.in(7), c.in(4))},
                  {{"axis", 1}});
  return packed_attention(c, {x, w, c.in(2), c.in(5), c.in(8), nullptr});
}

}  // namespace

void add_contrib_quant_rows(Rows& rows) {
  const auto add = [&](std::string_view op, Values (*convert)(Context&),
                       std::string_view page = {}) {
    rows.push_back({kMicrosoft, op, convert, page});
  };
  add("QLinearAdd", binary, "add");
  add("QLinearMul", binary, "mul");
  add("QLinearSigmoid", sigmoid);
  add("QLinearLeakyRelu", leaky_relu);
  add("QLinearSoftmax", softmax);
  add("QLinearAveragePool", average_pool);
  add("QLinearGlobalAveragePool", global_average_pool);
  add("QLinearConcat", concat);
  add("QLinearWhere", where);
  add("QLinearReduceMean", reduce_mean);
  add("QLinearConv", qlinear_conv);
  add("QuantizeLinear", quantize);
  add("DequantizeLinear", dequantize);
  add("MatMulIntegerToFloat", matmul_integer_to_float);
  add("DynamicQuantizeMatMul", dynamic_quantize_matmul);
  add("QGemm", gemm);
  add("MatMulNBits", matmul_nbits);
  add("QAttention", attention);
}

}  // namespace tenon::onnx
