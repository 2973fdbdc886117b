#include "tenon/formats/onnx/context_internal.h"

namespace tenon::onnx {
void add_nn_rows(Rows&) {}
}  // namespace tenon::onnx
