// Reads an ONNX model and writes it again, for tests that hand the result to other engines.
// usage: tenon_onnx_rewrite IN OUT    prints what the new file lost; 3 when it cannot be read or written.
#include <fmt/core.h>

#include "tenon/formats/onnx/read.h"
#include "tenon/formats/onnx/write.h"

namespace {

int fail(const tenon::Error& e) {
  fmt::print(stderr, "error: {}\n", e.text());
  for (const tenon::Error& other : e.others) fmt::print(stderr, "  {}\n", other.text());
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} IN OUT\n", argv[0]);
    return 2;
  }
  auto imported = tenon::onnx::read(argv[1]);
  if (!imported.ok()) return fail(imported.error());
  auto written = tenon::onnx::write(*imported->graph, argv[2]);
  if (!written.ok()) return fail(written.error());
  for (const std::string& lost : written->lost) fmt::print("lost: {}\n", lost);
  return 0;
}
