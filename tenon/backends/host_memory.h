// The memory side of backends whose device is the host.
#pragma once

#include <cstring>

#include "tenon/runtime/backend.h"

namespace tenon::backends {

/// Allocates and copies host memory; nothing is ever left running.
class HostMemoryBackend : public Backend {
 public:
  Result<std::shared_ptr<Buffer>> allocate(std::size_t bytes) const override {
    return Buffer::allocate(bytes);
  }
  Status copy(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    if (bytes) std::memcpy(to, from, bytes);
    return {};
  }
  Status sync() const override { return {}; }
};

}  // namespace tenon::backends
