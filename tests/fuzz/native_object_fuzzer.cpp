// Native objects of bundles: relocatables that are placed and bound, never run here.
#include "tenon/codegen/native_object.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = tenon::codegen::NativeObject::load(tenon::fuzz::text(data, size));
  if (object.ok()) static_cast<void>((*object)->symbol("kernel"));
  return 0;
}
