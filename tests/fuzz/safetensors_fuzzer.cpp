// safetensors files: every tensor of an accepted file lies inside it.
#include "tenon/base/safetensors.h"
#include "tests/fuzz/entry.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file =
      tenon::Safetensors::parse(tenon::fuzz::bytes(data, size), tenon::fuzz::borrowed(data));
  if (!file.ok()) return 0;
  for (const tenon::SafetensorsEntry& entry : file->entries()) {
    const auto tensor = file->tensor(entry);
    if (tensor.ok() && tensor->dtype() != tenon::DType::string) {
      tenon::fuzz::touch({static_cast<const std::byte*>(tensor->raw()), tensor->bytes()});
    }
  }
  return 0;
}
