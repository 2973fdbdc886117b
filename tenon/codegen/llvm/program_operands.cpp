// Loads, stores and sums of loop programs.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "tenon/codegen/llvm/program_emitter.h"

namespace tenon::codegen {

void ProgramEmitter::declare() {
  llvm::Type* p = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {p, p, p, p, i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", module_);
  function_->addFnAttr("no-builtins");                    // loops stay loops: no calls to memcpy
  function_->addFnAttr("min-legal-vector-width", "512");  // the schedule chose the width already
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  Value *in = function_->getArg(0), *out = function_->getArg(1), *sizes = function_->getArg(2),
        *strides = function_->getArg(3);
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) base_.push_back(entry(in, i, p));
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) base_.push_back(entry(out, i, p));
  const auto axes = static_cast<std::size_t>(program_.num_axes());
  for (std::size_t a = 0; a < axes; ++a) sizes_.push_back(entry(sizes, a, i64));
  for (std::size_t i = 0; i < base_.size(); ++i)
    for (std::size_t a = 0; a < axes; ++a) {
      // The stride along the lanes is known to the pattern.
      const bool known =
          static_cast<int>(a) == program_.lane_axis() && operand(i).inner != InnerStride::any;
      strides_.push_back(known ? number(operand(i).inner == InnerStride::one)
                               : entry(strides, i * axes + a, i64));
    }
  if (program_.scratch.empty()) return;
  Value* memory = entry(out, program_.outputs.size(), p);
  Value* count = number(across() ? static_cast<std::int64_t>(width()) : 1);
  for (int a = program_.num_kept; a < program_.num_axes(); ++a)
    count = b_.CreateMul(count, sizes_[static_cast<std::size_t>(a)]);
  for (DType d : program_.scratch) {  // each row padded as LoopProgram::scratch_bytes says
    scratch_.push_back(memory);
    Value* bytes = b_.CreateMul(count, number(static_cast<std::int64_t>(scratch_size(d))));
    Value* padded = b_.CreateAnd(b_.CreateAdd(bytes, number(63)), number(-64));
    memory = b_.CreateInBoundsGEP(b_.getInt8Ty(), memory, padded);
  }
}

llvm::Value* ProgramEmitter::number(std::int64_t v) {
  return llvm::ConstantInt::get(b_.getInt64Ty(), static_cast<std::uint64_t>(v), true);
}
llvm::Value* ProgramEmitter::entry(Value* table, std::size_t i, llvm::Type* type) {
  return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(type, table, i));
}
llvm::Value* ProgramEmitter::stride(std::size_t i, int axis) const {
  return strides_[i * static_cast<std::size_t>(program_.num_axes()) +
                  static_cast<std::size_t>(axis)];
}
const LoopOperand& ProgramEmitter::operand(std::size_t i) const {
  return i < program_.inputs.size() ? program_.inputs[i]
                                    : program_.outputs[i - program_.inputs.size()];
}
llvm::Type* ProgramEmitter::element_type(std::size_t i) {
  return memory_type(context_, operand(i).dtype);
}
llvm::Type* ProgramEmitter::vector_of(llvm::Type* type) {
  return width() == 1 ? type : llvm::FixedVectorType::get(type, width());
}
llvm::Value* ProgramEmitter::splat(Value* x) {
  return width() == 1 ? x : b_.CreateVectorSplat(width(), x);
}

std::vector<llvm::Value*> ProgramEmitter::advanced(const std::vector<Value*>& bases, Value* index,
                                                   int axis) {
  std::vector<Value*> out;
  for (std::size_t i = 0; i < bases.size(); ++i)
    out.push_back(
        b_.CreateInBoundsGEP(element_type(i), bases[i], b_.CreateMul(index, stride(i, axis))));
  return out;
}

// One pointer for each lane, of an operand whose lanes are neither neighbours nor one element.
llvm::Value* ProgramEmitter::lane_pointers(std::size_t i, const Place& place) {
  llvm::SmallVector<std::uint64_t, 64> lanes(width());
  for (unsigned k = 0; k < width(); ++k) lanes[k] = k;
  Value* index = llvm::ConstantDataVector::get(context_, lanes);
  if (place.lane) index = b_.CreateAdd(index, splat(place.lane));
  Value* offsets = b_.CreateMul(index, splat(stride(i, program_.lane_axis())));
  return b_.CreateGEP(element_type(i), place.at[i], offsets);
}

llvm::Value* ProgramEmitter::load(std::size_t i, const Place& place, bool as_vector) {
  const DType d = operand(i).dtype;
  const InnerStride inner = operand(i).inner;
  if (!as_vector) return widen(b_, b_.CreateLoad(element_type(i), place.at[i]), d);
  if (inner == InnerStride::zero) {
    auto it = invariant_.find(i);
    if (it != invariant_.end()) return it->second;
    Value* v = splat(widen(b_, b_.CreateLoad(element_type(i), place.at[i]), d));
    return invariant_[i] = v;
  }
  const llvm::Align align(static_cast<std::uint64_t>(size_of(d)));
  llvm::Type* type = vector_of(element_type(i));
  Value* pointer = place.at[i];
  if (width() == 1 || inner == InnerStride::one) {
    if (place.lane)
      pointer = b_.CreateInBoundsGEP(element_type(i), pointer,
                                     b_.CreateMul(place.lane, stride(i, program_.lane_axis())));
    Value* v = place.mask
                   ? static_cast<Value*>(b_.CreateMaskedLoad(type, pointer, align, place.mask,
                                                             llvm::Constant::getNullValue(type)))
                   : b_.CreateAlignedLoad(type, pointer, align);
    return widen(b_, v, d);
  }
  Value* v = b_.CreateMaskedGather(type, lane_pointers(i, place), align, place.mask,
                                   llvm::Constant::getNullValue(type));
  return widen(b_, v, d);
}

void ProgramEmitter::store(std::size_t i, Value* computed, const Place& place, bool as_vector) {
  const DType d = operand(i).dtype;
  const InnerStride inner = operand(i).inner;
  Value* v = narrow(b_, computed, d);
  const llvm::Align align(static_cast<std::uint64_t>(size_of(d)));
  if (!as_vector) {
    b_.CreateAlignedStore(v, place.at[i], align);
    return;
  }
  Value* pointer = place.at[i];
  if (width() == 1 || inner == InnerStride::one) {
    if (place.lane)
      pointer = b_.CreateInBoundsGEP(element_type(i), pointer,
                                     b_.CreateMul(place.lane, stride(i, program_.lane_axis())));
    if (place.mask)
      b_.CreateMaskedStore(v, pointer, align, place.mask);
    else
      b_.CreateAlignedStore(v, pointer, align);
  } else if (inner == InnerStride::zero) {  // every lane has the same element: the first writes it
    b_.CreateAlignedStore(b_.CreateExtractElement(v, std::uint64_t{0}), pointer, align);
  } else {
    b_.CreateMaskedScatter(v, lane_pointers(i, place), align, place.mask);
  }
}

llvm::Type* ProgramEmitter::scratch_type(std::size_t i) {
  const DType d = program_.scratch[i];
  return d == DType::boolean ? b_.getInt8Ty() : compute_type(context_, d);
}

// scratch[row index][lane] across rows, scratch[row index + lane] along one.
llvm::Value* ProgramEmitter::scratch_pointer(std::size_t i, const Place& place) {
  Value* index = across() ? b_.CreateMul(place.row_index, number(width())) : place.row_index;
  return b_.CreateInBoundsGEP(scratch_type(i), scratch_[i], index);
}

// Lanes that are off hold padding: across rows every line has `width` places, and along a row the
// mask keeps within it.
llvm::Value* ProgramEmitter::load_scratch(std::size_t i, const Place& place) {
  llvm::Type* type = vector_of(scratch_type(i));
  const llvm::Align align(scratch_size(program_.scratch[i]));
  Value* pointer = scratch_pointer(i, place);
  Value* v = place.mask && !across()
                 ? static_cast<Value*>(b_.CreateMaskedLoad(type, pointer, align, place.mask,
                                                           llvm::Constant::getNullValue(type)))
                 : b_.CreateAlignedLoad(type, pointer, align);
  if (program_.scratch[i] == DType::boolean)
    return b_.CreateICmpNE(v, llvm::Constant::getNullValue(type));
  return v;
}
void ProgramEmitter::store_scratch(std::size_t i, Value* v, const Place& place) {
  if (program_.scratch[i] == DType::boolean) v = b_.CreateZExt(v, vector_of(b_.getInt8Ty()));
  const llvm::Align align(scratch_size(program_.scratch[i]));
  Value* pointer = scratch_pointer(i, place);
  if (place.mask && !across())
    b_.CreateMaskedStore(v, pointer, align, place.mask);
  else
    b_.CreateAlignedStore(v, pointer, align);
}

// Values of the operands that a step reads; the others stay nullptr. Before the innermost loop
// (place.lane unset while lanes run along the row) only what does not step is loaded.
std::vector<llvm::Value*> ProgramEmitter::values_for(const LoopStep& step, const Place& place,
                                                     bool as_vector) {
  const std::size_t inputs = program_.inputs.size(), rows = inputs + program_.scratch.size();
  std::vector<Value*> x(rows + scalars_.size(), nullptr);
  Exprs exprs;
  for (const LoopStatement& s : step.statements) exprs.push_back(s.value);
  const bool ahead = as_vector && !across() && !place.lane;
  for (int n : operands_of(exprs)) {
    const auto i = static_cast<std::size_t>(n);
    if (i < inputs) {
      if (!ahead || operand(i).inner == InnerStride::zero) x[i] = load(i, place, as_vector);
    } else if (i >= rows) {
      Value* s = scalars_[i - rows];
      x[i] = as_vector && !across() ? splat(s) : s;
    } else if (!ahead) {
      x[i] = load_scratch(i - inputs, place);
    }
  }
  return x;
}

namespace {

llvm::Constant* extreme_of(llvm::Type* t, DType d, bool largest) {
  if (t->isFloatingPointTy()) return llvm::ConstantFP::getInfinity(t, !largest);
  const unsigned bits = t->getIntegerBitWidth();
  const bool no_sign = class_of(d) != DTypeClass::signed_integer;
  if (largest)
    return llvm::ConstantInt::get(
        t, no_sign ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits));
  return llvm::ConstantInt::get(
      t, no_sign ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits));
}

ScalarOp op_of(Combine c) {
  return c == Combine::sum    ? ScalarOp::add
         : c == Combine::prod ? ScalarOp::mul
         : c == Combine::max  ? ScalarOp::max
                              : ScalarOp::min;
}

}  // namespace

llvm::Value* ProgramEmitter::neutral(const LoopStatement& s) {
  const DType d = s.value.dtype();
  llvm::Type* t = compute_type(context_, d);
  if (s.combine == Combine::max || s.combine == Combine::min)
    return splat(extreme_of(t, d, s.combine == Combine::min));
  const bool is_product = s.combine == Combine::prod;
  if (t->isFloatingPointTy()) return splat(llvm::ConstantFP::get(t, is_product ? 1.0 : 0.0));
  return splat(llvm::ConstantInt::get(t, is_product ? 1 : 0));
}

llvm::Value* ProgramEmitter::combined(const LoopStatement& s, Value* a, Value* b) {
  const DType d = s.value.dtype();
  const std::vector<Value*> args = {a, b};
  const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  ExprEmitter emitter(b_, args, math_, v ? v->getNumElements() : 1);
  return emitter.emit(Expr::make(op_of(s.combine), d, {Expr::input(0, d), Expr::input(1, d)}));
}

bool ProgramEmitter::is_extreme(const LoopStatement& s) {
  return (s.combine == Combine::max || s.combine == Combine::min) && is_floating(s.value.dtype());
}
// The larger (or smaller) of v and acc where v is a number, else acc.
llvm::Value* ProgramEmitter::larger(const LoopStatement& s, Value* v, Value* acc) {
  Value* takes = s.combine == Combine::max ? b_.CreateFCmpOGT(v, acc) : b_.CreateFCmpOLT(v, acc);
  return b_.CreateSelect(takes, v, acc);
}
// `caught` holds a NaN in some lane, or numbers only.
llvm::Value* ProgramEmitter::with_nan(Value* extreme, Value* caught) {
  if (!across())
    for (unsigned half = width() / 2; half >= 1; half /= 2) {
      llvm::SmallVector<int, 32> low(half), high(half);
      for (unsigned k = 0; k < half; ++k)
        low[k] = static_cast<int>(k), high[k] = static_cast<int>(k + half);
      caught =
          b_.CreateFAdd(b_.CreateShuffleVector(caught, low), b_.CreateShuffleVector(caught, high));
    }
  if (!across() && width() > 1) caught = b_.CreateExtractElement(caught, std::uint64_t{0});
  return b_.CreateSelect(b_.CreateFCmpUNO(caught, caught), caught, extreme);
}

// All lanes together, halves upon halves: an order that the code fixes.
llvm::Value* ProgramEmitter::folded(const LoopStatement& s, Value* lanes) {
  for (unsigned half = width() / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int, 32> low(half), high(half);
    for (unsigned k = 0; k < half; ++k)
      low[k] = static_cast<int>(k), high[k] = static_cast<int>(k + half);
    Value *a = b_.CreateShuffleVector(lanes, low), *b = b_.CreateShuffleVector(lanes, high);
    lanes = is_extreme(s) ? larger(s, b, a) : combined(s, a, b);
  }
  return width() == 1 ? lanes : b_.CreateExtractElement(lanes, std::uint64_t{0});
}

}  // namespace tenon::codegen
