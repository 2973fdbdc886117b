// WordPiece with BERT's rules for cutting a text into words.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/dataset/tokenizer.h"

namespace tenon::dataset {

struct WordPieceOptions {
  bool lowercase = true;
  bool strip_accents = true;
  bool clean_text = true;     // drop control characters, make white space plain
  bool split_chinese = true;  // every CJK ideograph is a word
  std::string unknown = "[UNK]";
  std::string continuation = "##";  // what stands before a piece that does not begin a word
  std::size_t max_word = 100;       // longer words (in code points) become unknown
};

class WordPiece : public Tokenizer {
 public:
  /// `vocabulary[i]` is token i. The unknown token must be among them.
  static Result<std::shared_ptr<WordPiece>> create(std::vector<std::string> vocabulary,
                                                   WordPieceOptions options);

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
  std::string normalized(std::string_view text) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;

  WordPieceOptions options_;
  std::vector<std::string> vocabulary_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
  TokenId unknown_ = 0;
};

}  // namespace tenon::dataset
