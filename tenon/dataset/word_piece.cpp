// BERT's basic tokenizer (clean, ideographs apart, lower case without accents, punctuation apart)
// and the greedy longest-match-first search of WordPiece (Wu et al. 2016; Devlin et al. 2018).
#include "tenon/dataset/word_piece.h"

#include <algorithm>

#include "tenon/base/unicode.h"
#include "tenon/dataset/unicode_class.h"

namespace tenon::dataset {
namespace {

bool is_chinese(std::uint32_t c) {  // the CJK Unified Ideographs blocks
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

// All ASCII that is neither letter, digit nor white space counts, symbols such as '$' included.
bool is_punctuation(std::uint32_t c) {
  if (c < 128)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  return class_of(c) == CharClass::punctuation;
}

// Calls f(code point, bytes) for each; a byte that is not valid UTF-8 counts as U+FFFD.
template <class F>
void for_each_code_point(std::string_view text, F f) {
  while (!text.empty()) {
    std::uint32_t c = 0xfffd;
    const int n = std::max(1, utf8_length(text, &c));
    f(c, text.substr(0, static_cast<std::size_t>(n)));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Marks that follow a word without a space when text is put together again.
bool closes(std::string_view piece) {
  return piece == "." || piece == "?" || piece == "!" || piece == ",";
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 128; });
}

}  // namespace

Result<std::shared_ptr<WordPiece>> WordPiece::create(std::vector<std::string> vocabulary,
                                                     WordPieceOptions options) {
  auto t = std::make_shared<WordPiece>();
  t->options_ = std::move(options);
  t->vocabulary_ = std::move(vocabulary);
  t->ids_.reserve(t->vocabulary_.size());
  for (std::size_t i = 0; i < t->vocabulary_.size(); ++i)
    t->ids_.emplace(t->vocabulary_[i], static_cast<TokenId>(i));
  const auto unknown = t->id_of(t->options_.unknown);
  if (!unknown) return invalid("the vocabulary lacks the unknown token '{}'", t->options_.unknown);
  t->unknown_ = *unknown;
  return t;
}

std::string WordPiece::normalized(std::string_view text) const {
  std::string out;
  out.reserve(text.size() + 16);
  for_each_code_point(text, [&](std::uint32_t c, std::string_view bytes) {
    if (options_.clean_text) {
      const CharClass kind = class_of(c);
      if (kind == CharClass::space) {
        out += ' ';
        return;
      }
      if (c == 0 || c == 0xfffd || kind == CharClass::control) return;
    }
    if (options_.split_chinese && is_chinese(c)) {
      out += ' ';
      out += bytes;
      out += ' ';
    } else {
      out += bytes;
    }
  });
  if (is_ascii(out)) {
    if (options_.lowercase)
      for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return out;
  }
  if (options_.strip_accents) {
    std::string bare;
    for_each_code_point(decomposed(out), [&](std::uint32_t c, std::string_view bytes) {
      if (class_of(c) != CharClass::mark) bare += bytes;
    });
    out = std::move(bare);
  }
  if (!options_.lowercase) return out;
  std::string lower;
  for_each_code_point(out, [&](std::uint32_t c, std::string_view) {
    append_utf8(to_lower(c), lower);
    if (c == 0x130)
      append_utf8(0x307, lower);  // the one letter whose lower case is two code points
  });
  return lower;
}

void WordPiece::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
  const std::string clean = normalized(text);
  std::size_t start = 0, at = 0;
  const auto flush = [&](std::size_t end) {
    if (end > start) encode_word(std::string_view(clean).substr(start, end - start), ids);
  };
  for_each_code_point(clean, [&](std::uint32_t c, std::string_view bytes) {
    const bool space = class_of(c) == CharClass::space, mark = !space && is_punctuation(c);
    if (space || mark) flush(at);
    if (mark) encode_word(bytes, ids);
    at += bytes.size();
    if (space || mark) start = at;
  });
  flush(clean.size());
}

void WordPiece::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  const auto length = std::count_if(word.begin(), word.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  const std::size_t mark = ids.size();
  if (static_cast<std::size_t>(length) > options_.max_word) return ids.push_back(unknown_);
  std::string piece;
  for (std::size_t start = 0; start < word.size();) {
    std::size_t end = word.size();
    auto found = ids_.end();
    for (; end > start; --end) {
      if (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xc0) == 0x80)
        continue;  // inside a code point
      piece.assign(start > 0 ? options_.continuation : std::string());
      piece += word.substr(start, end - start);
      if ((found = ids_.find(piece)) != ids_.end()) break;
    }
    if (found == ids_.end()) {
      ids.resize(mark);
      return ids.push_back(unknown_);
    }
    ids.push_back(found->second);
    start = end;
  }
}

std::string WordPiece::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string out;
  for (TokenId id : ids) {
    if (id < 0 || id >= vocabulary_size() || (skip_special && is_special(id))) continue;
    const std::string& piece = vocabulary_[static_cast<std::size_t>(id)];
    if (!out.empty() && piece.starts_with(options_.continuation)) {
      out += piece.substr(options_.continuation.size());
    } else {
      if (!out.empty() && !closes(piece)) out += ' ';
      out += piece;
    }
  }
  return out;
}

std::optional<TokenId> WordPiece::id_of(std::string_view token) const {
  const auto at = ids_.find(token);
  return at == ids_.end() ? std::nullopt : std::optional(at->second);
}

std::string WordPiece::token(TokenId id) const {
  return id >= 0 && id < vocabulary_size() ? vocabulary_[static_cast<std::size_t>(id)]
                                           : std::string();
}

}  // namespace tenon::dataset
