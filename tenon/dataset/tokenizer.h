// Text to token numbers and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::dataset {

using TokenId = std::int32_t;

/// A token that stands for itself wherever it occurs in a text ("[SEP]", "<|endoftext|>").
struct SpecialToken {
  std::string text;
  TokenId id = 0;
};

/// What stands around a text that a model reads: "[CLS] $A [SEP]" as ids, -1 for the text itself.
struct Template {
  std::vector<TokenId> single = {-1};
};

/// A tokenizer; encoding is safe from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the tokens of `text`. Special tokens that occur in it become their ids where
  /// `special_in_text` is set, as Hugging Face's tokenizers do, and are ordinary text otherwise.
  void encode(std::string_view text, std::vector<TokenId>& ids, bool special_in_text = true) const;
  std::vector<TokenId> encode(std::string_view text) const;
  /// The tokens with what the model wants around them, cut to `max_length` tokens in all where that
  /// is positive (the end of the text is dropped, never the frame).
  std::vector<TokenId> encode_framed(std::string_view text, int max_length = 0) const;
  /// The text of tokens; special ones are left out where `skip_special` is set, ids that do not
  /// exist always.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special = true) const = 0;

  virtual int vocabulary_size() const = 0;
  virtual std::optional<TokenId> id_of(std::string_view token) const = 0;
  /// The token's own text: "##ing", or the bytes of a byte-pair token.
  virtual std::string token(TokenId id) const = 0;

  const std::vector<SpecialToken>& special_tokens() const { return special_; }
  bool is_special(TokenId id) const;
  std::optional<TokenId> pad() const { return pad_; }

  void set_special_tokens(std::vector<SpecialToken> tokens);
  void set_template(Template frame) { frame_ = std::move(frame); }
  void set_pad(std::optional<TokenId> id) { pad_ = id; }

 protected:
  /// Appends the tokens of a stretch that holds no special token.
  virtual void encode_plain(std::string_view text, std::vector<TokenId>& ids) const = 0;

 private:
  std::vector<SpecialToken> special_;  // longest first, so that the longest match wins
  Template frame_;
  std::optional<TokenId> pad_;
};

/// Reads a tokenizer by its file: `tokenizer.json` (Hugging Face: WordPiece with BERT's rules, or
/// byte-level BPE), `vocab.txt` (WordPiece; lower-cased unless `tokenizer_config.json` beside it
/// says otherwise), `encoder.json` with `vocab.bpe`, or `vocab.json` with `merges.txt`, beside it
/// (GPT-2's BPE), `*.tiktoken` and text `tokenizer.model` (lines of base64 and rank). A folder is
/// searched for these, in this order. Other kinds are `unsupported`.
Result<std::shared_ptr<const Tokenizer>> load_tokenizer(const std::filesystem::path& path);

}  // namespace tenon::dataset
