#include "tenon/dataset/source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tenon/base/file.h"
#include "tenon/base/safetensors.h"
#include "tenon/base/test_folder.h"
#include "tenon/dataset/audio.h"
#include "tenon/dataset/file_sources.h"
#include "tenon/dataset/testdata.h"

namespace tenon::dataset {
namespace {
namespace fs = std::filesystem;

Item sample(const SourcePtr& source, std::int64_t index) {
  Item item;
  item.random = CounterRandom(1, static_cast<std::uint64_t>(index));
  const Status status = source->read(index, item);
  TENON_CHECK(status.ok(), "{}", status.error().text());
  return item;
}

std::string idx(int type, std::vector<int> dims, const std::string& data) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(dims.size())};
  for (int d : dims)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(d >> shift);
  return out + data;
}

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TEST(IdxSource, ReadsPicturesAndLabels) {
  TestFolder folder;
  put(folder / "x", idx(8, {2, 2, 1}, "abcd"));
  put(folder / "y", idx(8, {2}, "\x01\x02"));
  const auto source = idx_source(folder / "x", folder / "y");
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ((*source)->size(), 2);
  const Item item = sample(*source, 1);
  EXPECT_EQ(item.values[0].data[0], 'c');
  EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 2);
  put(folder / "big", idx(0x0c, {1}, std::string("\0\0\1\2", 4)));
  EXPECT_EQ(to_int64s(*read_idx(folder / "big")), (std::vector<std::int64_t>{258}));
  for (const std::string& bad :
       {std::string("ab"), idx(8, {3}, "ab"), idx(8, {1}, "ab"), idx(7, {1}, "a"),
        idx(8, {-1, -1, -1}, "a"), std::string("\0\0\x08\xff", 4)}) {
    put(folder / "bad", bad);
    EXPECT_FALSE(read_idx(folder / "bad").ok());
  }
  put(folder / "three", idx(8, {3}, "abc"));
  EXPECT_FALSE(idx_source(folder / "x", folder / "three").ok());
}

TEST(IdxSource, FashionMnist) {
  const auto folder = fetched("fashion-mnist");
  if (!folder) GTEST_SKIP() << "input fashion-mnist is not fetched";
  const auto source =
      idx_source(*folder / "t10k-images-idx3-ubyte.gz", *folder / "t10k-labels-idx1-ubyte.gz");
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ((*source)->size(), 10000);
  EXPECT_EQ((*source)->fields()[0].dims, (Dims{28, 28}));
}

TEST(ArraySource, NpyNpzAndSafetensors) {
  TestFolder folder;
  const Tensor x = Tensor::of<float>({3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5}),
               y = Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{7, 8, 9});
  ASSERT_TRUE(write_npy(folder / "x.npy", x).ok());
  ASSERT_TRUE(write_npy(folder / "y.npy", y).ok());
  ASSERT_TRUE(write_npz(folder / "a.npz", {{"x", x}, {"y", y}}).ok());
  ASSERT_TRUE(write_safetensors(folder / "a.safetensors", {{"x", x}, {"y", y}}).ok());
  for (const std::vector<fs::path>& files :
       {std::vector<fs::path>{folder / "x.npy", folder / "y.npy"},
        {folder / "a.npz"},
        {folder / "a.safetensors"}}) {
    const auto source = array_file_source(files);
    ASSERT_TRUE(source.ok()) << source.error().text();
    const Item item = sample(*source, 2);
    EXPECT_EQ((*source)->fields()[0].name, "x");
    EXPECT_EQ(item.values[0].as<float>()[1], 5);
    EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 9);
  }
  EXPECT_FALSE(array_source({{"x", x}, {"z", Tensor::zeros(DType::f32, {2})}}, "n").ok());
  EXPECT_FALSE(array_source({{"s", Tensor::scalar(1.f)}}, "n").ok());
  EXPECT_FALSE(array_source({}, "n").ok());
}

TEST(FolderSource, PicturesByClass) {
  TestFolder folder;
  const std::string png = encode_png({1, 1, 3, {10, 20, 30}});
  put(folder / "dog/b.PNG", png);
  put(folder / "cat/deep/a.png", png);
  put(folder / "cat/notes.txt", "no picture");
  fs::create_directories(folder / "empty");
  const auto source = image_folder_source(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ((*source)->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ((*source)->size(), 2);
  const Item item = sample(*source, 1);
  EXPECT_TRUE(item.values[0].encoded);
  EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 1);
  EXPECT_TRUE((*source)->describe(1).ends_with("dog/b.PNG"));
  fs::remove(folder / "dog/b.PNG");
  Item gone;
  EXPECT_EQ((*source)->read(1, gone).error().code, Code::not_found);
  EXPECT_EQ(image_folder_source(folder / "empty").error().code, Code::not_found);
  EXPECT_FALSE(image_folder_source(folder / "none").ok());
}

TEST(FolderSource, SoundsAreCutAndPadded) {
  TestFolder folder;
  put(folder / "a/x.wav", encode_wav({8, 1, {0.5f, 0.25f}}));
  put(folder / "b/y.wav", encode_wav({8, 1, std::vector<float>(40, 0.125f)}));
  const auto source =
      sound_folder_source(folder.path(), {.sample_rate = 8, .seconds = 1, .random_start = true});
  ASSERT_TRUE(source.ok()) << source.error().text();
  const Item item = sample(*source, 0);
  EXPECT_EQ(item.values[0].dims, (Dims{8}));
  EXPECT_EQ(item.values[0].as<float>()[1], 0.25f);
  EXPECT_EQ(item.values[0].as<float>()[2], 0);
  EXPECT_EQ(sample(*source, 1).values[0].as<float>()[7], 0.125f);
  EXPECT_FALSE(sound_folder_source(folder.path(), {.seconds = 0}).ok());
}

TEST(TextSources, FoldersAndCorpora) {
  TestFolder folder;
  put(folder / "ham/1", "hello world");
  put(folder / "spam/2", "x");
  const auto tokenizer = load_tokenizer(testdata("tiny_bpe.json")).value();
  const auto texts = text_folder_source(folder.path(), tokenizer, {.max_length = 4});
  ASSERT_TRUE(texts.ok()) << texts.error().text();
  EXPECT_LE((*texts)->length(0), 4);
  EXPECT_EQ(sample(*texts, 1).values[0].dims, (Dims{1}));
  std::string all;
  for (int i = 0; i < 100; ++i)
    put(folder / fmt::format("corpus/{:03}.rst", i),
        fmt::format("the number {} of the corpus\n", i));
  CorpusOptions o{.sequence = 8, .extension = ".rst", .held_out = 0.2};
  const auto train = corpus_source(folder / "corpus", tokenizer, o);
  o.validation = true;
  const auto valid = corpus_source(folder / "corpus", tokenizer, o);
  ASSERT_TRUE(train.ok() && valid.ok());
  EXPECT_GT((*train)->size(), 2 * (*valid)->size());
  const Item a = sample(*train, 0), b = sample(*train, 1);
  EXPECT_EQ(a.values[0].as<std::int64_t>()[1], a.values[1].as<std::int64_t>()[0]);
  EXPECT_EQ(a.values[1].as<std::int64_t>()[7], b.values[0].as<std::int64_t>()[0]);
  o.extension = ".none";
  EXPECT_FALSE(corpus_source(folder / "corpus", tokenizer, o).ok());
}

TEST(TextSources, ClassesMayTakeSeveralFolders) {
  TestFolder folder;
  put(folder / "spam-1/a", "Subject: buy\nX-Hidden: header\n\nnow");
  put(folder / "spam-2/b", "Subject: more\n\n");
  put(folder / "easy/c", "Subject: hi\n\n");
  put(folder / "other/d", "not asked for");
  const auto tokenizer = load_tokenizer(testdata("tiny_bpe.json")).value();
  const Classes classes = {{"ham", {"easy"}}, {"spam", {"spam-1", "spam-2"}}};
  const auto mails = text_folder_source(folder.path(), tokenizer, {.mail = true}, classes);
  ASSERT_TRUE(mails.ok()) << mails.error().text();
  ASSERT_EQ((*mails)->size(), 3);
  EXPECT_EQ((*mails)->classes(), (std::vector<std::string>{"ham", "spam"}));
  const Item item = sample(*mails, 1);
  EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 1);
  std::vector<TokenId> ids;
  for (const auto id : item.values[0].as<std::int64_t>()) ids.push_back(static_cast<TokenId>(id));
  EXPECT_EQ(ids, tokenizer->encode_framed("buy\n\nnow", 512));
  EXPECT_EQ(text_folder_source(folder.path(), tokenizer, {}, {{"none", {"nowhere"}}}).error().code,
            Code::not_found);
}

TEST(CsvSource, TypedColumns) {
  TestFolder folder;
  put(folder / "t.csv",
      "\xef\xbb\xbf"
      "a,\"name, \"\"quoted\"\"\",c,d\r\n1,x,2.5,20\r\n\r\n-3e2,\"y\nz\",,10\r\n+4,x,1,15");
  TableOptions o{.numeric = {"a", "c"},
                 .categorical = {"name, \"quoted\""},
                 .label = "d",
                 .label_above = 14.0};
  const auto source = csv_source(folder / "t.csv", o);
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ((*source)->size(), 3);
  const Item item = sample(*source, 1);
  EXPECT_EQ(item.values[0].as<float>()[0], -300);
  EXPECT_EQ(item.values[0].as<float>()[1], 0);
  EXPECT_EQ(item.values[1].as<std::int64_t>()[0], 1);
  EXPECT_EQ(item.values[2].as<float>()[0], 0);
  EXPECT_EQ(sample(*source, 2).values[1].as<std::int64_t>()[0], 0);
  EXPECT_EQ(sample(*source, 2).values[2].as<float>()[0], 1);
  o.hash_buckets = 10;
  EXPECT_LT(sample(*csv_source(folder / "t.csv", o), 0).values[1].as<std::int64_t>()[0], 10);
}

TEST(CsvSource, SaysWhereItIsWrong) {
  TestFolder folder;
  const auto refuse = [&](std::string_view text, std::string_view where) {
    put(folder / "t.csv", text);
    const auto source = csv_source(folder / "t.csv", {.numeric = {"a"}});
    ASSERT_FALSE(source.ok()) << text;
    EXPECT_NE(source.error().text().find(where), std::string::npos) << source.error().text();
  };
  refuse("a,b\n1,2\n3\n", "line 3");
  refuse("a\n1\nx\n", "line 3");
  refuse("a\n\"1\n", "not closed");
  refuse("a\n\"1\"x\n", "after a closing quote");
  refuse("b\n1\n", "no column 'a'");
  refuse("", "empty");
  put(folder / "t.csv", "a\n1\n");
  EXPECT_FALSE(csv_source(folder / "t.csv", {}).ok());
}

TEST(Source, PartsAndShards) {
  const auto numbers = [](std::int64_t first, std::int64_t n) {
    std::vector<std::int64_t> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(first + i);
    return array_source({{"n", Tensor::vector(v)}}, fmt::format("shard {}", first)).value();
  };
  const auto all = concatenated({numbers(0, 10), numbers(10, 5), numbers(15, 85)});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)->size(), 100);
  for (std::int64_t i : {0, 9, 10, 14, 15, 99})
    EXPECT_EQ(sample(*all, i).values[0].as<std::int64_t>()[0], i);
  EXPECT_EQ((*all)->describe(12), "shard 10 sample 2");
  const auto train = part_of(*all, 0, 0.8, 1), valid = part_of(*all, 0.8, 1, 1);
  EXPECT_EQ(train->size() + valid->size(), 100);
  EXPECT_NEAR(static_cast<double>(train->size()), 80, 12);
  EXPECT_EQ(sample(range_of(*all, 20, 5), 3).values[0].as<std::int64_t>()[0], 23);
  EXPECT_FALSE(concatenated({numbers(0, 1),
                             array_source({{"m", Tensor::zeros(DType::i64, {1})}}, "x").value()})
                   .ok());
  EXPECT_FALSE(concatenated({}).ok());
}

}  // namespace
}  // namespace tenon::dataset
