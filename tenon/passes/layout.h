// Axes in another order: permutations as transposes write them (axis k of y is axis perm[k] of x).
#pragma once

#include <optional>
#include <vector>

#include "tenon/ir/graph.h"

namespace tenon::passes {

using Perm = std::vector<std::int64_t>;

/// [n, c, spatial...] to [n, spatial..., c], and back.
Perm to_channels_last(int ndim);
Perm from_channels_last(int ndim);
Perm inverse(const Perm& perm);

/// The permutation of a transpose of known rank; nothing for other nodes.
std::optional<Perm> perm_of(const Node* node);
/// Whether a transpose of `x` by `perm` moves axes of size 1 only, so that no element moves.
bool moves_nothing(const Type& x, const Perm& perm);

}  // namespace tenon::passes
