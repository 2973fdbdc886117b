#include "tenon/dataset/tokenizer.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/test_folder.h"
#include "tenon/dataset/byte_pair.h"
#include "tenon/dataset/testdata.h"
#include "tenon/dataset/unicode_class.h"
#include "tenon/dataset/word_piece.h"
#include "tenon/dataset/word_split.h"

namespace tenon::dataset {
namespace {

std::vector<TokenId> numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<TokenId> out;
  for (TokenId id; in >> id;) out.push_back(id);
  return out;
}

const Json& golden() {
  static const Json file = read_json(testdata("tokens.json")).value();
  return file;
}

// `path` gives every text the ids and the decoded text that the reference gave under `name`.
void expect_golden(const std::filesystem::path& path, const std::string& name) {
  const auto t = load_tokenizer(path);
  ASSERT_TRUE(t.ok()) << t.error().text();
  const Json& wanted = golden()["tokenizers"][name];
  for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
    const std::string text = golden()["texts"][i];
    const auto ids = (*t)->encode_framed(text);
    EXPECT_EQ(ids, numbers(wanted["ids"][i])) << name << ": " << text;
    EXPECT_EQ((*t)->decode(ids), wanted["decoded"][i].get<std::string>()) << name << ": " << text;
  }
}

TEST(Tokenizer, TinyOnesEqualTheReference) {
  for (const char* name :
       {"tiny_bpe.json", "tiny_llama.json", "tiny_word_piece.json", "tiny.tiktoken"})
    expect_golden(testdata(name), name);
}

TEST(Tokenizer, Gpt2EqualsTheReference) {
  const auto folder = fetched("gpt2-bpe");
  if (!folder) GTEST_SKIP() << "input gpt2-bpe is not fetched";
  expect_golden(*folder, "gpt2-bpe/encoder.json");
}

TEST(Tokenizer, BertEqualsTheReferenceFromBothFiles) {
  const auto folder = fetched("minilm");
  if (!folder) GTEST_SKIP() << "input minilm is not fetched";
  // The file asks for truncation to 128 and padding; framing is compared without them.
  const auto json = load_tokenizer(*folder / "tokenizer.json"),
             txt = load_tokenizer(*folder / "vocab.txt");
  ASSERT_TRUE(json.ok()) << json.error().text();
  ASSERT_TRUE(txt.ok()) << txt.error().text();
  const Json& wanted = golden()["tokenizers"]["minilm/tokenizer.json"];
  for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
    const std::string text = golden()["texts"][i];
    auto ids = numbers(wanted["ids"][i]);
    while (ids.size() > 1 && ids.back() == 0) ids.pop_back();
    EXPECT_EQ((*json)->encode_framed(text, 128), ids) << text;
    EXPECT_EQ((*txt)->encode_framed(text, 128), ids) << text;
  }
}

TEST(Tokenizer, TruncationKeepsTheFrame) {
  const auto t = load_tokenizer(testdata("tiny_word_piece.json")).value();
  const auto all = t->encode_framed("hello world hello world"),
             cut = t->encode_framed("hello world hello world", 5);
  ASSERT_EQ(cut.size(), 5u);
  EXPECT_EQ(cut.front(), all.front());
  EXPECT_EQ(cut.back(), all.back());
  EXPECT_EQ(t->encode_framed("hello", 1), (std::vector<TokenId>{2, 3}));
}

TEST(Tokenizer, SpecialTokensCanBeOrdinaryText) {
  const auto t = load_tokenizer(testdata("tiny_bpe.json")).value();
  std::vector<TokenId> special, plain;
  t->encode("<|endoftext|>", special);
  t->encode("<|endoftext|>", plain, false);
  EXPECT_EQ(special, (std::vector<TokenId>{0}));
  EXPECT_GT(plain.size(), 1u);
  EXPECT_EQ(t->decode(special), "");
  EXPECT_EQ(t->decode(special, false), "<|endoftext|>");
}

TEST(Tokenizer, BytePairKeepsEveryByte) {
  for (const char* name : {"tiny_bpe.json", "tiny_llama.json", "tiny.tiktoken"}) {
    const auto t = load_tokenizer(testdata(name)).value();
    std::string bytes;
    for (int i = 0; i < 4096; ++i) bytes += static_cast<char>((i * i * 7 + i * 31) >> 3);
    EXPECT_EQ(t->decode(t->encode(bytes)), bytes);
  }
}

TEST(Tokenizer, ManyThreadsAgree) {
  const auto a = load_tokenizer(testdata("tiny_bpe.json")).value(),
             b = load_tokenizer(testdata("tiny_llama.json")).value();
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
          const std::string text = golden()["texts"][i];
          EXPECT_EQ(a->encode(text), numbers(golden()["tokenizers"]["tiny_bpe.json"]["ids"][i]));
          EXPECT_EQ(b->encode(text), numbers(golden()["tokenizers"]["tiny_llama.json"]["ids"][i]));
        }
    });
  for (auto& t : threads) t.join();
}

TEST(Tokenizer, BrokenFilesAreRefusedByName) {
  TestFolder folder;
  const auto refuse = [&](const std::string& name, const std::string& text, Code code) {
    TENON_CHECK(write_file_atomic(folder / name, text).ok());
    const auto t = load_tokenizer(folder / name);
    ASSERT_FALSE(t.ok()) << name << text;
    EXPECT_EQ(t.error().code, code) << t.error().text();
  };
  refuse("tokenizer.json", "{", Code::invalid);
  refuse("tokenizer.json", "[]", Code::invalid);
  refuse("tokenizer.json", R"({"model": {"type": "Unigram"}})", Code::unsupported);
  refuse("tokenizer.json", R"({"model": {"type": "BPE"}, "pre_tokenizer": {"type": "ByteLevel"}})",
         Code::invalid);
  refuse(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": {"type": "Metaspace"}})",
      Code::unsupported);
  refuse(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel"}})",
      Code::invalid);
  refuse(
      "tokenizer.json",
      R"({"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel"}})",
      Code::invalid);
  refuse("vocab.txt", "a\nb\n", Code::invalid);
  refuse("x.tiktoken", "!!!! 1\n", Code::invalid);
  refuse("x.tiktoken", "YQ== -1\n", Code::invalid);
  refuse("x.tiktoken", "YQ== 1\n", Code::invalid);
  refuse("x.bin", "", Code::unsupported);
  EXPECT_EQ(load_tokenizer(folder / "none").error().code, Code::not_found);
  EXPECT_EQ(load_tokenizer(folder.path() / "..").error().code, Code::not_found);
}

TEST(WordSplit, NamesItsPatterns) {
  EXPECT_EQ(pattern_named(
                R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            WordPattern::gpt2);
  EXPECT_EQ(pattern_named("x+"), std::nullopt);
  std::string_view text = "12345 a";
  EXPECT_EQ(next_word(text, WordPattern::gpt2), 5u);
  EXPECT_EQ(next_word(text, WordPattern::llama3), 3u);
  EXPECT_EQ(next_word(text, WordPattern::qwen2), 1u);
}

TEST(UnicodeClass, Samples) {
  EXPECT_EQ(class_of(0x4e2d), CharClass::letter);
  EXPECT_EQ(class_of(0x00bd), CharClass::number);
  EXPECT_EQ(class_of(0x3000), CharClass::space);
  EXPECT_EQ(class_of('_'), CharClass::punctuation);
  EXPECT_EQ(class_of('$'), CharClass::other);
  EXPECT_EQ(class_of(0x301), CharClass::mark);
  EXPECT_EQ(class_of(0x200b), CharClass::control);
  EXPECT_EQ(decomposed("\xc3\xa9"), "e\xcc\x81");
  EXPECT_EQ(composed("e\xcc\x81"), "\xc3\xa9");
}

}  // namespace
}  // namespace tenon::dataset
