// JSON: whatever parses is written and parses to the same value.
#include "tenon/base/json.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = tenon::parse_json(tenon::fuzz::text(data, size));
  if (!value.ok()) return 0;
  const std::string written = tenon::write_json(*value);
  const auto again = tenon::parse_json(written);
  TENON_CHECK(again.ok(), "cannot read what was written: {}", again.error().text());
  TENON_CHECK(tenon::write_json(*again) == written, "text changed");
  return 0;
}
