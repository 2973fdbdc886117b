#include "tenon/dataset/recipe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/base/test_folder.h"
#include "tenon/base/toml.h"
#include "tenon/dataset/audio.h"
#include "tenon/dataset/prepare.h"
#include "tenon/dataset/recipe_run.h"
#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {
namespace fs = std::filesystem;

Result<Recipe> parse(std::string_view text, const fs::path& folder = testdata("")) {
  return parse_recipe(parse_toml(text).value(), {folder}, "recipe.toml");
}

std::string problems(const Result<Recipe>& r) {
  std::string all = r.error().text() + "\n";
  for (const Error& e : r.error().others) all += e.text() + "\n";
  return all;
}

TEST(Recipe, ReadsEveryKindOfInput) {
  const auto r = parse(R"(
[input.a]
kind = "image"
size = [48, 0]
resize = "stretch"
layout = "NHWC"
color = "bgr"
mean = [0.1, 0.2, 0.3]
std = 0.5
scale = "1/255"
dtype = "f16"
[input.b]
kind = "audio"
sample_rate = 8000
frame = 256
[input.c]
kind = "text"
tokenizer = "tiny_bpe.json"
max_length = 12
mask = "m"
[input.d]
kind = "tensor"
value = [[1, 2], [3, 4]]
dims = [2, 2]
dtype = "i64"
[[state]]
input = "s"
output = "sn"
dims = [2, 1]
[output]
decoder = "classes"
labels = ["x", "y"]
threshold = 0.5
top_k = 3
)");
  ASSERT_TRUE(r.ok()) << problems(r);
  const Stage& s = r->stages[0];
  ASSERT_EQ(s.inputs.size(), 4u);
  EXPECT_EQ(s.inputs[0].image.height, 48);
  EXPECT_EQ(s.inputs[0].image.width, 0);
  EXPECT_DOUBLE_EQ(s.inputs[0].image.scale, 1 / 255.0);
  EXPECT_EQ(s.inputs[0].dtype, DType::f16);
  EXPECT_FALSE(s.inputs[0].image.channels_first);
  EXPECT_EQ(s.inputs[1].audio.hop, 256);
  EXPECT_EQ(to_int64s(s.inputs[3].tensor.value), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(s.output.labels.size(), 2u);
  ASSERT_EQ(r->files.size(), 1u);
  EXPECT_EQ(r->files[0].filename(), "tiny_bpe.json");
}

TEST(Recipe, AllProblemsAreReportedAtOnce) {
  const auto r = parse(R"(
[input.a]
kind = "imge"
[input.b]
kind = "image"
sise = 3
std = 0
resize = "fit"
[input.c]
kind = "text"
tokenizer = "../secret"
[input.d]
kind = "tensor"
value = [1, "x"]
[output]
decoder = "ctc"
)");
  ASSERT_FALSE(r.ok());
  const std::string all = problems(r);
  for (const char* part : {"imge", "sise", "'std' must not be 0", "needs a size of both sides",
                           "leads upward", "must hold numbers", "labels is missing"})
    EXPECT_NE(all.find(part), all.npos) << part << "\n" << all;
  EXPECT_FALSE(parse("x = 1").ok());
  EXPECT_FALSE(parse("[[stage]]\nfrom = \"boxes\"\n[stage.input.x]\nkind = \"image\"").ok());
  EXPECT_FALSE(parse("[input.x]\nkind = \"tensor\"\nvalue = 3\ndims = [99999999999]").ok());
  EXPECT_FALSE(parse("[input.x]\nkind = \"text\"\ntokenizer = \"none.json\"").ok());
}

TEST(Recipe, EveryExampleIsValidWithItsFiles) {
  int read = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(TENON_SOURCE_DIR) / "examples/recipes")) {
    if (entry.path().extension() != ".toml") continue;
    std::vector<fs::path> folders;
    for (const char* input : {"ocr-v4", "ocr-v5", "minilm"})
      if (const auto folder = fetched(input)) folders.push_back(*folder);
    const auto r = read_recipe(entry.path(), folders);
    if (!r.ok() && r.error().code == Code::not_found) continue;  // its input is not fetched
    EXPECT_TRUE(r.ok()) << entry.path() << ": " << problems(r);
    ++read;
  }
  EXPECT_GE(read, 4);
}

RecipeInput image_input(std::string_view keys) {
  return parse(fmt::format("[input.x]\nkind = \"image\"\n{}", keys)).value().stages[0].inputs[0];
}

TEST(Prepare, PicturesInEveryFit) {
  Image p = make_image(4, 2, 3);
  for (std::size_t i = 0; i < p.pixels.size(); ++i) p.pixels[i] = static_cast<std::uint8_t>(10 * i);
  const auto dims = [&](std::string_view keys) {
    return prepare_image(p, image_input(keys)).value().tensor.dims();
  };
  EXPECT_EQ(dims("size = [6, 8]"), (Dims{1, 3, 6, 8}));
  EXPECT_EQ(dims("size = 5"), (Dims{1, 3, 5, 5}));
  EXPECT_EQ(dims("size = [6, 0]"), (Dims{1, 3, 6, 12}));
  EXPECT_EQ(dims("size = [0, 6]\nlayout = \"NHWC\"\ncolor = \"gray\""), (Dims{1, 3, 6, 1}));
  EXPECT_EQ(dims("longest = 64\nmultiple = 32"), (Dims{1, 3, 32, 64}));
  EXPECT_EQ(dims("shortest = 1"), (Dims{1, 3, 2, 4}));
  EXPECT_EQ(dims("multiple = 32"), (Dims{1, 3, 32, 32}));
  const auto exact =
      prepare_image(p, image_input("scale = 1\nmean = [0, 10, 20]\nstd = 10")).value().tensor;
  EXPECT_EQ(exact.data<float>()[0], 0);
  EXPECT_EQ(exact.data<float>()[1], 3);
  EXPECT_EQ(exact.data<float>()[8], 0);  // (10 - 10) / 10
  EXPECT_EQ(exact.data<float>()[23], (230 - 20) / 10.0f);
}

TEST(Prepare, PlacementLeadsBackToTheSource) {
  const Image p = make_image(40, 20, 3);
  for (const char* fit : {"stretch", "fit", "crop"}) {
    const auto prepared =
        prepare_image(p, image_input(fmt::format("size = [30, 30]\nresize = \"{}\"", fit))).value();
    // The middle of the prepared picture is the middle of the source, however it was fitted,
    // to half a prepared pixel.
    const Point middle = prepared.placement.to_source({15, 15});
    EXPECT_NEAR(middle.x, 20, 0.7) << fit;
    EXPECT_NEAR(middle.y, 10, 0.7) << fit;
  }
  const auto fitted =
      prepare_image(p, image_input("size = [30, 30]\nresize = \"fit\"\npad = 255\nscale = 1"))
          .value();
  EXPECT_EQ(fitted.tensor.data<float>()[0], 255);      // padding above
  EXPECT_EQ(fitted.tensor.data<float>()[15 * 30], 0);  // the picture
}

RecipeInput audio_input(std::string_view keys) {
  return parse(fmt::format("[input.x]\nkind = \"audio\"\nsample_rate = 8\n{}", keys))
      .value()
      .stages[0]
      .inputs[0];
}

TEST(Prepare, WindowsOfSound) {
  const Audio audio{8, 1, {1, 2, 3, 4, 5, 6, 7}};
  const auto rows = [&](std::string_view keys) {
    std::vector<std::vector<double>> out;
    const PreparedAudio prepared = prepare_audio(audio, audio_input(keys)).value();
    for (const Tensor& t : prepared.windows) out.push_back(to_doubles(t));
    return out;
  };
  using Rows = std::vector<std::vector<double>>;
  EXPECT_EQ(rows(""), (Rows{{1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(rows("frame = 3"), (Rows{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(rows("frame = 3\npad_last = true"), (Rows{{1, 2, 3}, {4, 5, 6}, {7, 0, 0}}));
  EXPECT_EQ(rows("frame = 3\nhop = 2"), (Rows{{1, 2, 3}, {3, 4, 5}, {5, 6, 7}}));
  EXPECT_EQ(rows("frame = 3\ncontext = 2"), (Rows{{0, 0, 1, 2, 3}, {2, 3, 4, 5, 6}}));
  EXPECT_EQ(rows("frame = 9"), (Rows{{1, 2, 3, 4, 5, 6, 7, 0, 0}}));
  EXPECT_EQ(rows("scale = 10\nseconds = 0.25"), (Rows{{10, 20}}));
  EXPECT_EQ(prepare_audio(audio, audio_input("frame = 4\ndims = [1, -1, 2]"))->windows[0].dims(),
            (Dims{1, 2, 2}));
  EXPECT_FALSE(prepare_audio(audio, audio_input("frame = 3\ndims = [1, -1, 2]")).ok());
  EXPECT_FALSE(prepare_audio({8, 1, {}}, audio_input("")).ok());
}

TEST(Prepare, RowsOfText) {
  const auto input = parse(
                         "[input.ids]\nkind = \"text\"\ntokenizer = "
                         "\"tiny_word_piece.json\"\nmax_length = 6\nmask = \"m\"\ntypes = \"t\"")
                         .value()
                         .stages[0]
                         .inputs[0];
  const auto tokenizer = load_tokenizer(input.text.tokenizer).value();
  const auto p = prepare_text("hello\r\n\nthe quick brown fox jumps over\n", input, *tokenizer);
  ASSERT_TRUE(p.ok());
  ASSERT_EQ(p->tensors.size(), 3u);
  EXPECT_EQ(p->texts, (std::vector<std::string>{"hello", "the quick brown fox jumps over"}));
  EXPECT_EQ(p->tensors[0].second.dims(), (Dims{2, 6}));
  const auto ids = to_int64s(p->tensors[0].second), mask = to_int64s(p->tensors[1].second);
  EXPECT_EQ(ids[6], 2);
  EXPECT_EQ(ids[11], 3);
  EXPECT_EQ(mask[11], 1);
  EXPECT_EQ(mask[5], ids[5] != 0);
  EXPECT_FALSE(prepare_text("\n\n", input, *tokenizer).ok());
}

TEST(Prepare, RowsOfAnEarlierOutput) {
  const auto input = parse(
                         "[input.x]\nkind = \"tensor\"\nsource = \"y\"\nscale = 2\noffset = "
                         "1\nframe = 2\nhop = 1\ndims = [-1, 2, 1, 2]")
                         .value()
                         .stages[0]
                         .inputs[0];
  const Tensor y = Tensor::of<float>({1, 3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const auto t = prepare_tensor(input, {{"y", y}});
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->dims(), (Dims{2, 2, 1, 2}));
  EXPECT_EQ(to_doubles(*t), (std::vector<double>{1, 3, 5, 7, 5, 7, 9, 11}));
  EXPECT_EQ(prepare_tensor(input, {{"z", y}}).error().code, Code::not_found);
  EXPECT_FALSE(prepare_tensor(input, {{"y", Tensor::zeros(DType::f32, {1, 2})}}).ok());
}

// A detector that marks dark pixels, and a reader that says how wide the part is: the whole chain
// without a model.
TEST(RunRecipe, FindsCutsAndReadsLines) {
  TestFolder folder;
  Image page = make_image(200, 100, 3);
  std::fill(page.pixels.begin(), page.pixels.end(), std::uint8_t{255});
  const auto line = [&](int x, int y, int w, int h) {
    for (int r = y; r < y + h; ++r) std::fill_n(page.row(r) + 3 * x, 3 * w, std::uint8_t{0});
  };
  line(110, 12, 60, 12);
  line(20, 10, 70, 12);
  line(20, 60, 120, 12);
  ASSERT_TRUE(write_png(folder / "page.png", page).ok());
  const auto recipe = parse(R"(
[[stage]]
model = "find"
[stage.input.x]
kind = "image"
size = [100, 200]
[stage.output]
decoder = "boxes"
unclip = 0
[[stage]]
model = "read"
from = "boxes"
[stage.input.x]
kind = "image"
size = [10, 0]
[stage.output]
decoder = "ctc"
labels = ["a", "b"]
space = true
)");
  ASSERT_TRUE(recipe.ok()) << problems(recipe);
  const auto run = [](const std::string& model,
                      const NamedTensors& inputs) -> Result<NamedTensors> {
    const Tensor& x = inputs[0].second;
    if (model == "find") {
      Tensor map(DType::f32, {1, 1, x.dim(2), x.dim(3)});
      for (std::size_t i = 0; i < map.data<float>().size(); ++i)
        map.data<float>()[i] = 1 - x.data<float>()[i];
      return NamedTensors{{"map", map}};
    }
    // "a", repeated, a blank, then "b " for parts wider than 70 of 10.
    const std::vector<float> p = {.1f, .9f, 0, 0, .2f, .8f, 0, 0, 1, 0,
                                  0,   0,   0, 0, 1,   0,   0, 0, 0, x.dim(3) > 70 ? 1.f : 0.f};
    return NamedTensors{{"p", Tensor::of<float>({1, 5, 4}, p)}};
  };
  const auto answer = run_recipe(*recipe, {{"", folder / "page.png"}}, run);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  ASSERT_EQ(answer->json["lines"].size(), 3u);
  EXPECT_EQ(answer->lines[2], "ab ");
  const auto corner = [&](int i) { return answer->json["lines"][i]["box"][0]; };
  EXPECT_NEAR(corner(0)[0].get<double>(), 20.5,
              0.6);  // reading order: left before right in one line
  EXPECT_NEAR(corner(1)[0].get<double>(), 110.5, 0.6);
  EXPECT_NEAR(corner(2)[1].get<double>(), 60.5, 0.6);
}

TEST(RunRecipe, CarriesStateFromWindowToWindow) {
  TestFolder folder;
  const Audio audio{8, 1, std::vector<float>(12, 0.25f)};
  ASSERT_TRUE(write_file_atomic(folder / "a.wav", encode_wav(audio)).ok());
  const auto recipe = parse(R"(
[input.x]
kind = "audio"
sample_rate = 8
frame = 4
[[state]]
input = "s"
output = "sn"
dims = [1]
[output]
decoder = "classes"
labels = ["quiet", "loud"]
)");
  ASSERT_TRUE(recipe.ok()) << problems(recipe);
  const auto run = [](const std::string&, const NamedTensors& inputs) -> Result<NamedTensors> {
    float sum = inputs[1].second.data<float>()[0];
    EXPECT_EQ(inputs[1].first, "s");
    for (float v : inputs[0].second.data<float>()) sum += v;
    return NamedTensors{
        {"p", Tensor::of<float>({1, 1}, std::vector<float>{sum > 1.5f ? 1.f : 0.f})},
        {"sn", Tensor::of<float>({1}, std::vector<float>{sum})}};
  };
  const auto answer = run_recipe(*recipe, {{"x", folder / "a.wav"}}, run);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->json["counts"]["quiet"], 1);
  EXPECT_EQ(answer->json["counts"]["loud"], 2);
  EXPECT_EQ(answer->json["stretches"][1]["from_seconds"], 0.5);
  EXPECT_EQ(answer->json["stretches"][1]["to_seconds"], 1.5);
  EXPECT_EQ(answer->outputs[0].second.dims(), (Dims{3, 1}));
}

TEST(RunRecipe, SaysWhichFileIsMissingAndWhichIsTooMuch) {
  const auto recipe = parse("[input.x]\nkind = \"tensor\"\n[input.y]\nkind = \"tensor\"").value();
  const auto run = [](const std::string&, const NamedTensors&) -> Result<NamedTensors> {
    return NamedTensors{};
  };
  const auto none = run_recipe(recipe, {{"", "a.npy"}}, run);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().help, "--input x=FILE");
  TestFolder folder;
  ASSERT_TRUE(write_npy(folder / "a.npy", Tensor::scalar(1.f)).ok());
  EXPECT_FALSE(
      run_recipe(recipe,
                 {{"x", folder / "a.npy"}, {"y", folder / "a.npy"}, {"z", folder / "a.npy"}}, run)
          .ok());
  EXPECT_FALSE(run_recipe(recipe, {{"x", folder / "a.npy"}, {"y", folder / "a.npy"}}, run).ok())
      << "a model without outputs";
}

TEST(RunRecipe, SentencesAndMasks) {
  TestFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "a.txt", "hello\nthe fox\n").ok());
  const auto recipe =
      parse(
          "[input.ids]\nkind = \"text\"\ntokenizer = \"tiny_word_piece.json\"\nmask = "
          "\"m\"\n[output]\ndecoder = \"embedding\"")
          .value();
  const auto run = [](const std::string&, const NamedTensors& inputs) -> Result<NamedTensors> {
    const Tensor& ids = inputs[0].second;
    Tensor t = Tensor::zeros(DType::f32, {ids.dim(0), ids.dim(1), 2});
    for (std::int64_t i = 0; i < ids.count(); ++i) {
      const bool real = element(inputs[1].second, i) != 0;
      t.data<float>()[static_cast<std::size_t>(2 * i + (real ? 0 : 1))] = 1;
    }
    return NamedTensors{{"h", t}};
  };
  const auto answer = run_recipe(recipe, {{"", folder / "a.txt"}}, run);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_FLOAT_EQ(answer->json["similarities"][0]["cosine"].get<float>(), 1) << "padding counted";

  ASSERT_TRUE(write_png(folder / "p.png", make_image(40, 20, 3)).ok());
  const auto masks = parse(
                         "[input.x]\nkind = \"image\"\nsize = [10, 10]\nresize = "
                         "\"fit\"\n[output]\ndecoder = \"mask\"\nthreshold = 0.5")
                         .value();
  const auto all = [](const std::string&, const NamedTensors&) -> Result<NamedTensors> {
    return NamedTensors{{"m", Tensor::full(DType::f32, {1, 1, 10, 10}, 0.75)}};
  };
  const auto mask = run_recipe(masks, {{"", folder / "p.png"}}, all);
  ASSERT_TRUE(mask.ok()) << mask.error().text();
  EXPECT_EQ(mask->mask->width, 40);
  EXPECT_EQ(mask->mask->pixels, std::vector<std::uint8_t>(800, 255));
}

}  // namespace
}  // namespace tenon::dataset
