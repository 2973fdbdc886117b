// All operators, in the order of manifest.def.
#pragma once

#include "tenon/ir/operator.h"

namespace tenon::ops {

/// The table of every page. Built on first use; also installs the interpreter for symbolic
/// contents.
const OperatorTable& table();
/// Every operator, sorted by name.
const std::vector<const Operator*>& all();
/// The operator, or nullptr.
const Operator* find(std::string_view name);

}  // namespace tenon::ops
