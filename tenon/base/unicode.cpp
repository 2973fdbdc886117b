// UTF-8 by the table of RFC 3629, section 4.
#include "tenon/base/unicode.h"

namespace tenon {

int utf8_length(std::string_view text, std::uint32_t* code_point) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  int length = 1;
  std::uint32_t value = first;
  if (first >= 0x80) {
    if (first < 0xc2 || first > 0xf4) return 0;
    length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (text.size() < static_cast<std::size_t>(length)) return 0;
    value = first & (0x7fu >> length);
    for (int i = 1; i < length; ++i) {
      const unsigned next = byte(static_cast<std::size_t>(i));
      if ((next & 0xc0) != 0x80) return 0;
      value = value << 6 | (next & 0x3f);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    if (overlong || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff) return 0;
  }
  if (code_point) *code_point = value;
  return length;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t c = 0;
    const int n = utf8_length(text, &c);
    if (n == 0) return std::nullopt;
    out += static_cast<char32_t>(c);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return out;
}

bool append_utf8(std::uint32_t c, std::string& out) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
  return true;
}

}  // namespace tenon
