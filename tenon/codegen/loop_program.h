// The kernel IR: a sequence of loop nests that share outer axes, with row-local scalars and
// scratch.
//
//   for k0 in [begin, end): for k1 < sizes[1]: ...            kept axes
//     step 0, over the row:  for r0: for r1: ...              row axes
//       scalar s0 = combine(s0, expr(inputs)); scratch[r] = expr; output[k, r] = expr
//     step 1, once:          scalar s1 = expr(s0, inputs)
//     step 2, over the row:  output[k, r] = expr(inputs, s1, scratch[r])
//
// Softmax is three such steps over one row, a sum along columns is one step, and an elementwise
// group has a single step and no row. Sizes and strides are arguments of the kernel, so one kernel
// serves every shape of a pattern; how it is vectorised is data beside it.
#pragma once

#include "tenon/codegen/loop_nest.h"
#include "tenon/machine/host_cpu.h"

namespace tenon::codegen {

/// Which axis the lanes of a vector are: the last row axis (sums end in a sum over lanes), or the
/// last kept axis (every lane is a row of its own).
enum class Lanes : std::uint8_t { along_row, across_rows };

enum class Target : std::uint8_t { scalar, scratch, output };

/// One result of a step. Operands of `value`, by number: the program's inputs, then its scratch
/// rows, then its scalars. Statements of a step that runs once see the scalars of earlier ones.
struct LoopStatement {
  Expr value;
  Target target = Target::output;
  int index = 0;                    // of the scalar, scratch row or output
  Combine combine = Combine::none;  // scalars of a step over the row: how elements come together
};

struct LoopStep {
  bool over_row = false;  // else once for each row: scalars, and outputs without row axes
  std::vector<LoopStatement> statements;
};

/// How a program becomes code.
struct LoopSchedule {
  int width = 1;  // elements that one iteration of the innermost loop handles, a power of two
};

struct LoopProgram {
  int num_kept = 1;
  int num_row = 0;  // row axes follow the kept ones
  Lanes lanes = Lanes::across_rows;
  LoopSchedule schedule;
  std::vector<LoopOperand> inputs, outputs;  // `inner` speaks of the axis of the lanes
  std::vector<DType> scalars, scratch;
  std::vector<LoopStep> steps;

  int num_axes() const { return num_kept + num_row; }
  int lane_axis() const { return lanes == Lanes::along_row ? num_axes() - 1 : num_kept - 1; }
  /// Canonical: equal text, equal code.
  std::string text() const;
  /// Bytes that a run needs behind the outputs' pointers (outputs[outputs.size()]) when a row has
  /// `row_elements`; 0 without scratch rows.
  std::size_t scratch_bytes(std::int64_t row_elements) const;
};

/// A program of one step for a nest.
LoopProgram program_of(const LoopNest& nest);
/// The width that suits the instruction set and the operations of the program.
LoopSchedule default_schedule(const LoopProgram& program, Isa isa);
/// Numbers of the operands that expressions read, ascending.
std::vector<int> operands_of(const Exprs& exprs);
/// Bytes of one element of a scratch row.
std::size_t scratch_size(DType dtype);

}  // namespace tenon::codegen
