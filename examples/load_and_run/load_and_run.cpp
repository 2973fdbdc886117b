// Loads a model, feeds ones to its only input, prints its outputs.
#include <fmt/ranges.h>

#include "tenon/api/model.h"

int main(int argc, char** argv) try {
  const auto model = tenon::api::Model::load(argc > 1 ? argv[1] : "model.tenon.txt");
  const auto ones = tenon::Tensor::full(tenon::DType::f32, {2, 3}, 1);
  for (const auto& [name, tensor] : model.run({{model.inputs().at(0).name, ones}})) {
    fmt::print("{} {} = {}\n", name, tensor.dims(), tensor.data<float>());
  }
} catch (const tenon::api::Exception& problem) {
  fmt::print(stderr, "error: {}\nhelp: {}\n", problem.what(), problem.error().help);
  return 1;
}
