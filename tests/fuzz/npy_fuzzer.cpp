// NumPy arrays: whatever parses can be written and read back.
#include "tenon/base/npy.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = tenon::parse_npy(tenon::fuzz::bytes(data, size));
  if (!tensor.ok()) return 0;
  const auto again = tenon::npy_bytes(*tensor);
  if (!again.ok()) return 0;
  const auto parsed = tenon::parse_npy(std::as_bytes(std::span(*again)));
  TENON_CHECK(parsed.ok(), "cannot read what was written: {}", parsed.error().text());
  TENON_CHECK(parsed->dims() == tensor->dims(), "dims changed");
  return 0;
}
