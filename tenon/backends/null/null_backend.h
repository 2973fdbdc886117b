// The null backend: takes every node, computes nothing. Runs the compiler and the runtime alone.
#pragma once

#include "tenon/runtime/backend.h"

namespace tenon::backends {

/// Outputs are left as they are (zero or stale bytes); shapes are right. For tests of everything
/// around kernels, and for timing the runtime itself.
std::unique_ptr<Backend> null_backend();

}  // namespace tenon::backends
