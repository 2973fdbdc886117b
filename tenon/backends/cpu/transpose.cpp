// Transposes of four-byte elements as oneDNN's reorders, which are generated for the strides at
// hand.
#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/onednn_internal.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

constexpr std::int64_t kWorthCutting = 65536;  // elements for each thread

// Sizes of the result, and how far each of its axes steps in the operand.
struct Turn {
  memory::dims dims, strides;
  memory::dims dense() const {
    memory::dims d(dims.size(), 1);
    for (std::size_t i = dims.size(); i-- > 1;) d[i - 1] = d[i] * dims[i];
    return d;
  }
};

class TransposeLaunch : public Launch {
 public:
  explicit TransposeLaunch(Turn turn) : turn_(std::move(turn)), dense_(turn_.dense()) {
    reorder_of(turn_.dims);
    while (cut_ + 1 < turn_.dims.size() && turn_.dims[cut_] == 1) ++cut_;
  }
  Status run(const Frame& frame) const override {
    const std::int64_t inner = std::max<std::int64_t>(1, dense_[cut_]);
    frame.pool.parallel_for(0, turn_.dims[cut_], std::max<std::int64_t>(1, kWorthCutting / inner),
                            [&](std::int64_t begin, std::int64_t end) {
                              memory::dims part = turn_.dims;
                              part[cut_] = end - begin;
                              run_part(part, frame.inputs[0] + begin * turn_.strides[cut_] * 4,
                                       frame.outputs[0] + begin * dense_[cut_] * 4);
                            });
    return {};
  }

 private:
  void run_part(const memory::dims& part, const std::byte* from, std::byte* to) const {
    const auto reorder = reorder_of(part);
    memory x = memory_at({part, memory::data_type::f32, turn_.strides}, from),
           y = memory_at({part, memory::data_type::f32, dense_}, to);
    reorder->execute(onednn_stream(), x, y);
  }
  std::shared_ptr<const dnnl::reorder> reorder_of(const memory::dims& part) const {
    const std::lock_guard lock(mutex_);
    auto& made = reorders_[part[cut_]];
    if (!made) {
      const memory::desc from(part, memory::data_type::f32, turn_.strides),
          to(part, memory::data_type::f32, dense_);
      made = std::make_shared<dnnl::reorder>(
          dnnl::reorder::primitive_desc(onednn_engine(), from, onednn_engine(), to));
    }
    return made;
  }
  Turn turn_;
  memory::dims dense_;
  std::size_t cut_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const dnnl::reorder>> reorders_;  // by rows
};

class TransposeKernel : public Kernel {
 public:
  explicit TransposeKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    if (out[0].count() == 0) return unsupported("empty results are interpreted");
    const auto* perm = node_.attrs().get<Attr::Integers>("perm");
    const Dims own = row_major_strides(in[0].dims);
    const auto ndim = static_cast<std::int64_t>(own.size());
    Turn turn{memory::dims(out[0].dims.begin(), out[0].dims.end()), {}};
    for (std::int64_t i = 0; i < ndim; ++i) {
      const std::int64_t p = perm ? (*perm)[static_cast<std::size_t>(i)] : ndim - 1 - i;
      turn.strides.push_back(own[static_cast<std::size_t>(p < 0 ? p + ndim : p)]);
    }
    return guarded([&] {
      return std::unique_ptr<Launch>(std::make_unique<TransposeLaunch>(std::move(turn)));
    });
  }
  std::string describe() const override { return "onednn reorder"; }

 private:
  const Node& node_;
};

}  // namespace

// Elements are copied, never computed with: any four-byte float is its own bits. Small integers and
// sixteen-bit types go the way of all movements.
Verdict takes_transpose(const Node& node) {
  if (node.op().name != "transpose" || !is_number(node.input(0))) return Verdict::no("");
  const Type& x = node.input(0)->type();
  if (x.dtype() != DType::f32 || x.ndim() < 2 || x.ndim() > 6) return Verdict::no("");
  return {};
}

Result<KernelPtr> make_transpose(const Node& node) {
  return KernelPtr(std::make_unique<TransposeKernel>(node));
}

}  // namespace tenon::backends::cpu
