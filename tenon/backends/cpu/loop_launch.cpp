// Patterns from concrete axes, and the split over threads.
#include <algorithm>

#include "tenon/backends/cpu/kernels_internal.h"
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

namespace {

using codegen::InnerStride;
using codegen::Lanes;

// Lanes go where more operands have their elements side by side.
Lanes lanes_for(const codegen::LoopAxes& axes) {
  const std::size_t last = axes.sizes.size() - 1,
                    kept = last - static_cast<std::size_t>(axes.num_reduced);
  if (!axes.num_reduced) return Lanes::across_rows;
  int along = 0, across = 0;
  for (const auto& s : axes.strides) along += s[last] == 1, across += s[kept] == 1;
  return across > along && axes.sizes[kept] >= 4 ? Lanes::across_rows : Lanes::along_row;
}

}  // namespace

Result<BoundProgram> BoundProgram::make(codegen::LoopProgram program,
                                        const codegen::LoopAxes& given) {
  const codegen::LoopAxes axes = codegen::merged(given);
  if (axes.sizes.size() > codegen::kMaxAxes)
    return unsupported("a loop nest over {} axes", axes.sizes.size());
  BoundProgram bound;
  program.num_row = axes.num_reduced;
  program.num_kept = static_cast<int>(axes.sizes.size()) - program.num_row;
  program.lanes = lanes_for(axes);
  for (std::size_t i = 0; i < axes.strides.size(); ++i) {
    auto& operand =
        i < program.inputs.size() ? program.inputs[i] : program.outputs[i - program.inputs.size()];
    operand.inner = inner_of(axes.strides[i][static_cast<std::size_t>(program.lane_axis())]);
    bound.strides.insert(bound.strides.end(), axes.strides[i].begin(), axes.strides[i].end());
  }
  program.schedule = codegen::default_schedule(program, host_isa());
  bound.sizes = axes.sizes;
  std::int64_t inner = 1, row = 1;
  for (std::size_t a = 1; a < axes.sizes.size(); ++a) {
    inner *= axes.sizes[a];
    if (static_cast<int>(a) >= program.num_kept) row *= axes.sizes[a];
  }
  bound.grain = std::max<std::int64_t>(1, kMinWork / std::max<std::int64_t>(1, inner));
  if (program.lane_axis() == 0)
    bound.grain = std::max<std::int64_t>(bound.grain, program.schedule.width);
  bound.scratch_bytes = program.scratch_bytes(row);
  bound.loop = TENON_TRY(codegen::KernelCache::instance().get(program));
  return bound;
}

void BoundProgram::run(std::span<const std::byte* const> inputs,
                       std::span<std::byte* const> outputs, ThreadPool& pool) const {
  pool.parallel_for(0, sizes[0], grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::byte*, 16> results{};
    std::copy(outputs.begin(), outputs.end(), results.begin());
    if (scratch_bytes) results[outputs.size()] = thread_scratch(scratch_bytes);
    loop.function(inputs.data(), results.data(), sizes.data(), strides.data(), begin, end);
  });
}

}  // namespace tenon::backends::cpu
