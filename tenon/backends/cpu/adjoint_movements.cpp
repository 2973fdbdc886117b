// The adjoints of gather and slice: rows added into zeros, and zeros with a cut written.
#include <cstring>

#include "tenon/backends/cpu/picking_internal.h"
#include "tenon/backends/cpu/strided_copy_internal.h"
#include "tenon/ops/slices.h"

namespace tenon::backends::cpu {
namespace {

// x[a, indices[i], b] += dy[a, i, b] over zeros; split along b or a, where threads never meet.
class GatherAdjoint : public Launch {
 public:
  GatherAdjoint(const Extent& x, const Extent& indices, std::size_t axis)
      : outer_(product(x.dims, 0, axis)),
        size_(x.dims[axis]),
        inner_(product(x.dims, axis + 1, x.dims.size())),
        picks_(indices.count()),
        bytes_(x.bytes()),
        element_(static_cast<std::size_t>(size_of(x.dtype))),
        index_(indices.dtype),
        run_(meet_run(x.dtype)) {}
  Status run(const Frame& frame) const override {
    if (bytes_) std::memset(frame.outputs[0], 0, bytes_);
    const Indices indices(frame.inputs[1], index_);
    const auto rows = [&](std::int64_t a, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < picks_; ++i)
        run_(frame.outputs[0] +
                 static_cast<std::size_t>((a * size_ + indices.at(i, size_)) * inner_ + begin) *
                     element_,
             frame.inputs[0] +
                 static_cast<std::size_t>((a * picks_ + i) * inner_ + begin) * element_,
             end - begin, Meet::add);
    };
    if (outer_ >= inner_)
      frame.pool.parallel_for(0, outer_, grain_for(picks_ * inner_),
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t a = begin; a < end; ++a) rows(a, 0, inner_);
                              });
    else
      frame.pool.parallel_for(0, inner_, grain_for(picks_ * outer_),
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t a = 0; a < outer_; ++a) rows(a, begin, end);
                              });
    return indices.status("gather_adjoint");
  }

 private:
  std::int64_t outer_, size_, inner_, picks_;
  std::size_t bytes_, element_;
  DType index_;
  MeetRun run_;
};

// Zeros, then dy with the strides of a cut.
class SliceAdjoint : public Launch {
 public:
  SliceAdjoint(StridedCopy copy, const Extent& x)
      : copy_(std::move(copy)),
        bytes_(x.bytes()),
        size_(static_cast<std::size_t>(size_of(x.dtype))) {
    copy_.simplify();
  }
  Status run(const Frame& frame) const override {
    if (bytes_) std::memset(frame.outputs[0], 0, bytes_);
    copy_.run(frame.inputs[0], frame.outputs[0], size_, frame.pool);
    return {};
  }

 private:
  StridedCopy copy_;
  std::size_t bytes_, size_;
};

}  // namespace

Result<LaunchPtr> bind_gather_adjoint(const Node& node, std::span<const Extent> in,
                                      std::span<const Extent> out) {
  if (out[0].count() == 0) return unsupported("empty tensors are interpreted");
  return LaunchPtr(
      std::make_unique<GatherAdjoint>(out[0], in[1], axis_of(node, out[0].dims.size())));
}

Result<LaunchPtr> bind_slice_adjoint(const Node&, std::span<const Extent> in,
                                     std::span<const Extent> out) {
  const Dims &x = out[0].dims, strides = row_major_strides(x);
  const auto starts = to_int64s(in[2].value), ends = to_int64s(in[3].value);
  std::vector<std::int64_t> axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (in.size() > 4 && in[4].present()) axes = to_int64s(in[4].value);
  if (in.size() > 5 && in[5].present()) steps = to_int64s(in[5].value);
  StridedCopy copy{in[0].dims, row_major_strides(in[0].dims), strides, 0, 0};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(
        axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(x.size()) : axes[i]);
    if (a >= x.size() || steps[i] == 0)
      return invalid("slice_adjoint: axis {} or step {} is out of range", axes[i], steps[i]);
    const ops::Cut cut = ops::cut_of(starts[i], ends[i], steps[i], x[a]);
    copy.to_offset += cut.start * strides[a];
    copy.to_strides[a] = cut.step * strides[a];
  }
  if (in[0].count() == 0) copy.to_offset = 0;
  return LaunchPtr(std::make_unique<SliceAdjoint>(std::move(copy), out[0]));
}

}  // namespace tenon::backends::cpu
