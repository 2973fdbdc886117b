#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
void add_ml_rows(Rows&) {}
}  // namespace tenon::onnx
