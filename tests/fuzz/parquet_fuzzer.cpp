// Parquet tables: whatever parses has columns of one length, and codes that lead to a text.
#include "tenon/dataset/table.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto columns = tenon::dataset::parse_parquet(tenon::fuzz::bytes(data, size), {});
  if (!columns.ok()) return 0;
  for (const auto& c : *columns) {
    TENON_CHECK(c.size() == columns->front().size(), "{} rows beside {}", c.size(),
                columns->front().size());
    for (const auto code : c.codes)
      TENON_CHECK(code < static_cast<std::int64_t>(c.texts.size()), "code {}", code);
  }
  return 0;
}
