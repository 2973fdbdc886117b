// Tensor, sequence and optional files of ONNX: every byte of an accepted tensor lies in the file.
#include "tenon/formats/onnx/read.h"
#include "tests/fuzz/entry.h"

namespace {

void touch(const tenon::Datum& value) {
  if (value.is_sequence()) {
    for (const tenon::Datum& item : value.items()) touch(item);
  } else if (value.is_tensor() && value.tensor().dtype() != tenon::DType::string) {
    tenon::fuzz::touch({value.tensor().raw(), value.tensor().bytes()});
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tenon::Type tensor = tenon::Type::unranked(tenon::DType::f32);
  for (const tenon::Type& type : {tensor, tenon::Type::sequence(tensor),
                                  tenon::Type::optional(tenon::Type::sequence(tensor))}) {
    const auto value =
        tenon::onnx::parse_datum(tenon::fuzz::text(data, size), tenon::fuzz::borrowed(data), type);
    if (value.ok()) touch(*value);
  }
  return 0;
}
