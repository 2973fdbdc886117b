#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
void add_contrib_rows(Rows&) {}
}  // namespace tenon::onnx
