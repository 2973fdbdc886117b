#include "tenon/api/model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tenon/api/c_api.h"

namespace tenon::api {
namespace {

/// y = x * w on two inputs of free length; and how many elements there are.
std::string model_file() {
  const std::string path = testing::TempDir() + "api_model.tenon.txt";
  std::ofstream(path) << R"(graph "main"(%0 "x": f32[N, 2], %1 "w": f32[2, 1]) {
  %2 "h": f32[N, 1] = matmul(%0, %1)
  return %2 "y"
}
)";
  return path;
}

Tensor row(float a, float b) { return Tensor::of<float>({1, 2}, std::vector<float>{a, b}); }
Tensor column(float a, float b) { return Tensor::of<float>({2, 1}, std::vector<float>{a, b}); }

/// The error that `body` throws.
template <class Body>
Error thrown(Body body) {
  try {
    body();
  } catch (const Exception& problem) {
    return problem.error();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Model, RunsByName) {
  for (const char* backend : {"cpu", "reference"}) {
    const Model model = Model::load(model_file(), {.backend = backend, .num_threads = 1});
    ASSERT_EQ(model.inputs().size(), 2u);
    EXPECT_EQ(model.inputs()[0].name, "x");
    EXPECT_EQ(model.inputs()[0].type, "f32[N, 2]");
    const Tensors results = model.run({{"w", column(10, 1)}, {"x", row(3, 4)}});
    EXPECT_EQ(results.at("y").data<float>()[0], 34);
  }
}

TEST(Model, SaysWhatIsWrongWithInputs) {
  const Model model = Model::load(model_file());
  EXPECT_EQ(thrown([&] { model.run({{"x", row(1, 2)}}); }).message, "input 'w' is missing");
  const Error unknown = thrown([&] { model.run({{"X", row(1, 2)}, {"w", column(1, 2)}}); });
  EXPECT_EQ(unknown.message, "the model has no input 'X'");
  EXPECT_EQ(unknown.help, "did you mean 'x'? inputs: x, w");
  EXPECT_EQ(thrown([&] { model.run({{"x", column(1, 2)}, {"w", column(1, 2)}}); }).code,
            Code::invalid);
}

TEST(Model, RefusesWhatItCannotLoad) {
  EXPECT_EQ(thrown([] { Model::load("no such file"); }).code, Code::not_found);
  EXPECT_EQ(thrown([] { Model::load(model_file(), {.backend = "gpu"}); }).code, Code::not_found);
}

TEST(CApi, LoadsRunsAndFrees) {
  tenon_model* model = nullptr;
  ASSERT_EQ(tenon_model_load(model_file().c_str(), nullptr, 1, &model), TENON_OK)
      << tenon_last_error();
  ASSERT_EQ(tenon_model_num_inputs(model), 2);
  EXPECT_STREQ(tenon_model_input_name(model, 1), "w");
  EXPECT_EQ(tenon_model_input_name(model, 2), nullptr);
  const std::int64_t x_dims[] = {1, 2}, w_dims[] = {2, 1};
  const float x[] = {3, 4}, w[] = {10, 1};
  const tenon_tensor inputs[] = {{"x", "f32", 2, x_dims, x, sizeof x},
                                 {"w", "f32", 2, w_dims, w, sizeof w}};
  tenon_outputs* outputs = nullptr;
  ASSERT_EQ(tenon_model_run(model, inputs, 2, &outputs), TENON_OK) << tenon_last_error();
  ASSERT_EQ(tenon_outputs_count(outputs), 1);
  const tenon_tensor* y = tenon_outputs_at(outputs, 0);
  EXPECT_STREQ(y->name, "y");
  EXPECT_STREQ(y->dtype, "f32");
  EXPECT_EQ(y->bytes, sizeof(float));
  float value = 0;
  std::memcpy(&value, y->data, sizeof value);
  EXPECT_EQ(value, 34);
  EXPECT_EQ(tenon_outputs_at(outputs, 1), nullptr);
  tenon_outputs_free(outputs);
  tenon_model_free(model);
}

TEST(CApi, ReportsErrorsByCodeAndText) {
  tenon_model* model = nullptr;
  EXPECT_EQ(tenon_model_load("no such file", nullptr, 1, &model),
            static_cast<int>(Code::not_found) + 1);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::string(tenon_last_error()).find("no such file"), std::string::npos);
  ASSERT_EQ(tenon_model_load(model_file().c_str(), "reference", 1, &model), TENON_OK);
  const std::int64_t dims[] = {1, 2};
  const float x[] = {3, 4};
  const tenon_tensor wrong_bytes[] = {{"x", "f32", 2, dims, x, 4}};
  tenon_outputs* outputs = nullptr;
  EXPECT_EQ(tenon_model_run(model, wrong_bytes, 1, &outputs), static_cast<int>(Code::invalid) + 1);
  EXPECT_STREQ(tenon_last_error(), "input 'x' has 4 bytes but its dims need 8");
  const tenon_tensor wrong_type[] = {{"x", "float", 2, dims, x, 8}};
  EXPECT_EQ(tenon_model_run(model, wrong_type, 1, &outputs), static_cast<int>(Code::invalid) + 1);
  EXPECT_EQ(outputs, nullptr);
  tenon_model_free(model);
}

}  // namespace
}  // namespace tenon::api
