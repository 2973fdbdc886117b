// Special tokens and frames, which every kind of tokenizer shares.
#include "tenon/dataset/tokenizer.h"

#include <algorithm>

namespace tenon::dataset {

void Tokenizer::set_special_tokens(std::vector<SpecialToken> tokens) {
  special_ = std::move(tokens);
  std::erase_if(special_, [](const SpecialToken& t) { return t.text.empty(); });
  std::stable_sort(
      special_.begin(), special_.end(),
      [](const SpecialToken& a, const SpecialToken& b) { return a.text.size() > b.text.size(); });
}

bool Tokenizer::is_special(TokenId id) const {
  return std::any_of(special_.begin(), special_.end(),
                     [&](const SpecialToken& t) { return t.id == id; });
}

void Tokenizer::encode(std::string_view text, std::vector<TokenId>& ids,
                       bool special_in_text) const {
  bool first_byte[256] = {};
  for (const SpecialToken& t : special_)
    first_byte[static_cast<unsigned char>(t.text[0])] = special_in_text;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const SpecialToken* found = nullptr;
    if (first_byte[static_cast<unsigned char>(text[i])])
      for (const SpecialToken& t : special_)
        if (text.substr(i, t.text.size()) == t.text) {
          found = &t;
          break;
        }
    if (!found) {
      ++i;
      continue;
    }
    if (i > start) encode_plain(text.substr(start, i - start), ids);
    ids.push_back(found->id);
    i += found->text.size();
    start = i;
  }
  if (start < text.size()) encode_plain(text.substr(start), ids);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  encode(text, ids);
  return ids;
}

std::vector<TokenId> Tokenizer::encode_framed(std::string_view text, int max_length) const {
  std::vector<TokenId> body = encode(text), out;
  const std::size_t frame = frame_.single.size() - 1;
  if (max_length > 0 && body.size() + frame > static_cast<std::size_t>(max_length))
    body.resize(static_cast<std::size_t>(max_length) > frame
                    ? static_cast<std::size_t>(max_length) - frame
                    : 0);
  for (TokenId id : frame_.single) {
    if (id >= 0)
      out.push_back(id);
    else
      out.insert(out.end(), body.begin(), body.end());
  }
  return out;
}

}  // namespace tenon::dataset
