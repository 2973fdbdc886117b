// Byte-level byte-pair encoding: GPT-2's, Llama 3's, Whisper's.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/dataset/tokenizer.h"
#include "tenon/dataset/word_split.h"

namespace tenon::dataset {

struct BytePairOptions {
  WordPattern pattern = WordPattern::gpt2;
  bool add_prefix_space = false;
  bool ignore_merges = false;  // a word that is a token is taken whole, whatever the merges say
};

class BytePair : public Tokenizer {
 public:
  struct Merge {
    TokenId left, right, result;
  };
  /// `vocabulary[i]` holds the bytes of token i (empty: no such token). `merges` stand in order of
  /// preference; where they are empty, the preference is the number of the token that results, as
  /// tiktoken files mean it.
  static Result<std::shared_ptr<BytePair>> create(std::vector<std::string> vocabulary,
                                                  std::vector<Merge> merges,
                                                  BytePairOptions options);

  std::string decode(std::span<const TokenId> ids, bool skip_special = true) const override;
  int vocabulary_size() const override { return static_cast<int>(vocabulary_.size()); }
  std::optional<TokenId> id_of(std::string_view token) const override;
  std::string token(TokenId id) const override;

 protected:
  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const override;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  struct Rule {
    std::uint64_t pair = ~std::uint64_t{0};  // left << 32 | right
    std::uint32_t rank = ~std::uint32_t{0};
    TokenId result = -1;
  };
  void add_rule(TokenId left, TokenId right, std::uint32_t rank, TokenId result);
  void make_rules_from_ranks();
  const Rule* find_rule(TokenId left, TokenId right) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;
  void merge_short(std::vector<TokenId>& symbols) const;
  void merge_long(std::vector<TokenId>& symbols) const;

  BytePairOptions options_;
  std::vector<std::string> vocabulary_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
  std::vector<TokenId> byte_ids_;
  std::vector<Rule> rules_;  // open addressing, a power of two, at most half full
  std::size_t num_rules_ = 0;
  std::uint64_t serial_ = 0;  // tells the caches of threads which tokenizer filled them
};

/// The characters that GPT-2's vocabulary files write for the 256 bytes, turned back into bytes;
/// nothing where a character stands for no byte.
std::optional<std::string> bytes_of_printable(std::string_view text);

}  // namespace tenon::dataset
