// Elementwise operators, casts and matrix products of ai.onnx.
#include <algorithm>

#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
namespace {

// Opset < 7: with broadcast=1, b's dims stand at `axis` of a's (or at its end without an axis).
Value* legacy_broadcast(Context& c, Value* a, Value* b) {
  const bool broadcasts = c.flag("broadcast", false);
  if (!broadcasts || !c.has_attr("axis")) {
    c.ignore({"axis"});
    return b;
  }
  const int rank = c.ndim(a);
  const std::int64_t axis = c.integer("axis", 0);
  const std::int64_t trailing = rank - (axis < 0 ? axis + rank : axis) - c.ndim(b);
  if (trailing < 0)
    return c.fail_value(invalid("axis {} leaves no room for {}", axis, b->type().text()));
  return c.pad_ndim(b, b->type().ndim() + static_cast<int>(trailing));
}

// Inputs of a binary operator, aligned.
Values two(Context& c) {
  if (c.num_inputs() != 2 || !c.has(0) || !c.has(1))
    return c.fail(invalid("two inputs are needed"));
  c.ignore({"consumed_inputs"});
  return {c.in(0), c.version() < 7 ? legacy_broadcast(c, c.in(0), c.in(1)) : c.in(1)};
}

// Max, Min, Sum: any number of inputs, folded in order.
Values fold(Context& c) {
  c.ignore({"consumed_inputs"});
  if (c.num_inputs() == 0 || !c.has(0)) return c.fail(invalid("at least one input is needed"));
  Value* y = c.in(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!c.has(i)) return c.fail(invalid("input {} is absent", i));
    y = c.op(c.row().page, {y, c.in(i)});
  }
  return {y};
}

Values mean(Context& c) {
  const Values total = fold(c);
  return {c.op("div", {total[0], c.number(c.num_inputs(), total[0])})};
}

Values mod(Context& c) {
  return {c.op("mod", {c.in(0), c.in(1)}, {{"fmod", c.flag("fmod", false)}})};
}

Values bit_shift(Context& c) {
  std::string direction = c.text("direction", "");
  std::transform(direction.begin(), direction.end(), direction.begin(),
                 [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
  if (direction != "left" && direction != "right")
    return c.fail(invalid("attribute direction is '{}'", direction));
  return {c.op("bit_shift", {c.in(0), c.in(1)}, {{"direction", direction}})};
}

// Clip: bounds are attributes before opset 11 and inputs since.
Values clip(Context& c) {
  c.ignore({"consumed_inputs"});
  if (c.version() >= 11) return {c.op("clip", c.inputs())};
  Value* low = c.has_attr("min") ? c.number(c.real("min", 0), c.in(0)) : nullptr;
  Value* high = c.has_attr("max") ? c.number(c.real("max", 0), c.in(0)) : nullptr;
  return {c.op("clip", {c.in(0), low, high})};
}

// PReLU: before opset 7 the slope belongs to the channel axis; since then it broadcasts.
Values prelu(Context& c) {
  c.ignore({"consumed_inputs"});
  Value* slope = c.in(1);
  if (c.version() < 7 && c.ndim(slope) == 1 && c.ndim(c.in(0)) > 2 &&
      slope->type().dim(0) != Dim(1))
    slope = c.pad_ndim(slope, c.ndim(c.in(0)) - 1);
  return {c.op("prelu", {c.in(0), slope})};
}

Values is_inf(Context& c) {
  return {c.op("is_inf", c.inputs(),
               {{"detect_negative", c.flag("detect_negative", true)},
                {"detect_positive", c.flag("detect_positive", true)}})};
}

// Cast-1 names the type ("FLOAT"), later ones number it.
DType target_type(Context& c) {
  const AttributeProto* to = c.attr("to");
  if (!to || to->type != AttributeType::text) return c.element_type("to", DType::undefined);
  constexpr std::pair<std::string_view, DType> names[] = {
      {"FLOAT", DType::f32},   {"UINT8", DType::u8},      {"INT8", DType::i8},
      {"UINT16", DType::u16},  {"INT16", DType::i16},     {"INT32", DType::i32},
      {"INT64", DType::i64},   {"STRING", DType::string}, {"BOOL", DType::boolean},
      {"FLOAT16", DType::f16}, {"DOUBLE", DType::f64},    {"UINT32", DType::u32},
      {"UINT64", DType::u64},  {"COMPLEX64", DType::c64}, {"COMPLEX128", DType::c128}};
  const std::string text = c.text("to", "");
  for (const auto& [name, dtype] : names)
    if (name == text) return dtype;
  c.fail(invalid("attribute to is '{}'", text));
  return DType::undefined;
}

Values cast_to(Context& c, DType to) {
  Attrs attrs{{"to", to}};
  const bool saturate = c.flag("saturate", true);
  const std::string rounding = c.text("round_mode", "up");
  if (to == DType::undefined) return c.fail(invalid("the target type is missing"));
  if (c.dtype(0) == to) return {c.in(0)};
  if (c.dtype(0) == DType::string || to == DType::string)
    return {c.op("cast_text", {c.in(0)}, std::move(attrs))};
  const bool is_scale = to == DType::f8e8m0;  // the only type that round_mode speaks of
  if (is_scale && rounding != "up" && rounding != "down" && rounding != "nearest")
    return c.fail(invalid("attribute round_mode is '{}'", rounding));
  attrs.set("saturate", saturate);
  if (is_scale) attrs.set("round_mode", rounding);
  return {c.op("cast", {c.in(0)}, std::move(attrs))};
}

Values cast(Context& c) { return cast_to(c, target_type(c)); }
Values cast_like(Context& c) {
  return c.has(1) ? cast_to(c, c.dtype(1)) : c.fail(invalid("input target_type is absent"));
}
Values bitcast(Context& c) {
  return {c.op("bitcast", {c.in(0)}, {{"to", c.element_type("to", DType::undefined)}})};
}

Values identity(Context& c) {
  if (!c.has(0)) return c.fail(invalid("the input is absent"));
  return {c.in(0)};
}

// Gemm: y = alpha * a' * b' + beta * c, where c broadcasts. Before opset 7 the attribute
// `broadcast` says so.
Values gemm(Context& c) {
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const bool trans_a = c.flag("transA", false), trans_b = c.flag("transB", false);
  c.ignore({"broadcast"});
  return {c.op("gemm", c.inputs(),
               {{"alpha", alpha}, {"beta", beta}, {"trans_a", trans_a}, {"trans_b", trans_b}})};
}

}  // namespace

Values renamed_binary(Context& c) { return {c.op(c.row().page, two(c))}; }

// Operators that differ from their page in name only.
static void add_renamed_rows(Rows& rows) {
  for (auto [op, page] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"Abs", "abs"},
           {"Neg", "neg"},
           {"Sign", "sign"},
           {"Floor", "floor"},
           {"Ceil", "ceil"},
           {"Round", "round"},
           {"Sqrt", "sqrt"},
           {"Reciprocal", "reciprocal"},
           {"Exp", "exp"},
           {"Log", "log"},
           {"Sin", "sin"},
           {"Cos", "cos"},
           {"Tan", "tan"},
           {"Asin", "asin"},
           {"Acos", "acos"},
           {"Atan", "atan"},
           {"Sinh", "sinh"},
           {"Cosh", "cosh"},
           {"Tanh", "tanh"},
           {"Asinh", "asinh"},
           {"Acosh", "acosh"},
           {"Atanh", "atanh"},
           {"Erf", "erf"},
           {"Sigmoid", "sigmoid"},
           {"Relu", "relu"},
           {"Softplus", "softplus"},
           {"Softsign", "softsign"},
           {"Mish", "mish"},
           {"HardSwish", "hard_swish"},
           {"Not", "logical_not"},
           {"BitwiseNot", "bitwise_not"},
           {"IsNaN", "is_nan"},
           {"Where", "where"},
           {"MatMul", "matmul"},
           {"GreaterOrEqual", "greater_equal"},
           {"LessOrEqual", "less_equal"},
           {"BitwiseAnd", "bitwise_and"},
           {"BitwiseOr", "bitwise_or"},
           {"BitwiseXor", "bitwise_xor"},
           {"Det", "det"}})
    rows.push_back({.domain = "", .op_type = op, .convert = renamed, .page = page});
  for (auto [op, page] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{{"Add", "add"},
                                                                            {"Sub", "sub"},
                                                                            {"Mul", "mul"},
                                                                            {"Div", "div"},
                                                                            {"Pow", "pow"},
                                                                            {"And", "logical_and"},
                                                                            {"Or", "logical_or"},
                                                                            {"Xor", "logical_xor"},
                                                                            {"Equal", "equal"},
                                                                            {"Less", "less"},
                                                                            {"Greater", "greater"}})
    rows.push_back({.domain = "", .op_type = op, .convert = renamed_binary, .page = page});
}

void add_math_rows(Rows& rows) {
  add_renamed_rows(rows);
  const auto add = [&](std::string_view op, Values (*convert)(Context&), std::string_view page = {},
                       Attrs attrs = {}, int first = 1) {
    rows.push_back({"", op, convert, page, std::move(attrs), first});
  };
  add("Max", fold, "max");
  add("Min", fold, "min");
  add("Sum", fold, "add");
  add("Mean", mean, "add");
  add("Mod", mod, {}, {}, 10);
  add("BitShift", bit_shift, {}, {}, 11);
  add("Clip", clip);
  add("PRelu", prelu);
  add("IsInf", is_inf, {}, {}, 10);
  add("Cast", cast);
  add("CastLike", cast_like, {}, {}, 15);
  add("BitCast", bitcast, {}, {}, 26);
  add("Identity", identity);
  add("Gemm", gemm);
  add("Einsum", renamed, "einsum", {{"equation", ""}}, 12);
  add("Gelu", renamed, "gelu", {{"approximate", "none"}}, 20);
  add("Swish", renamed, "silu", {{"alpha", 1.0}}, 24);
  add("LeakyRelu", renamed, "leaky_relu", {{"alpha", 0.01}});
  add("Elu", renamed, "elu", {{"alpha", 1.0}});
  add("Celu", renamed, "celu", {{"alpha", 1.0}}, 12);
  add("Selu", renamed, "selu",
      {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}});
  add("HardSigmoid", renamed, "hard_sigmoid", {{"alpha", 0.2}, {"beta", 0.5}});
  add("ThresholdedRelu", renamed, "thresholded_relu", {{"alpha", 1.0}}, 10);
  add("Shrink", renamed, "shrink", {{"bias", 0.0}, {"lambd", 0.5}}, 9);
}

}  // namespace tenon::onnx
