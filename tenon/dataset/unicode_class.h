// Classes of code points and normal forms, from utf8proc (Unicode 14).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::dataset {

enum class CharClass : std::uint8_t { letter, number, space, punctuation, mark, control, other };

/// letter = L*, number = N*, space = White_Space, punctuation = P*, mark = Mn, control = Cc, Cf,
/// Cn, Co.
CharClass class_of(std::uint32_t code_point);
std::uint32_t to_lower(std::uint32_t code_point);
/// Canonical decomposition (NFD) of valid UTF-8; other text comes back as it is.
std::string decomposed(std::string_view text);
/// NFC of valid UTF-8; other text comes back as it is.
std::string composed(std::string_view text);

}  // namespace tenon::dataset
