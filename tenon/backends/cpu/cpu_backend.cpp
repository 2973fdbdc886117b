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

constexpr auto kMakers = std::to_array<Maker>({
    {takes_attention, make_attention},
    {takes_row_group, make_row_group},
    {takes_elementwise, make_elementwise},
    {takes_reduction, make_reduction},
    {takes_transpose, make_transpose},
    {takes_movement, make_movement},
    {takes_matmul, make_matmul},
    {takes_convolution, make_convolution},
    {takes_weight_adjoint, make_weight_adjoint},
    {takes_scatter_adjoint, make_scatter_adjoint},
    {takes_lstm, make_lstm},
    {takes_turned_matmul, make_turned_matmul},
    {takes_pooling, make_pooling},
    {takes_channels_last_pooling, make_channels_last_pooling},
    {takes_integer_matmul, make_integer_matmul},
    {takes_integer_convolution, make_integer_convolution},
    {takes_picking, make_picking},
    {takes_search, make_search},
    {takes_filling, make_filling},
    {takes_plain_product, make_plain_product},
    {takes_resize, make_resize},
});

// Why no maker knows an operator at all.
std::string reason_without_maker(const Operator& op) {
  if (op.has(Trait::sequence)) return "sequences and optionals are kept by the interpreter";
  if (op.has(Trait::text)) return "text is worked on by the interpreter";
  if (op.has(Trait::data_dependent)) return "how many results there are depends on the data";
  return fmt::format("{} has no native kernel", op.name);
}

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
    return Verdict::no(reason.empty() ? reason_without_maker(node.op()) : reason);
  }
  bool prefers_channels_last(const Node& node) const override {
    const bool is_convolution = node.op().name == "conv" && takes_convolution(node);
    return is_convolution || takes_pooling(node);
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
