// idx arrays: whatever parses owns as many bytes as its dims say.
#include "tenon/dataset/file_sources.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = tenon::dataset::parse_idx(tenon::fuzz::text(data, size));
  if (tensor.ok()) tenon::fuzz::touch({tensor->raw(), tensor->bytes()});
  return 0;
}
