// Tenon's JSON form of graphs: whatever reads is written as JSON that reads as the same graph.
#include "tenon/ir/graph_json.h"
#include "tenon/ops/registry.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = tenon::parse_json(tenon::fuzz::text(data, size));
  if (!json.ok()) return 0;
  const auto graph = tenon::graph_from_json(*json, tenon::ops::table());
  if (!graph.ok()) return 0;
  tenon::TextOptions options;
  options.max_inline = 1 << 20;
  const std::string written = tenon::write_json(tenon::to_json(**graph, options));
  const auto again = tenon::graph_from_json(*tenon::parse_json(written), tenon::ops::table());
  TENON_CHECK(again.ok(), "cannot read what was written: {}\n{}", again.error().text(), written);
  TENON_CHECK(tenon::write_json(tenon::to_json(**again, options)) == written, "changed:\n{}",
              written);
  return 0;
}
