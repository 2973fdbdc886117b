// The contract between the runtime and a backend: what a device must do to run graphs.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tenon/base/thread_pool.h"
#include "tenon/ir/operator.h"

namespace tenon {

/// Concrete element type and sizes of one argument. An absent argument has dtype undefined.
struct Extent {
  DType dtype = DType::undefined;
  Dims dims;
  Tensor value = {};  // of arguments that the kernel wants when binding (Kernel::wants_value)
  bool present() const { return dtype != DType::undefined; }
  std::int64_t count() const { return num_elements(dims); }
  std::size_t bytes() const {
    return static_cast<std::size_t>(count()) * static_cast<std::size_t>(size_of(dtype));
  }
};

/// Where one run of a kernel finds its data. Absent arguments are nullptr.
struct Frame {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* workspace;  // workspace_bytes() of the launch, 64-byte aligned
  ThreadPool& pool;
};

/// A kernel bound to sizes. Immutable: many threads may run one launch at once.
class Launch {
 public:
  virtual ~Launch() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  /// Computes the outputs. Allocates nothing when it can help it. Errors are those of the data
  /// (an index out of range).
  virtual Status run(const Frame& frame) const = 0;
};

/// A compiled node. Immutable.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Everything that depends on sizes alone, done once for each distinct set of sizes.
  virtual Result<std::unique_ptr<Launch>> bind(std::span<const Extent> inputs,
                                               std::span<const Extent> outputs) const = 0;
  /// Whether bind() needs the value of input i (a shape, a list of axes): it then stands in the
  /// extent. Where it is not known before the run, the node is interpreted.
  virtual bool wants_value(int i) const {
    (void)i;
    return false;
  }
  /// What runs: "onednn matmul, bias and relu fused", for reports.
  virtual std::string describe() const = 0;
  /// Whether output 0 may be written over input `i` (same sizes; every element is read before it is
  /// written).
  virtual bool may_overwrite(int i) const {
    (void)i;
    return false;
  }
};

/// A device and its compiler. One instance serves all graphs of a process.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Whether compile() will take this node, and why not. What is not supported runs in the
  /// interpreter on the host, and the report says so.
  virtual Verdict supports(const Node& node) const = 0;
  virtual Result<std::unique_ptr<Kernel>> compile(const Node& node) const = 0;
  /// Whether `node`, whose input 0 and output are [n, c, spatial...], runs faster over
  /// [n, spatial..., c]: then compile() also takes a `fused` node around it that transposes back
  /// and forth (passes/channels_last.cpp).
  virtual bool prefers_channels_last(const Node& node) const {
    (void)node;
    return false;
  }
  /// Device memory, 64-byte aligned.
  virtual Result<std::shared_ptr<Buffer>> allocate(std::size_t bytes) const = 0;
  virtual Status copy(std::byte* to, const std::byte* from, std::size_t bytes) const = 0;
  /// Waits for everything that was started.
  virtual Status sync() const = 0;
};

}  // namespace tenon
