// Mail: every message gives UTF-8 that is no more than a few times its size.
#include "tenon/base/error.h"
#include "tenon/base/unicode.h"
#include "tenon/dataset/mail.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = tenon::dataset::mail_text(tenon::fuzz::text(data, size));
  TENON_CHECK(tenon::decode_utf8(text).has_value(), "not UTF-8");
  TENON_CHECK(text.size() <= 2 * size + 64, "{} bytes from {}", text.size(), size);
  return 0;
}
