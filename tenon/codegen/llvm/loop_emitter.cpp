// Loop nests as LLVM functions, optimised and written as native objects.
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <limits>
#include <mutex>

#include "tenon/codegen/emitter.h"
#include "tenon/codegen/llvm/expr_emitter.h"

namespace tenon::codegen {
namespace {

using llvm::BasicBlock;
using llvm::IRBuilder;
using llvm::Value;

// Builds the function of one nest.
class LoopEmitter {
 public:
  LoopEmitter(const LoopNest& nest, llvm::Module& module)
      : nest_(nest), module_(module), context_(module.getContext()), b_(context_) {}

  // Returns "" or the problem.
  std::string run() {
    declare();
    const int last_kept = nest_.num_axes - nest_.num_reduced - 1;
    nest_kept(0, last_kept);
    b_.CreateRetVoid();
    return problem_;
  }

 private:
  struct Loop {
    BasicBlock *body, *exit;
    llvm::PHINode* index;
    std::vector<llvm::PHINode*> carried;
  };

  llvm::Type* i64() { return b_.getInt64Ty(); }
  Value* number(std::int64_t v) {
    return llvm::ConstantInt::get(i64(), static_cast<std::uint64_t>(v), true);
  }
  Value* entry(Value* table, std::size_t i, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(type, table, i));
  }
  std::size_t num_operands() const { return nest_.inputs.size() + nest_.outputs.size(); }
  const LoopOperand& operand(std::size_t i) const {
    return i < nest_.inputs.size() ? nest_.inputs[i] : nest_.outputs[i - nest_.inputs.size()];
  }
  llvm::Type* element(std::size_t i) { return memory_type(context_, operand(i).dtype); }

  void declare() {
    llvm::Type* p = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {p, p, p, p, i64(), i64()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", module_);
    function_->addFnAttr("no-builtins");  // loops stay loops: no calls to memcpy
    b_.SetInsertPoint(BasicBlock::Create(context_, "entry", function_));
    Value *in = function_->getArg(0), *out = function_->getArg(1), *sizes = function_->getArg(2),
          *strides = function_->getArg(3);
    for (std::size_t i = 0; i < nest_.inputs.size(); ++i) base_.push_back(entry(in, i, p));
    for (std::size_t i = 0; i < nest_.outputs.size(); ++i) base_.push_back(entry(out, i, p));
    for (int a = 0; a < nest_.num_axes; ++a)
      sizes_.push_back(entry(sizes, static_cast<std::size_t>(a), i64()));
    for (std::size_t i = 0; i < num_operands(); ++i)
      for (int a = 0; a < nest_.num_axes; ++a) strides_.push_back(stride(strides, i, a));
  }
  // The innermost stride is known to the pattern, so that the vectoriser sees it.
  Value* stride(Value* table, std::size_t i, int axis) {
    const bool inner = axis == nest_.num_axes - 1;
    if (inner && operand(i).inner == InnerStride::zero) return number(0);
    if (inner && operand(i).inner == InnerStride::one) return number(1);
    return entry(table,
                 i * static_cast<std::size_t>(nest_.num_axes) + static_cast<std::size_t>(axis),
                 i64());
  }
  Value* stride_of(std::size_t i, int axis) {
    return strides_[i * static_cast<std::size_t>(nest_.num_axes) + static_cast<std::size_t>(axis)];
  }

  Loop open(Value* begin, Value* end, const std::vector<Value*>& starts) {
    BasicBlock* before = b_.GetInsertBlock();
    Loop loop{BasicBlock::Create(context_, "body", function_),
              BasicBlock::Create(context_, "exit", function_),
              nullptr,
              {}};
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop.body, loop.exit);
    b_.SetInsertPoint(loop.body);
    loop.index = b_.CreatePHI(i64(), 2);
    loop.index->addIncoming(begin, before);
    for (Value* s : starts) {
      loop.carried.push_back(b_.CreatePHI(s->getType(), 2));
      loop.carried.back()->addIncoming(s, before);
    }
    before_.push_back(before);
    starts_.push_back(starts);
    return loop;
  }
  // Returns the carried values after the loop.
  std::vector<Value*> close(const Loop& loop, Value* end, const std::vector<Value*>& next,
                            bool innermost) {
    Value* i = b_.CreateAdd(loop.index, number(1), "", true, true);
    BasicBlock* latch = b_.GetInsertBlock();
    llvm::BranchInst* branch = b_.CreateCondBr(b_.CreateICmpSLT(i, end), loop.body, loop.exit);
    if (innermost) mark_parallel(branch);
    loop.index->addIncoming(i, latch);
    for (std::size_t k = 0; k < next.size(); ++k) loop.carried[k]->addIncoming(next[k], latch);
    b_.SetInsertPoint(loop.exit);
    std::vector<Value*> results;
    for (std::size_t k = 0; k < next.size(); ++k) {
      llvm::PHINode* phi = b_.CreatePHI(next[k]->getType(), 2);
      phi->addIncoming(starts_.back()[k], before_.back());
      phi->addIncoming(next[k], latch);
      results.push_back(phi);
    }
    before_.pop_back();
    starts_.pop_back();
    return results;
  }
  // Operands overlap only element on element (results written over an operand), so iterations are
  // independent.
  void mark_parallel(llvm::BranchInst* branch) {
    if (!group_) group_ = llvm::MDNode::getDistinct(context_, {});
    auto* accesses = llvm::MDNode::get(
        context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), group_});
    auto* loop = llvm::MDNode::getDistinct(context_, {nullptr, accesses});
    loop->replaceOperandWith(0, loop);
    branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }
  void tag(llvm::Instruction* access) {
    if (!group_) group_ = llvm::MDNode::getDistinct(context_, {});
    access->setMetadata(llvm::LLVMContext::MD_access_group, group_);
  }

  // Moves every operand's pointer to position `index` of `axis`.
  std::vector<Value*> advanced(const std::vector<Value*>& bases, Value* index, int axis) {
    std::vector<Value*> out;
    for (std::size_t i = 0; i < bases.size(); ++i)
      out.push_back(
          b_.CreateInBoundsGEP(element(i), bases[i], b_.CreateMul(index, stride_of(i, axis))));
    return out;
  }
  std::vector<Value*> load_inputs(const std::vector<Value*>& at) {
    std::vector<Value*> x;
    for (std::size_t i = 0; i < nest_.inputs.size(); ++i) {
      llvm::LoadInst* load = b_.CreateLoad(element(i), at[i]);
      tag(load);
      x.push_back(widen(b_, load, operand(i).dtype));
    }
    return x;
  }
  void store(std::size_t output, Value* v, Value* at) {
    llvm::StoreInst* s = b_.CreateStore(narrow(b_, v, nest_.outputs[output].dtype), at);
    tag(s);
  }
  Value* evaluate(const Expr& e, const std::vector<Value*>& x) {
    ExprEmitter emitter(b_, x);
    Value* v = emitter.emit(e);
    if (v) return v;
    problem_ = emitter.problem();
    return llvm::UndefValue::get(compute_type(context_, e.dtype()));
  }

  void nest_kept(int axis, int last_kept) {
    const bool first = axis == 0;
    Value* begin = first ? static_cast<Value*>(function_->getArg(4)) : number(0);
    Value* end =
        first ? static_cast<Value*>(function_->getArg(5)) : sizes_[static_cast<std::size_t>(axis)];
    Loop loop = open(begin, end, {});
    const std::vector<Value*> outer = base_;
    base_ = advanced(outer, loop.index, axis);
    if (axis < last_kept)
      nest_kept(axis + 1, last_kept);
    else if (nest_.num_reduced)
      reduce(axis + 1);
    else
      element_step();
    base_ = outer;
    close(loop, end, {}, axis == last_kept && !nest_.num_reduced);
  }
  void element_step() {
    const auto x = load_inputs(base_);
    ExprEmitter emitter(b_, x);
    for (std::size_t o = 0; o < nest_.exprs.size(); ++o) {
      Value* v = emitter.emit(nest_.exprs[o]);
      if (!v) {
        problem_ = emitter.problem();
        return;
      }
      store(o, v, base_[nest_.inputs.size() + o]);
    }
  }
  void reduce(int axis) {
    Value* acc = reduce_axes(axis, start_value());
    if (nest_.post.defined()) acc = evaluate(nest_.post, {acc});
    store(0, acc, base_[nest_.inputs.size()]);
  }
  Value* reduce_axes(int axis, Value* acc) {
    Value* end = sizes_[static_cast<std::size_t>(axis)];
    Loop loop = open(number(0), end, {acc});
    const std::vector<Value*> outer = base_;
    base_ = advanced(outer, loop.index, axis);
    const bool innermost = axis == nest_.num_axes - 1;
    Value* next = innermost ? combine(loop.carried[0], evaluate(nest_.exprs[0], load_inputs(base_)))
                            : reduce_axes(axis + 1, loop.carried[0]);
    base_ = outer;
    return close(loop, end, {next}, innermost)[0];
  }
  DType accumulated() const { return nest_.exprs[0].dtype(); }
  Value* start_value() {
    const DType d = accumulated();
    llvm::Type* t = compute_type(context_, d);
    const bool is_sum = nest_.combine == Combine::sum, is_prod = nest_.combine == Combine::prod,
               is_max = nest_.combine == Combine::max;
    if (t->isFloatingPointTy())
      return llvm::ConstantFP::get(t, is_sum    ? 0.0
                                      : is_prod ? 1.0
                                      : is_max  ? -std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::infinity());
    if (is_sum || is_prod) return llvm::ConstantInt::get(t, is_prod ? 1 : 0);
    const unsigned bits = t->getIntegerBitWidth();
    const bool no_sign = class_of(d) != DTypeClass::signed_integer;
    if (is_max)
      return llvm::ConstantInt::get(
          t, no_sign ? llvm::APInt::getMinValue(bits) : llvm::APInt::getSignedMinValue(bits));
    return llvm::ConstantInt::get(
        t, no_sign ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits));
  }
  Value* combine(Value* acc, Value* x) {
    const DType d = accumulated();
    const ScalarOp op = nest_.combine == Combine::sum    ? ScalarOp::add
                        : nest_.combine == Combine::prod ? ScalarOp::mul
                        : nest_.combine == Combine::max  ? ScalarOp::max
                                                         : ScalarOp::min;
    // Sums and products may be reordered into lanes; the order is fixed by the code, hence
    // repeatable.
    llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    IRBuilder<>::FastMathFlagGuard guard(b_);
    if (op == ScalarOp::add || op == ScalarOp::mul) b_.setFastMathFlags(flags);
    const std::vector<Value*> args = {acc, x};
    ExprEmitter emitter(b_, args);
    return emitter.emit(Expr::make(op, d, {Expr::input(0, d), Expr::input(1, d)}));
  }

  const LoopNest& nest_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  std::vector<Value*> base_, sizes_, strides_;
  std::vector<BasicBlock*> before_;
  std::vector<std::vector<Value*>> starts_;
  llvm::MDNode* group_ = nullptr;
  std::string problem_;
};

const char* features_of(Isa isa) {
  switch (isa) {
    case Isa::plain: return "+sse2";
    case Isa::avx2: return "+avx2,+fma,+f16c,+bmi,+bmi2,+sse4.1,+sse4.2";
    case Isa::avx512:
    case Isa::amx:
      return "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c,+bmi,+bmi2,+prefer-256-bit";
  }
  return "";
}

std::unique_ptr<llvm::TargetMachine> machine_for(Isa isa, std::string& problem) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  const std::string triple = "x86_64-unknown-linux-gnu";
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the same bits on every path
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64", features_of(isa), options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace
}  // namespace tenon::codegen

extern "C" __attribute__((visibility("default"))) bool tenon_emit_loop_nest(
    const tenon::codegen::LoopNest& nest, const tenon::codegen::EmitTarget& target,
    std::string& object, std::string& problem) {
  auto machine = tenon::codegen::machine_for(target.isa, problem);
  if (!machine) return false;
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  problem = tenon::codegen::LoopEmitter(nest, module).run();
  if (!problem.empty()) return false;
  llvm::raw_string_ostream report(problem);
  if (llvm::verifyModule(module, &report)) return false;
  tenon::codegen::optimise(module, *machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager writer;
  if (machine->addPassesToEmitFile(writer, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return problem = "no object writer", false;
  writer.run(module);
  object.assign(bytes.begin(), bytes.end());
  return true;
}
