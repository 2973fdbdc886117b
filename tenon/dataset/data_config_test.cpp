#include "tenon/dataset/data_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tenon/base/npy.h"
#include "tenon/base/test_folder.h"
#include "tenon/base/toml.h"
#include "tenon/dataset/pipeline.h"
#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {
namespace fs = std::filesystem;

Result<DataConfig> parse(std::string_view text, const fs::path& folder) {
  return parse_data_config(parse_toml(text).value(), folder, "train.toml, data");
}

TEST(DataConfig, ArraysWithTransformsBecomeBatches) {
  TestFolder folder;
  ASSERT_TRUE(write_npz(folder / "a.npz", {{"image", Tensor::full(DType::u8, {12, 8, 8, 3}, 255)},
                                           {"label", Tensor::zeros(DType::i64, {12})}})
                  .ok());
  const auto config = parse(R"(
kind = "arrays"
path = "."
files = ["a.npz", "a.npz"]
held_out = 0.25
workers = 2
collate = "pad"
on_bad = "fail"
[[transform]]
kind = "random_crop"
size = 6
padding = 1
[[transform]]
kind = "random_flip"
[[transform]]
kind = "normalize"
mean = [0.5, 0.5, 0.5]
std = 0.5
[[test_transform]]
kind = "center_crop"
size = [6, 6]
)",
                            folder.path());
  ASSERT_TRUE(config.ok()) << config.error().text();
  EXPECT_EQ(config->loader.workers, 2);
  EXPECT_EQ(config->transforms.size(), 3u);
  const auto train = open_train_source(*config), test = open_test_source(*config);
  ASSERT_TRUE(train.ok() && test.ok());
  EXPECT_EQ((*train)->size() + (*test)->size(), 24);
  EXPECT_GT((*test)->size(), 0);
  LoaderOptions options = config->loader;
  options.batch = 4;
  auto loader = Loader::create(*train, config->transforms, options);
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ((**(*loader)->next()).tensors[0].dims(), (Dims{4, 3, 6, 6}));
}

TEST(DataConfig, EveryTransformIsReachable) {
  const auto config = parse(R"(
kind = "image_folder"
path = "."
color = "gray"
transform = [{kind = "decode"}, {kind = "resize", size = 9, keep_ratio = true}, {kind = "center_crop", size = 8}, {kind = "random_resized_crop", size = [8, 8], area = [0.5, 1]},
  {kind = "color_jitter", brightness = 0.1}, {kind = "normalize"}, {kind = "random_erase", probability = 1}, {kind = "convert", field = "label", dtype = "i32"}]
)",
                            testdata(""));
  ASSERT_TRUE(config.ok()) << config.error().text();
  EXPECT_EQ(config->transforms.size(), 8u);
  const auto sound = parse(
      "kind = \"sound_folder\"\npath = \".\"\ntransform = [{kind = \"random_gain\"}, {kind = "
      "\"log_mel\", window = 256}]",
      testdata(""));
  EXPECT_TRUE(sound.ok());
  const auto text = parse(
      "kind = \"corpus\"\npath = \"make_tokens.py\"\ntokenizer = \"tiny_bpe.json\"\nsequence = 16",
      testdata(""));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_TRUE(open_train_source(*text).ok());
}

TEST(DataConfig, AllProblemsAtOnce) {
  const auto config = parse(R"(
kind = "image_folder"
path = "nowhere"
workrs = 1
transform = [{kind = "resize"}, {kind = "blur"}, {kind = "normalize", std = 0}]
)",
                            testdata(""));
  ASSERT_FALSE(config.ok());
  EXPECT_GE(config.error().others.size(), 4u);
  EXPECT_FALSE(parse("kind = \"text_folder\"\npath = \".\"", testdata("")).ok());
  EXPECT_FALSE(
      parse(
          "kind = \"sound_folder\"\npath = \".\"\ntransform = [{kind = \"log_mel\", window = 100}]",
          testdata(""))
          .ok());
}

TEST(Pipeline, TrainsResumesAndTests) {
  TestFolder folder;
  std::vector<std::int64_t> numbers(20);
  for (std::int64_t i = 0; i < 20; ++i) numbers[static_cast<std::size_t>(i)] = i;
  ASSERT_TRUE(write_npy(folder / "x.npy", Tensor::vector(numbers)).ok());
  const Json table =
      parse_toml("kind = \"arrays\"\npath = \".\"\nfiles = [\"x.npy\"]\nheld_out = 0.3").value();
  const auto pipeline =
      open_pipeline(table, {.folder = folder.path(), .batch = 4, .seed = 9, .workers = 2});
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  auto whole = pipeline->train().value();
  auto first = pipeline->train().value();
  ASSERT_TRUE(first->next()->has_value());
  auto rest = pipeline->train(first->state()).value();
  (void)whole->next().value();
  for (int i = 0; i < 9; ++i) {
    const Batch a = *whole->next().value(), b = *rest->next().value();
    EXPECT_TRUE(
        std::ranges::equal(a.tensors[0].data<std::int64_t>(), b.tensors[0].data<std::int64_t>()));
  }
  auto test = pipeline->test().value();
  std::int64_t seen = 0;
  while (const auto batch = test->next().value()) seen += batch->size;
  EXPECT_EQ(seen, pipeline->test_source()->size());
  EXPECT_EQ(seen + pipeline->train_source()->size(), 20);

  const auto none =
      open_pipeline(parse_toml("kind = \"arrays\"\npath = \".\"\nfiles = [\"x.npy\"]").value(),
                    {.folder = folder.path(), .batch = 4});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->test().error().code, Code::not_found);
  EXPECT_FALSE(none->train(LoaderState{0, 0, 21}).ok()) << "a position behind the end";
}

}  // namespace
}  // namespace tenon::dataset
