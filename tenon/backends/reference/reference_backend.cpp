// Declines every node: the interpreter behind the runtime is the reference.
#include "tenon/backends/reference/reference_backend.h"

#include <cstring>

namespace tenon::backends {
namespace {

class ReferenceBackend : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  Verdict supports(const Node&) const override { return Verdict::no("the reference backend interprets every node"); }
  Result<std::unique_ptr<Kernel>> compile(const Node& node) const override {
    return unsupported("the reference backend compiles nothing [{}]", node.place());
  }
  Result<std::shared_ptr<Buffer>> allocate(std::size_t bytes) const override { return Buffer::allocate(bytes); }
  Status copy(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    if (bytes) std::memcpy(to, from, bytes);
    return {};
  }
  Status sync() const override { return {}; }
};

}  // namespace

std::unique_ptr<Backend> reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace tenon::backends
