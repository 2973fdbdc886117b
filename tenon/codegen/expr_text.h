// Canonical text of expressions, and substitution of their operands.
#pragma once

#include <string>

#include "tenon/codegen/loop_nest.h"

namespace tenon::codegen {

/// Shared subtrees are printed once. Equal text, equal code.
std::string expr_text(const Expr& e);
/// "f321": element type and stride along the lanes.
std::string operand_text(const LoopOperand& operand);
/// `e` with operand i replaced by inputs[i].
Expr with_inputs(const Expr& e, const Exprs& inputs);

}  // namespace tenon::codegen
