// Shared by the pages with regions: types that hold over all paths and iterations, stacking of what
// iterations give, and gradients by a scan that walks back.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// The least type that holds for values of type a and of type b: sizes that differ become
/// `<stem>_d<axis>`, unique for this node; different ranks give an unranked tensor; a value and an
/// optional give an optional. Invalid when element types or kinds differ.
Result<Type> cover(const Call& c, const Type& a, const Type& b, const std::string& stem);

/// Gives the inputs of region `index` these types, and known contents where the value that the node
/// hands in (`handed[i]`, an input number, or -1) has some; infers all of it again if that changed
/// anything.
Status infer_region(const Call& c, int index, const Types& types, const std::vector<int>& handed);

/// Values that go around a loop: region 0 takes `before`, the carried values, `after`; its outputs
/// from `first_output` on are the carried values of the next iteration. Gives types that hold in
/// every iteration, and leaves the region inferred under them. `handed` is as above, for `after`
/// alone.
Result<Types> carried_types(const Call& c, const Types& before, const Types& initial,
                            const Types& after, const std::vector<int>& handed, int first_output);

/// Types of node inputs [begin, end); absent ones are undefined.
Types input_types(const Call& c, int begin, int end);
/// begin, begin + 1, ... end - 1
std::vector<int> input_numbers(int begin, int end);

/// The slice of x at position i of `axis`, without that axis.
Tensor slice_at(const Tensor& x, int axis, std::int64_t i);
/// Equal tensors side by side along a new axis, the last one first if `reversed`. `type` is that of
/// one tensor and says what an empty stack looks like.
Result<Tensor> stack(const std::vector<Tensor>& parts, int axis, bool reversed, const Type& type);

/// Work of a region: that of its nodes.
Dim flops_of(const Graph& region);

/// The iterations of a loop or scan, as its gradient sees them. Region 0 takes (iteration,
/// condition) if `counts`, then states, slices, captures; it gives a condition if `counts`, states,
/// scan outputs.
struct Iterations {
  bool counts = false;
  int first_input = 0;  // of the node: states, then scanned inputs, then captures
  int num_states = 0, num_slices = 0;
  std::vector<std::int64_t> input_axes, output_axes;          // of scanned inputs and scan outputs
  std::vector<std::int64_t> input_reversed, output_reversed;  // 0 or 1
};
/// Gradients of the node inputs from `first_input` on: the loop once more with the states of every
/// iteration kept, then a scan backwards through the differentiated region.
Values gradient_of_iterations(Builder& b, const Call& c, const Iterations& loop, const Values& dys);

}  // namespace tenon::ops
