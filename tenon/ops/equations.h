// Einsum equations: letters name axes, equal letters are multiplied together, letters that the
// result lacks are summed. Axes under an ellipsis get the letters '0' (the last), '1', ...
#pragma once

#include <string>

#include "tenon/ops/op_page.h"

namespace tenon::ops {

struct Equation {
  std::vector<std::string> inputs;  // letters of each operand, one for each axis
  std::string output;
  /// Letters of all operands, each once: the output's first.
  std::string letters() const;
  std::string text() const;
};

/// Parses an equation for operands of the given ranks. Without "->" the output has the ellipsis,
/// then the letters that occur exactly once, sorted.
Result<Equation> parse_equation(std::string_view text, const std::vector<int>& ndims);
/// The equation of an einsum call.
Result<Equation> equation_of(const Call& c);
/// The equation that gives operand `input` its gradient from (dy, the other operands, ones): ones
/// has the axes that only this operand has. The result has the operand's letters, each once.
Equation gradient_equation(const Equation& e, std::size_t input);
/// Letters of operand `input` that neither the output nor other operands have, each once.
std::string lonely_letters(const Equation& e, std::size_t input);
/// `text` without repetitions, in order of first occurrence.
std::string distinct(std::string_view text);

/// Einsum by transposes, reshapes and matrix products, from left to right.
Value* contract_all(B g, const Equation& e, const Values& operands);

}  // namespace tenon::ops
