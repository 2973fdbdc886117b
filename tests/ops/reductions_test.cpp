// Reductions, scans and searches against known values: ties, empty sets, special numbers, integers.
#include <gtest/gtest.h>

#include "tests/ops/values.h"

namespace tenon::ops {
namespace {

const Tensor& nothing(DType d) {  // [2, 0]: two sets without elements
  static const Tensor of_f32(DType::f32, {2, 0}), of_i32(DType::i32, {2, 0}),
      of_u8(DType::u8, {2, 0}), of_bool(DType::boolean, {2, 0});
  return d == DType::f32 ? of_f32 : d == DType::i32 ? of_i32 : d == DType::u8 ? of_u8 : of_bool;
}

Tensor two(DType d, double v) { return of_type(d, {v, v}, {2, 1}); }

TEST(Reductions, OfNothing) {
  const auto over = [](std::string_view op, DType d, double v) {
    return ValueCase{op, {nothing(d), i64({1})}, two(d, v)};
  };
  check_values(
      {over("reduce_sum", DType::f32, 0), over("reduce_prod", DType::f32, 1),
       over("reduce_prod", DType::i32, 1), over("reduce_l1", DType::f32, 0),
       over("reduce_l2", DType::f32, 0), over("reduce_sum_square", DType::f32, 0),
       over("reduce_log_sum", DType::f32, -kInf), over("reduce_log_sum_exp", DType::f32, -kInf),
       over("reduce_mean", DType::f32, kNan), over("reduce_mean", DType::i32, 0),
       over("reduce_max", DType::f32, -kInf), over("reduce_min", DType::f32, kInf),
       over("reduce_max", DType::i32, -2147483648.0), over("reduce_min", DType::i32, 2147483647),
       over("reduce_max", DType::u8, 0), over("reduce_min", DType::u8, 255),
       over("reduce_max", DType::boolean, 0), over("reduce_min", DType::boolean, 1)});
  check_values(
      {{"reduce_sum", {Tensor(DType::f32, {0, 3}), i64({1})}, Tensor(DType::f32, {0, 1})}});
}

TEST(Reductions, OfOrdinaryNumbers) {
  const Attrs whole = {{"keepdims", false}};
  const auto all = [&](std::string_view op, Tensor x, Tensor y) {
    return ValueCase{op, {std::move(x)}, std::move(y).reshaped({}), whole};
  };
  check_values(
      {all("reduce_mean", f32({1, 2, 6}), f32({3})), all("reduce_mean", i64({-5, -6}), i64({-5})),
       all("reduce_mean", i64({5, 6}), i64({5})), all("reduce_l1", f32({1, -2, 6}), f32({9})),
       all("reduce_l2", f32({3, -4}), f32({5})), all("reduce_l2", i64({3, 4, 1}), i64({5})),
       all("reduce_l2", of_type(DType::f16, {300, 400}), of_type(DType::f16, {500})),
       all("reduce_sum_square", f32({3, -4}), f32({25})),
       all("reduce_prod", f32({3, -4, 2}), f32({-24})),
       all("reduce_log_sum", f32({1, 2}), f32({1.0986123F})),
       all("reduce_log_sum_exp", f32({1000, 1000}), f32({1000.6931F})),
       all("reduce_log_sum_exp", f32({-1000, -1000}), f32({-999.3069F})),
       all("reduce_mean", of_type(DType::f16, std::vector<double>(100, 1000)),
           of_type(DType::f16, {1000}))});
  check_values(
      {{"reduce_mean",
        {of_type(DType::f32, {1, 2, 3, 4}, {2, 2}), i64({-1})},
        of_type(DType::f32, {1.5, 3.5}, {2, 1})},
       {"reduce_sum_square", {f32({3, -4})}, f32({9, 16}), {{"noop_with_empty_axes", true}}},
       {"reduce_log_sum", {f32({1})}, f32({0}), {{"noop_with_empty_axes", true}}},
       {"reduce_max",
        {of_type(DType::boolean, {1, 1, 0, 0}, {2, 2}), i64({1})},
        of_type(DType::boolean, {1, 0}, {2, 1})}});
}

TEST(Reductions, OfSpecialNumbers) {
  const auto all = [](std::string_view op, std::vector<float> x, float y) {
    return ValueCase{op, {f32(std::move(x))}, f32({y})};
  };
  check_values(
      {all("reduce_max", {1, kNan, 2}, kNan), all("reduce_min", {kNan, 1}, kNan),
       all("reduce_log_sum_exp", {-kInf, -kInf}, -kInf), all("reduce_log_sum_exp", {kInf, 1}, kInf),
       all("reduce_log_sum_exp", {-kInf, 1}, 1), all("reduce_log_sum_exp", {kNan, 1}, kNan)});
  const Tensor big = from_int64s(std::vector<std::int64_t>{-1, 5}, DType::u64, {2});
  EXPECT_EQ(integer_element((*call("reduce_max", {big}))[0].tensor(), 0),
            -1);  // 2^64 - 1, by its bits
  EXPECT_EQ(integer_element((*call("argmin", {big}))[0].tensor(), 0), 1);
}

TEST(Reductions, Searches) {
  const Tensor x = of_type(DType::f32, {2, 2, 3, 10, 1, 10}, {2, 3});
  check_values(
      {{"argmax", {x}, of_type(DType::i64, {1, 0, 1}, {1, 3})},
       {"argmax", {x}, of_type(DType::i64, {2, 0}, {2}), {{"axis", 1}, {"keepdims", false}}},
       {"argmax",
        {x},
        of_type(DType::i64, {2, 2}, {2, 1}),
        {{"axis", -1}, {"select_last_index", true}}},
       {"argmin", {x}, of_type(DType::i64, {0, 1}, {2, 1}), {{"axis", 1}}},
       {"argmin",
        {x},
        of_type(DType::i64, {1, 1}, {2, 1}),
        {{"axis", 1}, {"select_last_index", true}}},
       {"argmax", {f32({1, kNan, 5, kNan})}, i64({1})}});
}

TEST(Reductions, Scans) {
  const Tensor x = f64({1, 2, 3, 4, 5}), axis = Tensor::scalar<std::int32_t>(0);
  const auto mode = [](bool exclusive, bool reverse) {
    return Attrs{{"exclusive", exclusive}, {"reverse", reverse}};
  };
  check_values(
      {{"cumsum", {x, axis}, f64({1, 3, 6, 10, 15})},
       {"cumsum", {x, axis}, f64({0, 1, 3, 6, 10}), mode(true, false)},
       {"cumsum", {x, axis}, f64({15, 14, 12, 9, 5}), mode(false, true)},
       {"cumsum", {x, axis}, f64({14, 12, 9, 5, 0}), mode(true, true)},
       {"cumprod", {x, axis}, f64({1, 2, 6, 24, 120})},
       {"cumprod", {x, axis}, f64({1, 1, 2, 6, 24}), mode(true, false)},
       {"cumprod", {x, axis}, f64({120, 120, 60, 20, 5}), mode(false, true)},
       {"cumprod", {x, axis}, f64({120, 60, 20, 5, 1}), mode(true, true)},
       {"cumsum",
        {of_type(DType::i32, {1, 2, 3, 4, 5, 6}, {2, 3}), Tensor::scalar<std::int64_t>(-1)},
        of_type(DType::i32, {1, 3, 6, 4, 9, 15}, {2, 3})}});
}

struct Slope {
  std::string_view op;
  std::vector<Tensor> inputs;
  Tensor dy, dx;
};

TEST(Reductions, GradientsAtTiesZerosAndInfinities) {
  const Tensor axis = Tensor::scalar<std::int64_t>(0);
  const std::vector<Slope> cases = {
      {"reduce_max", {f32({3, 1, 3})}, f32({1}), f32({0.5F, 0, 0.5F})},
      {"reduce_min", {f32({3, 1, 1})}, f32({1}), f32({0, 0.5F, 0.5F})},
      {"reduce_prod", {f32({2, 0, 3})}, f32({1}), f32({0, 6, 0})},
      {"reduce_prod", {f32({0, 0, 3})}, f32({1}), f32({0, 0, 0})},
      {"cumprod", {f32({2, 0, 3}), axis}, f32({1, 1, 1}), f32({1, 8, 0})},
      {"reduce_l1", {f32({0, -2})}, f32({1}), f32({0, -1})},
      {"reduce_l2", {f32({0, 0})}, f32({1}), f32({0, 0})},
      {"reduce_log_sum", {f32({0, 0})}, f32({0}), f32({0, 0})},
      {"reduce_log_sum_exp", {f32({-kInf, 0, 0})}, f32({1}), f32({0, 0.5F, 0.5F})},
      {"reduce_log_sum_exp", {f32({-kInf, -kInf})}, f32({1}), f32({0, 0})},
      {"reduce_log_sum_exp", {f32({1, kInf})}, f32({1}), f32({0, 1})},
      {"reduce_log_sum_exp", {f32({3, 3})}, f32({1}), f32({0.5F, 0.5F})}};
  for (const Slope& s : cases)
    EXPECT_EQ(differs(gradients(s.op, s.inputs, s.dy)[0], s.dx), "") << s.op;
}

}  // namespace
}  // namespace tenon::ops
