// How byte-level BPE tokenizers cut a text into words before they merge: the published regular
// expressions, as hand-written scanners.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tenon::dataset {

enum class WordPattern {
  gpt2,    // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  llama3,  // any case of 's ..., one leading mark before letters, numbers in threes, line ends
           // apart (also cl100k)
  qwen2,   // as llama3, with single digits
  whole,   // no cutting
};

/// Bytes of the next word of `text`, which is not empty. Bytes that are not valid UTF-8 count as
/// marks, one each.
std::size_t next_word(std::string_view text, WordPattern pattern);
/// The pattern that a regular expression, as tokenizer.json spells it, stands for.
std::optional<WordPattern> pattern_named(std::string_view regex);

}  // namespace tenon::dataset
