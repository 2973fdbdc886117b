// Kernels that do nothing.
#include "tenon/backends/null/null_backend.h"

#include <algorithm>
#include <cstring>

#include "tenon/backends/host_memory.h"

namespace tenon::backends {
namespace {

class NullLaunch : public Launch {
 public:
  explicit NullLaunch(std::vector<std::size_t> bytes) : bytes_(std::move(bytes)) {}
  Status run(const Frame& frame) const override {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (frame.outputs[i])
        std::memset(frame.outputs[i], 0, bytes_[i]);  // defined bytes, so that runs repeat
    return {};
  }

 private:
  std::vector<std::size_t> bytes_;
};

class NullKernel : public Kernel {
 public:
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent>,
                                       std::span<const Extent> outputs) const override {
    std::vector<std::size_t> bytes;
    for (const Extent& e : outputs) bytes.push_back(e.bytes());
    return std::unique_ptr<Launch>(std::make_unique<NullLaunch>(std::move(bytes)));
  }
  std::string describe() const override { return "nothing"; }
};

bool fixed_size(const Type& t) { return t.is_tensor() && t.ranked() && t.dtype() != DType::string; }

class NullBackend : public HostMemoryBackend {
 public:
  std::string_view name() const override { return "null"; }
  Verdict supports(const Node& node) const override {
    if (node.op().has(Trait::control_flow))
      return Verdict::no("control flow is run by the runtime");
    if (node.op().has(Trait::data_dependent)) return Verdict::no("sizes depend on data");
    const auto ok = [](const Value* v) { return !v || fixed_size(v->type()); };
    if (!std::all_of(node.inputs().begin(), node.inputs().end(), ok) ||
        !std::all_of(node.outputs().begin(), node.outputs().end(), ok))
      return Verdict::no("sequences, text and tensors without rank are run by the interpreter");
    return {};
  }
  Result<std::unique_ptr<Kernel>> compile(const Node&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<NullKernel>());
  }
};

}  // namespace

std::unique_ptr<Backend> null_backend() { return std::make_unique<NullBackend>(); }

}  // namespace tenon::backends
