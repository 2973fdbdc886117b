// The reference backend: every node is interpreted by its page.
#pragma once

#include "tenon/runtime/backend.h"

namespace tenon::backends {

/// Supports nothing natively, so the runtime interprets every node: obvious, exact, slow.
std::unique_ptr<Backend> reference_backend();

}  // namespace tenon::backends
