// Control flow of loop programs: kept axes, steps, row axes, lanes.
#include "tenon/codegen/llvm/program_emitter.h"

namespace tenon::codegen {

using llvm::BasicBlock;

ProgramEmitter::ProgramEmitter(const LoopProgram& program, llvm::Module& module,
                               const MathTarget& math)
    : program_(program),
      module_(module),
      context_(module.getContext()),
      b_(context_),
      math_(math) {}

std::string ProgramEmitter::run() {
  declare();
  kept(0);
  b_.CreateRetVoid();
  return problem_;
}

// for (i = begin; i < end; i += step) carried = body(i, carried)
ProgramEmitter::Carried ProgramEmitter::loop(Value* begin, Value* end, std::int64_t step,
                                             const Carried& starts, const Body& body) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock *inside = BasicBlock::Create(context_, "body", function_),
             *exit = BasicBlock::Create(context_, "exit", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, exit);
  b_.SetInsertPoint(inside);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  Carried carried;
  for (Value* s : starts) {
    phis.push_back(b_.CreatePHI(s->getType(), 2));
    phis.back()->addIncoming(s, before);
    carried.push_back(phis.back());
  }
  const Carried next = body(index, carried);
  Value* i = b_.CreateAdd(index, number(step), "", true, true);
  BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(i, end), inside, exit);
  index->addIncoming(i, latch);
  b_.SetInsertPoint(exit);
  Carried results;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    phis[k]->addIncoming(next[k], latch);
    llvm::PHINode* phi = b_.CreatePHI(starts[k]->getType(), 2);
    phi->addIncoming(starts[k], before);
    phi->addIncoming(next[k], latch);
    results.push_back(phi);
  }
  return results;
}

ProgramEmitter::Carried ProgramEmitter::when(Value* condition, const Carried& starts,
                                             const std::function<Carried()>& body) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock *inside = BasicBlock::Create(context_, "rest", function_),
             *exit = BasicBlock::Create(context_, "done", function_);
  b_.CreateCondBr(condition, inside, exit);
  b_.SetInsertPoint(inside);
  const Carried next = body();
  BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(exit);
  b_.SetInsertPoint(exit);
  Carried results;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    llvm::PHINode* phi = b_.CreatePHI(starts[k]->getType(), 2);
    phi->addIncoming(starts[k], before);
    phi->addIncoming(next[k], end);
    results.push_back(phi);
  }
  return results;
}

// Whole vectors, then what is left under a mask.
ProgramEmitter::Carried ProgramEmitter::over_lanes(Value* begin, Value* end, const Carried& starts,
                                                   const LaneBody& body) {
  const auto w = static_cast<std::int64_t>(width());
  Value* full = b_.CreateAdd(begin, b_.CreateAnd(b_.CreateSub(end, begin), number(-w)));
  const Carried carried =
      loop(begin, full, w, starts, [&](Value* i, const Carried& c) { return body(i, nullptr, c); });
  if (w == 1) return carried;
  return when(b_.CreateICmpSLT(full, end), carried, [&] {
    llvm::SmallVector<std::uint32_t, 64> lanes(width());
    for (unsigned k = 0; k < width(); ++k) lanes[k] = k;
    Value* left = b_.CreateTrunc(b_.CreateSub(end, full), b_.getInt32Ty());
    Value* mask = b_.CreateICmpULT(llvm::ConstantDataVector::get(context_, lanes),
                                   b_.CreateVectorSplat(width(), left));
    return body(full, mask, carried);
  });
}

void ProgramEmitter::kept(int axis) {
  Value* begin = axis == 0 ? static_cast<Value*>(function_->getArg(4)) : number(0);
  Value* end = axis == 0 ? static_cast<Value*>(function_->getArg(5))
                         : sizes_[static_cast<std::size_t>(axis)];
  if (across() && axis == program_.num_kept - 1) {
    over_lanes(begin, end, {}, [&](Value* first, Value* mask, const Carried&) {
      run_steps({advanced(base_, first, axis), nullptr, number(0), mask});
      return Carried{};
    });
    return;
  }
  loop(begin, end, 1, {}, [&](Value* i, const Carried&) {
    const std::vector<Value*> outer = base_;
    base_ = advanced(outer, i, axis);
    if (axis + 1 < program_.num_kept)
      kept(axis + 1);
    else
      run_steps({base_, nullptr, number(0), nullptr});
    base_ = outer;
    return Carried{};
  });
}

void ProgramEmitter::run_steps(const Place& place) {
  scalars_.assign(program_.scalars.size(), nullptr);
  for (const LoopStep& step : program_.steps) step.over_row ? pass(step, place) : once(step, place);
}

void ProgramEmitter::once(const LoopStep& step, const Place& place) {
  invariant_.clear();
  std::vector<Value*> x = values_for(step, place, across());
  ExprEmitter emitter(b_, x, math_, across() ? width() : 1);
  for (const LoopStatement& s : step.statements) {
    Value* v = emitter.emit(s.value);
    if (!v) {
      problem_ = emitter.problem();
      return;
    }
    const std::size_t scalar = x.size() - scalars_.size() + static_cast<std::size_t>(s.index);
    if (s.target == Target::scalar)  // later statements may read it
      scalars_[static_cast<std::size_t>(s.index)] = x[scalar] = v;
    else
      store(program_.inputs.size() + static_cast<std::size_t>(s.index), v, place, across());
  }
}

void ProgramEmitter::pass(const LoopStep& step, const Place& place) {
  invariant_.clear();
  Carried starts;
  for (const LoopStatement& s : step.statements) {
    if (s.target != Target::scalar) continue;
    starts.push_back(neutral(s));
    if (is_extreme(s)) starts.push_back(llvm::Constant::getNullValue(starts.back()->getType()));
  }
  const Carried sums = rows(step, program_.num_kept, place, starts);
  std::size_t k = 0;
  for (const LoopStatement& s : step.statements) {
    if (s.target != Target::scalar) continue;
    Value* sum = across() ? sums[k] : folded(s, sums[k]);
    ++k;
    if (is_extreme(s)) sum = with_nan(sum, sums[k++]);
    scalars_[static_cast<std::size_t>(s.index)] = sum;
  }
}

// The row axes from `axis` on.
ProgramEmitter::Carried ProgramEmitter::rows(const LoopStep& step, int axis, const Place& place,
                                             const Carried& starts) {
  if (axis == program_.num_axes()) return element(step, place, starts);
  Value* size = sizes_[static_cast<std::size_t>(axis)];
  Value* before = b_.CreateMul(place.row_index, size);
  if (!across() && axis == program_.num_axes() - 1) {
    invariant_.clear();
    values_for(step, place, true);  // loads what does not step, ahead of the loop
    return over_lanes(number(0), size, starts, [&](Value* first, Value* mask, const Carried& c) {
      return element(step, {place.at, first, b_.CreateAdd(before, first), mask}, c);
    });
  }
  return loop(number(0), size, 1, starts, [&](Value* i, const Carried& c) {
    return rows(step, axis + 1,
                {advanced(place.at, i, axis), nullptr, b_.CreateAdd(before, i), place.mask}, c);
  });
}

ProgramEmitter::Carried ProgramEmitter::element(const LoopStep& step, const Place& place,
                                                const Carried& accumulators) {
  const std::vector<Value*> x = values_for(step, place, true);
  ExprEmitter emitter(b_, x, math_, width());
  Carried next;
  for (const LoopStatement& s : step.statements) {
    Value* v = emitter.emit(s.value);
    if (!v) {
      problem_ = emitter.problem();
      v = llvm::PoisonValue::get(vector_of(compute_type(context_, s.value.dtype())));
    }
    const auto index = static_cast<std::size_t>(s.index);
    if (s.target == Target::scratch) {
      store_scratch(index, v, place);
    } else if (s.target == Target::output) {
      store(program_.inputs.size() + index, v, place, true);
    } else {
      accumulate(s, v, across() ? nullptr : place.mask, accumulators, next);
    }
  }
  return next;
}

// Appends the accumulators after `v`. The largest of floats comes with a second accumulator that
// catches NaN: a plain comparison is one instruction and drops them.
void ProgramEmitter::accumulate(const LoopStatement& s, Value* v, Value* mask,
                                const Carried& accumulators, Carried& next) {
  Value* acc = accumulators[next.size()];
  Value* sum = is_extreme(s) ? larger(s, v, acc) : combined(s, acc, v);
  next.push_back(mask ? b_.CreateSelect(mask, sum, acc) : sum);
  if (!is_extreme(s)) return;
  Value* is_nan = b_.CreateFCmpUNO(v, v);
  if (mask) is_nan = b_.CreateAnd(mask, is_nan);
  next.push_back(b_.CreateSelect(is_nan, v, accumulators[next.size()]));
}

}  // namespace tenon::codegen
