// Trains a convolutional net that is written in C++ on Fashion-MNIST, and exports it as ONNX:
//   build/train_in_cpp FOLDER_OF_FASHION_MNIST RUN_FOLDER [STEPS]
#include <fmt/format.h>

#include "tenon/base/toml.h"
#include "tenon/formats/onnx/write.h"
#include "tenon/migrate/model_file.h"
#include "tenon/models/layers.h"
#include "tenon/train/trainer.h"

using namespace tenon;

// Two stages of convolution, norm and pooling, then a hidden layer.
Result<std::unique_ptr<Graph>> build() {
  models::Net net("fashion", /*seed=*/1);
  Value* x = net.input("image", DType::f32, {1, 28, 28});
  for (int stage = 1; stage <= 2; ++stage) {
    const models::Net::Scope scope(net, fmt::format("stage{}", stage));
    x = models::conv2d(net, "conv", x, 32 * stage, 3, {.padding = 1, .bias = false});
    x = models::max_pool2d(net, net.b().relu(models::batch_norm(net, "bn", x)), 2, 2);
  }
  x = net.b().flatten(x, Attrs{{"axis", 1}});
  x = models::dropout(net, net.b().relu(models::linear(net, "hidden", x, 128)), 0.25);
  net.output(models::linear(net, "classes", x, 10), "logits");
  return net.finish();
}

Status run(const std::string& data, const std::string& folder, std::int64_t steps) {
  train::TrainConfig config;
  config.data = TENON_TRY(parse_toml(fmt::format(R"(
    kind = "idx"
    path = "{}"
    images = "train-images-idx3-ubyte.gz"
    labels = "train-labels-idx1-ubyte.gz"
    test_images = "t10k-images-idx3-ubyte.gz"
    test_labels = "t10k-labels-idx1-ubyte.gz"
    transform = [{{ kind = "normalize", mean = 0.286, std = 0.353 }}]
    test_transform = [{{ kind = "normalize", mean = 0.286, std = 0.353 }}])",
                                                 data)));
  config.optimizer = {.kind = train::Optimizer::Kind::adamw, .learning_rate = 0.002};
  config.schedule.kind = train::Schedule::Kind::cosine;
  config.batch = 128, config.steps = steps, config.evaluate_batch = 500;
  train::RunOptions options;
  options.run = folder;
  options.model = TENON_TRY(build());
  const train::Trained trained = TENON_TRY(train::train(config, options));
  for (const auto& [name, value] : trained.metrics) fmt::print("{} {:.4f}\n", name, value);
  const auto model = TENON_TRY(migrate::open_model(trained.checkpoint));
  TENON_TRY(onnx::write(*model.graph, folder + "/model.onnx"));
  return {};
}

int main(int argc, char** argv) {
  if (argc < 3) return fmt::print("usage: train_in_cpp DATA RUN [STEPS]\n"), 2;
  const Status done = run(argv[1], argv[2], argc > 3 ? std::atoll(argv[3]) : 936);
  if (!done.ok()) fmt::print(stderr, "error: {}\n", done.error().text());
  return done.ok() ? 0 : 1;
}
