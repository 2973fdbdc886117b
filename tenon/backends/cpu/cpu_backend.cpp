// Asks each maker in turn; the first that takes a node compiles it.
#include "tenon/backends/cpu/cpu_backend.h"

#include <array>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/host_memory.h"

namespace tenon::backends {
namespace cpu {

bool is_number(const Value* v) {
  if (!v) return true;
  const Type& t = v->type();
  return t.is_tensor() && t.ranked() && t.dtype() != DType::string && !is_complex(t.dtype());
}

std::byte* thread_scratch(std::size_t bytes) {
  thread_local std::shared_ptr<Buffer> buffer;
  if (!buffer || buffer->bytes() < bytes) buffer = Buffer::allocate(bytes);
  return buffer->data();
}

namespace {

struct Maker {
  Verdict (*takes)(const Node&);
  Result<KernelPtr> (*make)(const Node&);
};

constexpr std::array kMakers = {Maker{takes_attention, make_attention},
                                Maker{takes_row_group, make_row_group},
                                Maker{takes_elementwise, make_elementwise},
                                Maker{takes_reduction, make_reduction},
                                Maker{takes_movement, make_movement},
                                Maker{takes_matmul, make_matmul},
                                Maker{takes_convolution, make_convolution},
                                Maker{takes_weight_adjoint, make_weight_adjoint},
                                Maker{takes_scatter_adjoint, make_scatter_adjoint},
                                Maker{takes_pooling, make_pooling},
                                Maker{takes_resize, make_resize}};

class CpuBackend : public HostMemoryBackend {
 public:
  std::string_view name() const override { return "cpu"; }
  Verdict supports(const Node& node) const override {
    std::string reason;
    for (const Maker& m : kMakers) {
      Verdict v = m.takes(node);
      if (v) return {};
      if (!v.reason.empty()) reason = v.reason;  // a maker of this operator says why not this call
    }
    return Verdict::no(reason.empty() ? fmt::format("{} has no native kernel", node.op().name)
                                      : reason);
  }
  Result<std::unique_ptr<Kernel>> compile(const Node& node) const override {
    for (const Maker& m : kMakers)
      if (m.takes(node)) return m.make(node);
    return unsupported("{} has no native kernel [{}]", node.op().name, node.place());
  }
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace tenon::backends
