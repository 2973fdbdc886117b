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

// Real files, every random choice, two epochs: the bytes of each batch in turn.
std::vector<std::string> batches_of_pictures(const fs::path& folder, int workers, std::int64_t from,
                                             std::int64_t count) {
  const Json table = parse_toml(R"(
kind = "image_folder"
path = "."
transform = [{kind = "random_resized_crop", size = 12}, {kind = "random_crop", size = 10, padding = 1},
  {kind = "random_flip"}, {kind = "color_jitter", brightness = 0.3, contrast = 0.3, saturation = 0.3},
  {kind = "normalize", mean = 0.5, std = 0.2}, {kind = "random_erase", probability = 0.5}]
)")
                         .value();
  const auto pipeline =
      open_pipeline(table, {.folder = folder, .batch = 4, .seed = 3, .workers = workers}).value();
  auto loader = pipeline.train().value();
  for (std::int64_t i = 0; i < from; ++i) (void)loader->next().value();
  loader = pipeline.train(loader->state()).value();
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const Batch batch = *loader->next().value();
    for (const Tensor& t : batch.tensors)
      out.emplace_back(reinterpret_cast<const char*>(t.raw()), t.bytes());
  }
  return out;
}

TEST(Pipeline, PicturesAreTheSameUnderAnyNumberOfWorkersFromAnyPosition) {
  TestFolder folder;
  fs::create_directories(folder / "a");
  for (int i = 0; i < 10; ++i) {
    Image picture = make_image(20 + i, 17, 3);
    for (std::size_t k = 0; k < picture.pixels.size(); ++k)
      picture.pixels[k] = static_cast<std::uint8_t>(k * 7 + static_cast<std::size_t>(i) * 31);
    std::ofstream(folder / fmt::format("a/{}.png", i), std::ios::binary) << encode_png(picture);
  }
  const auto whole = batches_of_pictures(folder.path(), 0, 0, 5);
  EXPECT_NE(whole[0], whole[4]) << "the second epoch draws anew";
  for (const int workers : {1, 3})
    for (const std::int64_t from : {0, 1, 3}) {
      const auto rest = batches_of_pictures(folder.path(), workers, from, 5 - from);
      EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + from * 2, whole.end()))
          << workers << " workers from batch " << from;
    }
}

}  // namespace
}  // namespace tenon::dataset
