// UTF-8 to code points and back, strict as RFC 3629: no surrogates, no overlong forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// The code points of `text`, or nothing where it is not valid UTF-8.
std::optional<std::u32string> decode_utf8(std::string_view text);
/// Appends one code point; false (and nothing appended) for surrogates and values above U+10FFFF.
bool append_utf8(std::uint32_t code_point, std::string& out);
/// Bytes of the UTF-8 sequence at the start of `text`: 1 to 4, or 0 where it is not valid.
/// `code_point`, when given, receives its value.
int utf8_length(std::string_view text, std::uint32_t* code_point = nullptr);

}  // namespace tenon
