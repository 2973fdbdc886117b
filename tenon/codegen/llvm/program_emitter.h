// Loop programs as LLVM functions.
#pragma once

#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tenon/codegen/llvm/expr_emitter.h"
#include "tenon/codegen/loop_program.h"

namespace tenon::codegen {

/// Builds the function "kernel" of one program, with vectors of the schedule's width spelled out:
/// nothing hangs on what a vectoriser recognises.
class ProgramEmitter {
 public:
  ProgramEmitter(const LoopProgram& program, llvm::Module& module, const MathTarget& math);
  /// Returns "" or the problem.
  std::string run();

 private:
  using Value = llvm::Value;
  using Carried = std::vector<Value*>;
  using Body = std::function<Carried(Value* index, const Carried&)>;
  // Lanes in use: all when mask is nullptr.
  using LaneBody = std::function<Carried(Value* first, Value* mask, const Carried&)>;
  // Where the elements of one iteration are: pointers of all operands, and for the operands whose
  // lanes step, the position of the first lane along the axis of lanes.
  struct Place {
    std::vector<Value*> at;
    Value* lane = nullptr;       // added to pointers that step; nullptr: pointers are exact
    Value* row_index = nullptr;  // of the first lane, within the row
    Value* mask = nullptr;
  };

  // control flow
  Carried loop(Value* begin, Value* end, std::int64_t step, const Carried& starts,
               const Body& body);
  Carried when(Value* condition, const Carried& starts, const std::function<Carried()>& body);
  Carried over_lanes(Value* begin, Value* end, const Carried& starts, const LaneBody& body);
  void kept(int axis);
  void run_steps(const Place& place);
  void once(const LoopStep& step, const Place& place);
  void pass(const LoopStep& step, const Place& place);
  Carried rows(const LoopStep& step, int axis, const Place& place, const Carried& starts);
  Carried element(const LoopStep& step, const Place& place, const Carried& accumulators);

  // operands
  void declare();
  Value* number(std::int64_t v);
  Value* entry(Value* table, std::size_t i, llvm::Type* type);
  Value* stride(std::size_t operand, int axis) const;
  std::vector<Value*> advanced(const std::vector<Value*>& bases, Value* index, int axis);
  const LoopOperand& operand(std::size_t i) const;
  llvm::Type* element_type(std::size_t i);
  llvm::Type* vector_of(llvm::Type* type);
  Value* splat(Value* x);
  Value* lane_pointers(std::size_t i, const Place& place);
  Value* load(std::size_t i, const Place& place, bool as_vector);
  void store(std::size_t i, Value* v, const Place& place, bool as_vector);
  llvm::Type* scratch_type(std::size_t i);
  Value* scratch_pointer(std::size_t i, const Place& place);
  Value* load_scratch(std::size_t i, const Place& place);
  void store_scratch(std::size_t i, Value* v, const Place& place);
  std::vector<Value*> values_for(const LoopStep& step, const Place& place, bool as_vector);

  // sums
  Value* neutral(const LoopStatement& s);
  Value* combined(const LoopStatement& s, Value* a, Value* b);
  Value* folded(const LoopStatement& s, Value* lanes);
  static bool is_extreme(const LoopStatement& s);
  Value* larger(const LoopStatement& s, Value* v, Value* acc);
  Value* with_nan(Value* extreme, Value* caught);
  void accumulate(const LoopStatement& s, Value* v, Value* mask, const Carried& accumulators,
                  Carried& next);

  bool across() const { return program_.lanes == Lanes::across_rows; }
  unsigned width() const { return static_cast<unsigned>(program_.schedule.width); }

  const LoopProgram& program_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  MathTarget math_;
  llvm::Function* function_ = nullptr;
  std::vector<Value*> base_, sizes_, strides_, scratch_, scalars_;
  std::map<std::size_t, Value*> invariant_;  // operands that do not step in the innermost loop
  std::string problem_;
};

}  // namespace tenon::codegen
