// ONNX models: whatever is accepted is a sound graph, prints, and can be written and read again.
#include "tenon/formats/onnx/read.h"
#include "tenon/formats/onnx/write.h"
#include "tenon/ir/text.h"
#include "tenon/ir/verify.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto imported = tenon::onnx::read_bytes(tenon::fuzz::text(data, size),
                                                tenon::fuzz::borrowed(data), "fuzz.onnx");
  if (!imported.ok()) return 0;
  const auto sound = tenon::verify(*imported->graph);
  TENON_CHECK(sound.ok(), "an accepted model is not sound: {}", sound.error().text());
  TENON_CHECK(!tenon::to_text(*imported->graph).empty(), "a graph without text");
  const auto written = tenon::onnx::write_bytes(*imported->graph);
  if (written.ok()) static_cast<void>(tenon::onnx::read_bytes(*written, nullptr, "again.onnx"));
  return 0;
}
