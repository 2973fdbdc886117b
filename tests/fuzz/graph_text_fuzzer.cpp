// Tenon's text form of graphs: whatever parses prints to a text that parses to the same text.
#include "tenon/ir/text.h"
#include "tenon/ops/registry.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto graph = tenon::parse_graph(tenon::fuzz::text(data, size), tenon::ops::table());
  if (!graph.ok()) return 0;
  tenon::TextOptions options;
  options.max_inline = 1 << 20;
  const std::string written = tenon::to_text(**graph, options);
  const auto again = tenon::parse_graph(written, tenon::ops::table());
  TENON_CHECK(again.ok(), "cannot read what was written: {}\n{}", again.error().text(), written);
  TENON_CHECK(tenon::to_text(**again, options) == written, "text changed:\n{}", written);
  return 0;
}
