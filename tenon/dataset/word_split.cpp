// Each function below is one alternative of the expressions in the header, in their order.
#include "tenon/dataset/word_split.h"

#include <algorithm>

#include "tenon/base/unicode.h"
#include "tenon/dataset/unicode_class.h"

namespace tenon::dataset {
namespace {

struct Char {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0 at the end
  CharClass kind = CharClass::other;
};

Char char_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  Char c;
  const int n = utf8_length(text.substr(at), &c.code);
  if (n == 0) return {0xfffd, 1, CharClass::other};
  c.bytes = static_cast<std::size_t>(n);
  c.kind = class_of(c.code);
  return c;
}

bool is_mark(const Char& c) {
  return c.bytes && c.kind != CharClass::space && c.kind != CharClass::letter &&
         c.kind != CharClass::number;
}

// The end of the run of characters of one kind from `at` on, at most `limit` of them.
template <class Is>
std::size_t run_end(std::string_view text, std::size_t at, Is is, int limit = 1 << 30) {
  while (limit-- > 0) {
    const Char c = char_at(text, at);
    if (!c.bytes || !is(c)) break;
    at += c.bytes;
  }
  return at;
}

bool is_letter(const Char& c) { return c.kind == CharClass::letter; }
bool is_number(const Char& c) { return c.kind == CharClass::number; }
bool is_space(const Char& c) { return c.kind == CharClass::space; }

std::size_t contraction(std::string_view text, bool any_case) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const auto lower = [&](std::size_t i) {
    if (i >= text.size()) return '\0';
    return any_case && text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
  };
  const char a = lower(1), b = lower(2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  if (any_case && text.substr(1, 2) == "\xc5\xbf") return 3;  // the long s folds to s
  return 0;
}

// \s+(?!\S)|\s+ : white space but for its last character when a word follows, unless it is alone.
std::size_t spaces(std::string_view text) {
  std::size_t end = 0, before_last = 0;
  for (Char c = char_at(text, 0); c.bytes && is_space(c); c = char_at(text, end)) {
    before_last = end;
    end += c.bytes;
  }
  return end == text.size() || before_last == 0 ? end : before_last;
}

std::size_t gpt2_word(std::string_view text) {
  if (const std::size_t n = contraction(text, false)) return n;
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  const Char c = char_at(text, start);
  if (c.bytes && is_letter(c)) return run_end(text, start, is_letter);
  if (c.bytes && is_number(c)) return run_end(text, start, is_number);
  if (is_mark(c)) return run_end(text, start, is_mark);
  return spaces(text);
}

std::size_t llama_word(std::string_view text, int digits) {
  if (const std::size_t n = contraction(text, true)) return n;
  const Char first = char_at(text, 0);
  if (is_letter(first)) return run_end(text, 0, is_letter);
  const bool line_end = first.code == '\r' || first.code == '\n';
  if (!line_end && !is_number(first)) {
    const std::size_t end = run_end(text, first.bytes, is_letter);
    if (end > first.bytes) return end;
  }
  if (is_number(first)) return run_end(text, 0, is_number, digits);
  const std::size_t start = first.code == ' ' ? 1 : 0;
  if (is_mark(char_at(text, start))) {
    const std::size_t end = run_end(text, start, is_mark);
    return run_end(text, end, [](const Char& c) { return c.code == '\r' || c.code == '\n'; });
  }
  // \s*[\r\n]+ : up to the last line end of the white space.
  const std::size_t space_end = run_end(text, 0, is_space);
  const auto last = text.substr(0, space_end).find_last_of("\r\n");
  return last != text.npos ? last + 1 : spaces(text);
}

}  // namespace

std::size_t next_word(std::string_view text, WordPattern pattern) {
  switch (pattern) {
    case WordPattern::gpt2: return gpt2_word(text);
    case WordPattern::llama3: return llama_word(text, 3);
    case WordPattern::qwen2: return llama_word(text, 1);
    case WordPattern::whole: break;
  }
  return text.size();
}

std::optional<WordPattern> pattern_named(std::string_view regex) {
  if (regex == R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)")
    return WordPattern::gpt2;
  constexpr std::string_view kHead = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  constexpr std::string_view kTail = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (!regex.starts_with(kHead) || !regex.ends_with(kTail)) return std::nullopt;
  const std::string_view numbers =
      regex.substr(kHead.size(), regex.size() - kHead.size() - kTail.size());
  if (numbers == R"(\p{N}{1,3})") return WordPattern::llama3;
  if (numbers == R"(\p{N})") return WordPattern::qwen2;
  return std::nullopt;
}

}  // namespace tenon::dataset
