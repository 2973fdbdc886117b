#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
void add_signal_rows(Rows&) {}
}  // namespace tenon::onnx
