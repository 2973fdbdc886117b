// Shared by argmax and argmin.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// Positions of the largest (or least) elements along the call's axis, i64.
Result<Datums> find_extreme(const EvalCall& e, bool largest);
/// A page that searches along `axis`, without its meaning.
OpPage position_page(std::string_view name, std::string_view doc);

}  // namespace tenon::ops
