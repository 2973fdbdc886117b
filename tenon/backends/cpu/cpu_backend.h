// The cpu backend: native code for the machine in front of you.
#pragma once

#include "tenon/runtime/backend.h"

namespace tenon::backends {

/// Generated loops for elementwise work, fused groups and reductions; strided copies for movements;
/// oneDNN for matrix products and convolutions. What is left is declined with a reason.
std::unique_ptr<Backend> cpu_backend();

/// "3.2.0": the library that products and convolutions go to.
std::string onednn_version();

}  // namespace tenon::backends
