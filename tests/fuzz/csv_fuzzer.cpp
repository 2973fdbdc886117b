// CSV tables: whatever parses has columns of one length, and becomes a source.
#include "tenon/dataset/table.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon::dataset;
  const auto columns = parse_csv(tenon::fuzz::text(data, size), {});
  if (!columns.ok() || columns->empty()) return 0;
  TableOptions options;
  for (const Column& c : *columns) {
    TENON_CHECK(c.size() == columns->front().size(), "{} rows beside {}", c.size(),
                columns->front().size());
    (c.is_text ? options.categorical : options.numeric).push_back(c.name);
  }
  if (const auto source = table_source(*columns, options, "fuzz"); source.ok())
    TENON_CHECK((*source)->size() == columns->front().size(), "rows");
  return 0;
}
