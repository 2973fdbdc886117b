// What pages compute, against values known from their definitions: edges, special numbers, small
// types.
#include "tests/ops/values.h"

#include <gtest/gtest.h>

namespace tenon::ops {
namespace {

TEST(Values, SignsAndRounding) {
  check_values({{"abs", {f32({-2, 0, 3})}, f32({2, 0, 3})},
                {"abs", {of_type(DType::i8, {-128, -7})}, of_type(DType::i8, {-128, 7})},
                {"sign", {f32({-2, 0, 3, kNan})}, f32({-1, 0, 1, kNan})},
                {"sign", {of_type(DType::u8, {0, 200})}, of_type(DType::u8, {0, 1})},
                {"round",
                 {f32({0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 0.9F, -1.1F})},
                 f32({0, 2, 2, -0.0F, -2, -2, 1, -1})},
                {"floor", {f32({-1.5F, 1.5F, kInf})}, f32({-2, 1, kInf})},
                {"ceil", {f32({-1.5F, 1.5F})}, f32({-1, 2})},
                {"trunc", {f32({-1.5F, 1.5F})}, f32({-1, 1})}});
}

TEST(Values, PowersAndLogarithms) {
  check_values(
      {{"sqrt", {f32({4, 0, -1})}, f32({2, 0, kNan})},
       {"rsqrt", {f32({4, 0})}, f32({0.5F, kInf})},
       {"reciprocal", {f32({4, -0.5F})}, f32({0.25F, -2})},
       {"log", {f32({1, 0, -1})}, f32({0, -kInf, kNan})},
       {"log1p", {f64({1e-20})}, f64({1e-20})},
       {"expm1", {f64({1e-20})}, f64({1e-20})},
       {"square", {of_type(DType::i32, {-3, 4})}, of_type(DType::i32, {9, 16})},
       {"pow", {f32({2, 3, -2}), f32({3, 0.5F, 3})}, f32({8, 1.7320508F, -8})},
       {"pow", {of_type(DType::i32, {1, 2, 3}), f32({4, 5, 6})}, of_type(DType::i32, {1, 32, 729})},
       {"pow", {f32({1, 2, 3}), of_type(DType::u64, {4, 5, 6})}, f32({1, 32, 729})},
       {"pow", {i64({2, -1, 1, 3}), of_type(DType::i32, {-1, -3, -5, 4})}, i64({0, -1, 1, 81})},
       {"pow", {f32({0, 0, 4}), f32({0, -1, 0})}, f32({1, kInf, 1})}});
}

TEST(Values, Trigonometry) {
  check_values({{"sin", {f64({0.5})}, f64({0.479425538604203})},
                {"cos", {f64({0.5})}, f64({0.877582561890373})},
                {"tan", {f64({0.5})}, f64({0.546302489843790})},
                {"asin", {f64({0.5, 1})}, f64({0.523598775598299, 1.570796326794897})},
                {"acos", {f64({0.5, -1})}, f64({1.047197551196598, 3.141592653589793})},
                {"atan", {f64({0.5})}, f64({0.463647609000806})},
                {"sinh", {f64({0.5})}, f64({0.521095305493747})},
                {"cosh", {f64({0.5})}, f64({1.127625965206381})},
                {"tanh", {f64({0.5})}, f64({0.462117157260010})},
                {"asinh", {f64({0.5})}, f64({0.481211825059603})},
                {"acosh", {f64({2, 1})}, f64({1.316957896924817, 0})},
                {"atanh", {f64({0.5})}, f64({0.549306144334055})},
                {"atan2",
                 {f64({1, -1, 0}), f64({-1, -1, 0})},
                 f64({2.356194490192345, -2.356194490192345, 0})}});
}

TEST(Values, SigmoidsKeepTheirTails) {
  check_values({{"sigmoid",
                 {f32({0, 100, -80, kInf, -kInf, kNan})},
                 f32({0.5F, 1, 1.8048514e-35F, 1, 0, kNan})},
                {"softplus", {f32({0, 200, -200})}, f32({0.6931472F, 200, 0})},
                {"softsign", {f32({1, -3})}, f32({0.5F, -0.75F})},
                {"erf", {f64({0.5})}, f64({0.520499877813047})},
                {"gelu", {f64({-1, 0, 1})}, f64({-0.158655253931457, 0, 0.841344746068543})},
                {"gelu",
                 {f64({-1, 1})},
                 f64({-0.158808009391723, 0.841191990608277}),
                 {{"approximate", "tanh"}}},
                {"silu", {f32({3, 4, 5})}, f32({2.8577223F, 3.928055F, 4.966536F})},
                {"quick_gelu", {f64({1})}, f64({0.845795764220037})},
                {"mish", {f64({1, -1, 60})}, f64({0.865098388267298, -0.303401461372117, 60})}});
  const Tensor tail = (*call("sigmoid", {f32({-80})}))[0].tensor();
  EXPECT_NEAR(tail.data<float>()[0] / 1.8048514e-35F, 1,
              1e-5);  // relative: the tail is no rounding error of 1
}

TEST(Values, PiecewiseUnits) {
  check_values(
      {{"hard_sigmoid", {f32({-5, -1, 5})}, f32({0, 0.3F, 1})},
       {"hard_swish", {f32({-4, -1.5F, 0, 3, 4})}, f32({0, -0.375F, 0, 3, 4})},
       {"elu", {f32({-1, 0, 2})}, f32({-1.2642411F, 0, 2}), {{"alpha", 2.0}}},
       {"celu", {f32({-1, 0, 200})}, f32({-0.7869387F, 0, 200}), {{"alpha", 2.0}}},
       {"selu", {f32({-1, 0, 1})}, f32({-1.1113307F, 0, 1.0507010F})},
       {"leaky_relu", {f32({-1, 0, 1})}, f32({-0.1F, 0, 1}), {{"alpha", 0.1}}},
       {"thresholded_relu", {f32({-1, 1, 1.5F})}, f32({0, 0, 1.5F})},
       {"shrink",
        {f32({-2, -1.5F, 0, 1.5F, 2})},
        f32({-0.5F, 0, 0, 0, 0.5F}),
        {{"lambd", 1.5}, {"bias", 1.5}}},
       {"shrink",
        {of_type(DType::i32, {-4, -1, 4})},
        of_type(DType::i32, {-2, 0, 2}),
        {{"lambd", 1.5}, {"bias", 1.5}}},
       {"prelu",
        {of_type(DType::f32, {-1, 2, -3, 4}, {2, 2}), f32({10, 100})},
        of_type(DType::f32, {-10, 2, -30, 4}, {2, 2})},
       {"clip",
        {f32({-2, 0, 6}), of_type(DType::f32, {2}), of_type(DType::f32, {1})},
        f32({1, 1, 1})},
       {"clip", {f32({-2, kNan, 6}), Tensor(), of_type(DType::f32, {1})}, f32({-2, kNan, 1})},
       {"clip",
        {of_type(DType::i8, {-9, 3}), of_type(DType::i8, {0})},
        of_type(DType::i8, {0, 3})}});
}

TEST(Values, RemaindersTakeASign) {
  const std::vector<double> a = {-4, 7, 5, 4, -7, 8}, b = {2, -3, 8, -2, 3, 5};
  for (DType d : {DType::i8, DType::i32, DType::i64, DType::f32}) {
    check_values({{"mod", {of_type(d, a), of_type(d, b)}, of_type(d, {0, -2, 5, 0, 2, 3})},
                  {"mod",
                   {of_type(d, a), of_type(d, b)},
                   of_type(d, {0, 1, 5, 0, -1, 3}),
                   {{"fmod", true}}}});
  }
  check_values({{"mod",
                 {f32({-4.3F, 7.2F}), f32({2.1F, -3.4F})},
                 f32({-0.10000038F, 0.39999962F}),
                 {{"fmod", true}}},
                {"mod",
                 {of_type(DType::u64, {7, 9}), of_type(DType::u64, {4, 0})},
                 of_type(DType::u64, {3, 0})}});
}

TEST(Values, NanWinsMinAndMax) {
  check_values({{"max", {f32({1, kNan, 3}), f32({kNan, 2, 2})}, f32({kNan, kNan, 3})},
                {"min", {f32({1, kNan, 3}), f32({kNan, 2, 2})}, f32({kNan, kNan, 2})},
                {"max",
                 {of_type(DType::i8, {-1, 5}), of_type(DType::i8, {1, 4})},
                 of_type(DType::i8, {1, 5})}});
  const Tensor big = from_int64s(std::vector<std::int64_t>{-1}, DType::u64, {1}),
               one = of_type(DType::u64, {1});
  check_values({{"max", {big, one}, big},
                {"min", {big, one}, one},
                {"greater", {big, one}, truths({1})}});  // 2^64 - 1 is no -1
}

TEST(Values, Comparisons) {
  const Tensor a = f32({1, 2, kNan}), b = f32({2, 2, kNan});
  check_values({{"less", {a, b}, truths({1, 0, 0})},
                {"less_equal", {a, b}, truths({1, 1, 0})},
                {"greater", {a, b}, truths({0, 0, 0})},
                {"greater_equal", {a, b}, truths({0, 1, 0})},
                {"equal", {a, b}, truths({0, 1, 0})},
                {"not_equal", {a, b}, truths({1, 0, 1})},
                {"is_nan", {a}, truths({0, 0, 1})}});
  const Tensor x = f32({-kInf, 1, kInf, kNan});
  check_values({{"is_inf", {x}, truths({1, 0, 1, 0})},
                {"is_inf", {x}, truths({0, 0, 1, 0}), {{"detect_negative", false}}},
                {"is_inf", {x}, truths({1, 0, 0, 0}), {{"detect_positive", false}}},
                {"is_inf",
                 {x},
                 truths({0, 0, 0, 0}),
                 {{"detect_positive", false}, {"detect_negative", false}}},
                {"is_nan", {of_type(DType::f8e4m3fn, {1, kNan})}, truths({0, 1})},
                {"is_inf", {of_type(DType::f8e5m2, {1, kInf})}, truths({0, 1})}});
  const Tensor words = Tensor::vector<std::string>({"one", "two"}),
               other = Tensor::vector<std::string>({"one", "three"});
  check_values(
      {{"equal", {words, other}, truths({1, 0})},
       {"where", {truths({0, 1}), words, other}, Tensor::vector<std::string>({"one", "two"})}});
}

TEST(Values, BitsAndTruth) {
  check_values(
      {{"logical_and", {truths({0, 0, 1, 1}), truths({0, 1, 0, 1})}, truths({0, 0, 0, 1})},
       {"logical_or", {truths({0, 0, 1, 1}), truths({0, 1, 0, 1})}, truths({0, 1, 1, 1})},
       {"logical_xor", {truths({0, 0, 1, 1}), truths({0, 1, 0, 1})}, truths({0, 1, 1, 0})},
       {"logical_not", {truths({0, 1})}, truths({1, 0})},
       {"bitwise_and", {i64({12}), i64({10})}, i64({8})},
       {"bitwise_or", {i64({12}), i64({10})}, i64({14})},
       {"bitwise_xor", {i64({12}), i64({-1})}, i64({-13})},
       {"bitwise_not", {of_type(DType::u8, {0, 200})}, of_type(DType::u8, {255, 55})},
       {"bit_shift",
        {of_type(DType::u8, {16, 4, 1}), of_type(DType::u8, {1, 2, 8})},
        of_type(DType::u8, {32, 16, 0}),
        {{"direction", "left"}}},
       {"bit_shift",
        {of_type(DType::u8, {16, 4, 255}), of_type(DType::u8, {1, 2, 7})},
        of_type(DType::u8, {8, 1, 1}),
        {{"direction", "right"}}},
       {"bitcast",
        {f32({1, -2})},
        of_type(DType::u32, {0x3f800000, 0xc0000000}),
        {{"to", DType::u32}}},
       {"bitcast", {of_type(DType::i4, {-1, 7})}, of_type(DType::u4, {15, 7}), {{"to", DType::u4}}},
       {"bitcast", {of_type(DType::u4, {15, 7})}, of_type(DType::i4, {-1, 7}), {{"to", DType::i4}}},
       {"bitcast", {truths({1, 0})}, of_type(DType::u8, {1, 0}), {{"to", DType::u8}}}});
}

TEST(Values, CastsFollowTheTargetsRange) {
  const auto to = [](DType d) { return Attrs{{"to", d}}; };
  check_values(
      {{"cast",
        {f32({1e6F, -1e6F, kNan})},
        of_type(DType::f16, {kInf, -kInf, kNan}),
        to(DType::f16)},
       {"cast", {f32({3e38F, 1})}, of_type(DType::bf16, {3e38F, 1}), to(DType::bf16)},
       {"cast", {f32({-1.9F, 2.9F})}, i64({-1, 2}), to(DType::i64)},
       {"cast", {f32({0, -0.0F, 0.1F, kNan})}, truths({0, 0, 1, 1}), to(DType::boolean)},
       {"cast", {of_type(DType::i16, {200, -300})}, of_type(DType::i8, {-56, -44}), to(DType::i8)},
       {"cast", {f32({-9, -1, 3, 16})}, of_type(DType::u4, {7, 15, 3, 0}), to(DType::u4)},
       {"cast", {f32({-3, -2, 3})}, of_type(DType::i2, {1, -2, -1}), to(DType::i2)},
       {"cast",
        {f32({1000, -1000, kInf, kNan})},
        of_type(DType::f8e4m3fn, {448, -448, 448, kNan}),
        to(DType::f8e4m3fn)},
       {"cast",
        {f32({1e6F, -kInf})},
        of_type(DType::f8e5m2, {kInf, -kInf}),
        {{"to", DType::f8e5m2}, {"saturate", false}}},
       {"cast",
        {f32({1000})},
        of_type(DType::f8e4m3fn, {kNan}),
        {{"to", DType::f8e4m3fn}, {"saturate", false}}},
       {"cast",
        {f32({0.124F, 0.5F, 1.1F})},
        of_type(DType::f8e8m0, {0.125, 0.5, 2}),
        {{"to", DType::f8e8m0}, {"round_mode", "up"}}},
       {"cast", {f32({7, -0.6F, 2.6F})}, of_type(DType::f4e2m1, {6, -0.5, 3}), to(DType::f4e2m1)}});
}

// PyTorch writes "all boxes" as the largest int64, which rounds to more than int64 holds in a
// double.
TEST(Values, NmsKeepsAsManyBoxesAsItMay) {
  const Tensor boxes = of_type(DType::f32, {0, 0, 1, 1, 0, 0, 1, 1.1, 5, 5, 6, 6}, {1, 3, 4});
  const Tensor scores = of_type(DType::f32, {0.1, 0.2, 0.3}, {1, 1, 3});
  const Tensor two = of_type(DType::i64, {0, 0, 2, 0, 0, 1}, {2, 3});
  check_values(
      {{"nms", {boxes, scores, i64({std::numeric_limits<std::int64_t>::max()}), f32({0.5F})}, two},
       {"nms", {boxes, scores, i64({2}), f32({0.5F})}, two},
       {"nms", {boxes, scores, i64({1}), f32({0.5F})}, of_type(DType::i64, {0, 0, 2}, {1, 3})}});
}

}  // namespace
}  // namespace tenon::ops
