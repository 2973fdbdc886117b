#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
void add_random_rows(Rows&) {}
}  // namespace tenon::onnx
