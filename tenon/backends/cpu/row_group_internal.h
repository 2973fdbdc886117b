// Fused groups that reduce rows, as loop programs.
#pragma once

#include <string>
#include <vector>

#include "tenon/codegen/loop_program.h"
#include "tenon/ir/graph.h"

namespace tenon::backends::cpu {

/// How an operand or result of a group lies against the group's full shape.
enum class RowRole : std::uint8_t {
  aligned,  // broadcasts against the full shape, at the right
  short_    // the shape without the row axes
};

/// A region as a program. The full shape is that of every value that is reduced; the row axes are
/// those that the reductions fold.
struct RowGroup {
  std::vector<int> row_axes;  // of the full shape, ascending
  int ndim = 0;               // of the full shape
  std::vector<RowRole> inputs, outputs;
  std::vector<bool> reads;          // whether the program reads input i at all
  bool writes_output_last = false;  // output 0 is a row that the last pass writes
  codegen::LoopProgram program;     // lanes, schedule and inner strides are still open
  int num_operations = 0;
};

/// invalid: the region is no such group, and why.
Result<RowGroup> row_group_of(const Graph& region);

}  // namespace tenon::backends::cpu
