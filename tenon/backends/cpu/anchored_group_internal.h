// A node that is one product or convolution with the elementwise steps that follow it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/runtime/backend.h"

namespace tenon::backends::cpu {

/// What the region of a `fused` node (or a bare node) computes: anchor, then a chain of elementwise
/// steps. With `channels_last` the node's own input 0 and output are [n, spatial..., c], and the
/// anchor's [n, c, spatial...] is only its meaning.
struct AnchoredGroup {
  const Node* anchor = nullptr;
  bool channels_last = false;
  std::vector<int> arguments;          // input of the group for each of the anchor's, -1: absent
  std::vector<const Node*> epilogue;   // each reads the result before it
  const Value* made = nullptr;         // what the first step reads
  std::map<const Value*, int> inputs;  // the group's input that a value of the region is
  std::string label;                   // "conv + add + relu"

  /// The number that `v` is inside of the region, if it is one.
  static std::optional<double> number(const Value* v);
};

/// The group that `node` is, when its anchor is an operator that `is_anchor` names.
std::optional<AnchoredGroup> anchored_group(const Node& node, bool (*is_anchor)(const Node&));

/// "[0, 2, 3, 1]" for rank 4: the transpose to channels last, and back.
std::vector<std::int64_t> to_channels_last(int ndim);
std::vector<std::int64_t> from_channels_last(int ndim);

/// The extents that the anchor itself would see, channels first.
std::vector<Extent> anchor_inputs(const AnchoredGroup& g, std::span<const Extent> inputs);
Extent anchor_output(const AnchoredGroup& g, const Extent& output);

}  // namespace tenon::backends::cpu
