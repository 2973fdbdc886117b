// Shared by the movement pages: pages whose every output element is a copy of an input element.
#pragma once

#include "tenon/ops/op_page.h"

namespace tenon::ops {

/// A movement page with everything that movements have in common; refine the returned record.
inline OpPage movement(std::string_view name, std::string_view doc) {
  OpPage p;
  p.name = name;
  p.doc = doc;
  p.traits = {Trait::movement};
  p.decompose = none("core");
  p.cost = cost_movement;
  return p;
}

}  // namespace tenon::ops
