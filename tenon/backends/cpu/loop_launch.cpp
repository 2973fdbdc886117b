// Patterns from concrete axes, and the split over threads.
#include <algorithm>

#include "tenon/backends/cpu/loop_launch_internal.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {

namespace {

constexpr std::int64_t kMinWork = 16384;  // elements a thread should get before it is worth waking

codegen::InnerStride inner_of(std::int64_t stride) {
  return stride == 0   ? codegen::InnerStride::zero
         : stride == 1 ? codegen::InnerStride::one
                       : codegen::InnerStride::any;
}

}  // namespace

std::vector<std::int64_t> broadcast_strides(const Dims& dims, const Dims& out) {
  return ops::broadcast_strides(dims, out);
}

Result<BoundLoop> BoundLoop::make(codegen::LoopNest nest, const codegen::LoopAxes& given) {
  const codegen::LoopAxes axes = codegen::merged(given);
  if (axes.sizes.size() > codegen::kMaxAxes)
    return unsupported("a loop nest over {} axes", axes.sizes.size());
  BoundLoop bound;
  nest.num_axes = static_cast<int>(axes.sizes.size());
  nest.num_reduced = axes.num_reduced;
  for (std::size_t i = 0; i < axes.strides.size(); ++i) {
    auto& operand = i < nest.inputs.size() ? nest.inputs[i] : nest.outputs[i - nest.inputs.size()];
    operand.inner = inner_of(axes.strides[i].back());
    bound.strides.insert(bound.strides.end(), axes.strides[i].begin(), axes.strides[i].end());
  }
  bound.sizes = axes.sizes;
  std::int64_t inner = 1;
  for (std::size_t a = 1; a < axes.sizes.size(); ++a) inner *= axes.sizes[a];
  bound.grain = std::max<std::int64_t>(1, kMinWork / std::max<std::int64_t>(1, inner));
  bound.loop = TENON_TRY(codegen::KernelCache::instance().get(nest));
  return bound;
}

void BoundLoop::run(const std::byte* const* inputs, std::byte* const* outputs,
                    ThreadPool& pool) const {
  if (std::find(sizes.begin(), sizes.end() - 1, 0) != sizes.end() - 1) return;
  pool.parallel_for(0, sizes[0], grain, [&](std::int64_t begin, std::int64_t end) {
    loop.function(inputs, outputs, sizes.data(), strides.data(), begin, end);
  });
}

}  // namespace tenon::backends::cpu
