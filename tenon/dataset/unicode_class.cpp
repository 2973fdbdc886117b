// The only place that sees utf8proc.
#include "tenon/dataset/unicode_class.h"

#include <utf8proc.h>

#include <cstdlib>

namespace tenon::dataset {
namespace {

bool is_white_space(std::uint32_t c) {  // the White_Space property, PropList.txt
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

CharClass look_up(std::uint32_t c) {
  if (is_white_space(c)) return CharClass::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return CharClass::number;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return CharClass::punctuation;
    case UTF8PROC_CATEGORY_MN: return CharClass::mark;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO: return CharClass::control;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CS: break;
  }
  return CharClass::other;
}

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const auto n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                              static_cast<utf8proc_ssize_t>(text.size()), &out,
                              static_cast<utf8proc_option_t>(options));
  std::string result = n < 0
                           ? std::string(text)
                           : std::string(reinterpret_cast<char*>(out), static_cast<std::size_t>(n));
  std::free(out);
  return result;
}

}  // namespace

CharClass class_of(std::uint32_t c) {
  if (c < 0x80) {
    if ((c | 32) >= 'a' && (c | 32) <= 'z') return CharClass::letter;
    if (c >= '0' && c <= '9') return CharClass::number;
    if (c == ' ') return CharClass::space;
  }
  return look_up(c);
}

std::uint32_t to_lower(std::uint32_t c) {
  return static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

std::string decomposed(std::string_view text) {
  return mapped(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
}
std::string composed(std::string_view text) {
  return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

}  // namespace tenon::dataset
