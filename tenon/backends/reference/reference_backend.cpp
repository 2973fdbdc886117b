// Declines every node: the interpreter behind the runtime is the reference.
#include "tenon/backends/reference/reference_backend.h"

#include "tenon/backends/host_memory.h"

namespace tenon::backends {
namespace {

class ReferenceBackend : public HostMemoryBackend {
 public:
  std::string_view name() const override { return "reference"; }
  Verdict supports(const Node&) const override {
    return Verdict::no("the reference backend interprets every node");
  }
  Result<std::unique_ptr<Kernel>> compile(const Node& node) const override {
    return unsupported("the reference backend compiles nothing [{}]", node.place());
  }
};

}  // namespace

std::unique_ptr<Backend> reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace tenon::backends
