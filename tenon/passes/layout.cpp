// Permutations of axes.
#include "tenon/passes/layout.h"

#include "tenon/ir/operator.h"

namespace tenon::passes {

Perm to_channels_last(int ndim) {
  Perm perm = {0};
  for (int i = 2; i < ndim; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}
Perm from_channels_last(int ndim) {
  Perm perm = {0, ndim - 1};
  for (int i = 1; i + 1 < ndim; ++i) perm.push_back(i);
  return perm;
}
Perm inverse(const Perm& perm) {
  Perm out(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    out[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return out;
}

std::optional<Perm> perm_of(const Node* node) {
  if (!node || node->op().name != "transpose" || !node->input(0)->type().ranked())
    return std::nullopt;
  const auto* given = node->attrs().get<Attr::Integers>("perm");
  const int ndim = node->input(0)->type().ndim();
  Perm perm;
  for (int i = 0; i < ndim; ++i) {
    const std::int64_t p = given ? (*given)[static_cast<std::size_t>(i)] : ndim - 1 - i;
    perm.push_back(p < 0 ? p + ndim : p);
  }
  return perm;
}

bool moves_nothing(const Type& x, const Perm& perm) {
  std::int64_t last = -1;
  for (std::int64_t p : perm) {
    if (x.dim(static_cast<int>(p)) == Dim(1)) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

}  // namespace tenon::passes
