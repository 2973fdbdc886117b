// The elementwise steps after a product or convolution: as oneDNN's post-ops as far as it has them,
// the rest as a generated loop over the result.
#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>

#include "tenon/backends/cpu/anchored_group_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"

namespace tenon::backends::cpu {

/// Sizes and strides of an operand, aligned with the axes of the group's output; 1 and 0 where it
/// is broadcast.
struct AlignedOperand {
  Dims dims, strides;
};
AlignedOperand aligned_operand(const Dims& dims, const Dims& out);

/// Describes an operand to oneDNN in the anchor's axes; nothing where oneDNN cannot take it.
using DescribeOperand = std::function<std::optional<dnnl::memory::desc>(const AlignedOperand&)>;

/// The first steps as post-ops of a primitive.
struct PostSteps {
  struct Operand {
    int argument;  // oneDNN's execution argument
    int input;     // of the group
    dnnl::memory::desc desc;
    AlignedOperand shape;
  };
  dnnl::post_ops ops;
  std::vector<Operand> operands;
  std::size_t taken = 0;  // steps
};

/// Takes steps from the front, at most `limit`, as long as oneDNN has them. `part` are the sizes of
/// the output that one primitive makes, `out` the whole's.
PostSteps post_steps(const AnchoredGroup& g, std::span<const Extent> inputs, const Dims& out,
                     const Dims& part, const DescribeOperand& describe, std::size_t limit);

/// The steps from `first` on, in place over the whole output. Nothing left: an empty loop.
class RestLoop {
 public:
  RestLoop() = default;
  static Result<RestLoop> make(const AnchoredGroup& g, std::span<const Extent> inputs,
                               const Extent& out, std::size_t first);
  bool empty() const { return inputs_.empty(); }
  void run(const Frame& frame) const;
  /// Makes run_part(frame, i) do the i-th of `parts` equal parts of the output, where the loop can
  /// be cut there; is_split() tells.
  void split_over(std::int64_t parts);
  bool is_split() const { return unit_ > 0; }
  void run_part(const Frame& frame, std::int64_t part) const;

 private:
  void pointers(const Frame& frame, const std::byte** from) const;
  BoundLoop loop_;
  std::int64_t unit_ = 0;    // steps of the loop's first axis in a part, 0: not cut
  std::vector<int> inputs_;  // of the group, -1: the output itself
};

}  // namespace tenon::backends::cpu
