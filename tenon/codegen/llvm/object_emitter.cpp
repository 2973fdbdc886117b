// Kernels as native objects: the target, the passes, the writer.
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

#include <mutex>

#include "tenon/codegen/emitter.h"
#include "tenon/codegen/llvm/program_emitter.h"
#include "tenon/codegen/llvm/tile_emitter.h"

namespace tenon::codegen {
namespace {

const char* features_of(Isa isa) {
  switch (isa) {
    case Isa::plain: return "+sse2";
    case Isa::avx2: return "+avx2,+fma,+f16c,+bmi,+bmi2,+sse4.1,+sse4.2";
    case Isa::avx512:
    case Isa::amx: return "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c,+bmi,+bmi2";
  }
  return "";
}

MathTarget math_of(Isa isa) { return {isa >= Isa::avx2, isa >= Isa::avx512}; }

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
  tuning.LoopVectorization = false;  // the emitter wrote vectors
  tuning.LoopInterleaving = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

// Fills the module; "" or the problem.
std::string build(const KernelSource& source, llvm::Module& module, const MathTarget& math) {
  if (const auto* program = std::get_if<LoopProgram>(&source))
    return ProgramEmitter(*program, module, math).run();
  if (const auto* product = std::get_if<TileProduct>(&source))
    emit_tile_product(*product, module, math.has_fma);
  else
    emit_tile_transpose(std::get<TileTranspose>(source), module);
  return {};
}

bool emit(const KernelSource& source, const EmitTarget& target, std::string& object,
          std::string& problem) {
  auto machine = machine_for(target.isa, problem);
  if (!machine) return false;
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  problem = build(source, module, math_of(target.isa));
  if (!problem.empty()) return false;
  llvm::raw_string_ostream report(problem);
  if (llvm::verifyModule(module, &report)) return false;
  optimise(module, *machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager writer;
  if (machine->addPassesToEmitFile(writer, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return problem = "no object writer", false;
  writer.run(module);
  object.assign(bytes.begin(), bytes.end());
  return true;
}

}  // namespace
}  // namespace tenon::codegen

extern "C" __attribute__((visibility("default"))) bool tenon_emit_kernel(
    const tenon::codegen::KernelSource& source, const tenon::codegen::EmitTarget& target,
    std::string& object, std::string& problem) {
  return tenon::codegen::emit(source, target, object, problem);
}
