// TOML: whatever parses is written and parses again.
#include "tenon/base/toml.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = tenon::parse_toml(tenon::fuzz::text(data, size));
  if (!value.ok()) return 0;
  const auto again = tenon::parse_toml(tenon::write_toml(*value));
  TENON_CHECK(again.ok(), "cannot read what was written: {}", again.error().text());
  return 0;
}
