#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
void add_control_rows(Rows&) {}
}  // namespace tenon::onnx
