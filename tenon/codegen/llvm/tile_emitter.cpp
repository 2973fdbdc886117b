// Products and transposes of tiles as LLVM functions.
#include "tenon/codegen/llvm/tile_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

#include <functional>
#include <vector>

namespace tenon::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using Carried = std::vector<Value*>;

// Counted loops for the two emitters.
class TileBuilder {
 protected:
  TileBuilder(llvm::Module& module, llvm::ArrayRef<llvm::Type*> arguments)
      : context_(module.getContext()), b_(context_) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), arguments, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", module);
    function_->addFnAttr("no-builtins");
    function_->addFnAttr("min-legal-vector-width", "512");
    b_.SetInsertPoint(BasicBlock::Create(context_, "entry", function_));
  }
  static llvm::Type* pointer(llvm::Module& m) { return llvm::PointerType::get(m.getContext(), 0); }
  static llvm::Type* integer(llvm::Module& m) { return llvm::Type::getInt64Ty(m.getContext()); }

  Value* number(std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); }
  Value* at(Value* base, Value* offset) {
    return b_.CreateInBoundsGEP(b_.getFloatTy(), base, offset);
  }
  // for (i = begin; i + step <= end; i += step): the index after it comes first in the result.
  Carried loop(Value* begin, Value* end, std::int64_t step, const Carried& starts,
               const std::function<Carried(Value*, const Carried&)>& body) {
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock *head = BasicBlock::Create(context_, "head", function_),
               *inside = BasicBlock::Create(context_, "body", function_),
               *exit = BasicBlock::Create(context_, "exit", function_);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    std::vector<llvm::PHINode*> phis;
    Carried carried, results = {i};
    for (Value* s : starts) {
      phis.push_back(b_.CreatePHI(s->getType(), 2));
      phis.back()->addIncoming(s, before);
      carried.push_back(phis.back());
      results.push_back(phis.back());
    }
    Value* next = b_.CreateAdd(i, number(step), "", true, true);
    b_.CreateCondBr(b_.CreateICmpSLE(next, end), inside, exit);
    b_.SetInsertPoint(inside);
    const Carried after = body(i, carried);
    BasicBlock* latch = b_.GetInsertBlock();
    i->addIncoming(next, latch);
    for (std::size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(after[k], latch);
    b_.CreateBr(head);
    b_.SetInsertPoint(exit);
    return results;
  }

  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
};

class ProductEmitter : TileBuilder {
 public:
  ProductEmitter(const TileProduct& tile, llvm::Module& m, bool has_fma)
      : TileBuilder(m, {pointer(m), pointer(m), pointer(m), pointer(m), pointer(m)}),
        tile_(tile),
        has_fma_(has_fma),
        vector_(llvm::FixedVectorType::get(b_.getFloatTy(), static_cast<unsigned>(tile.lanes))) {}

  void run() {
    for (unsigned i = 0; i < 9; ++i)
      arguments_.push_back(
          b_.CreateLoad(b_.getInt64Ty(),
                        b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(4), i)));
    loop(number(0), panels(), 1, {}, [&](Value* p, const Carried&) {
      Value* row = number(0);
      for (int block : {tile_.rows, tile_.few_rows, 1})
        row = loop(row, rows(), block, {}, [&](Value* m, const Carried&) {
          tile(p, m, block);
          return Carried{};
        })[0];
      return Carried{};
    });
    b_.CreateRetVoid();
  }

 private:
  Value* rows() { return arguments_[0]; }
  Value* depth() { return arguments_[1]; }
  Value* panels() { return arguments_[2]; }
  Value* a_row() { return tile_.unit == UnitStride::rows ? number(1) : arguments_[3]; }
  Value* a_depth() { return tile_.unit == UnitStride::depth ? number(1) : arguments_[4]; }
  Value* b_depth() { return arguments_[5]; }

  Value* vector_at(Value* base, Value* offset, int vector) {
    Value* p = at(base, b_.CreateAdd(offset, number(vector * tile_.lanes)));
    return p;
  }
  Value* load(Value* p) { return b_.CreateAlignedLoad(vector_, p, llvm::Align(4)); }
  Value* fma(Value* x, Value* y, Value* z) {
    if (has_fma_) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, z});
    return b_.CreateFAdd(b_.CreateFMul(x, y), z);
  }

  // acc[m][v] += a[m, k] * b[k, v]
  Carried step(const std::vector<Value*>& a, Value* b, Value* k, const Carried& acc) {
    Value* b_at = at(b, b_.CreateMul(k, b_depth()));
    std::vector<Value*> right;
    for (int v = 0; v < tile_.vectors; ++v)
      right.push_back(load(at(b_at, number(v * tile_.lanes))));
    Value* a_offset = b_.CreateMul(k, a_depth());
    Carried next;
    for (Value* row : a) {
      Value* left = b_.CreateVectorSplat(static_cast<unsigned>(tile_.lanes),
                                         b_.CreateLoad(b_.getFloatTy(), at(row, a_offset)));
      for (Value* r : right) next.push_back(fma(left, r, acc[next.size()]));
    }
    barrier();
    return next;
  }
  // Loads of later steps must not move up: they would push accumulators out of the registers.
  void barrier() {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), false);
    b_.CreateCall(type, llvm::InlineAsm::get(type, "", "~{memory}", true));
  }

  void tile(Value* panel, Value* row, int block) {
    std::vector<Value*> a;
    for (int m = 0; m < block; ++m)
      a.push_back(at(function_->getArg(0), b_.CreateMul(b_.CreateAdd(row, number(m)), a_row())));
    Value* b = at(function_->getArg(1), b_.CreateMul(panel, arguments_[6]));
    const Carried zero(static_cast<std::size_t>(block * tile_.vectors),
                       llvm::Constant::getNullValue(vector_));
    Carried acc = loop(number(0), depth(), tile_.unroll, zero, [&](Value* k, const Carried& c) {
      Carried next = c;
      for (int u = 0; u < tile_.unroll; ++u) next = step(a, b, b_.CreateAdd(k, number(u)), next);
      return next;
    });
    Value* done = acc[0];
    acc.erase(acc.begin());
    acc = loop(done, depth(), 1, acc, [&](Value* k, const Carried& c) { return step(a, b, k, c); });
    acc.erase(acc.begin());
    store(panel, row, block, acc);
  }

  void store(Value* panel, Value* row, int block, const Carried& acc) {
    Value* c = at(function_->getArg(2), b_.CreateAdd(b_.CreateMul(panel, arguments_[8]),
                                                     b_.CreateMul(row, arguments_[7])));
    Value* factors = function_->getArg(3);
    BasicBlock *scaled = BasicBlock::Create(context_, "scaled", function_),
               *plain = BasicBlock::Create(context_, "plain", function_),
               *done = BasicBlock::Create(context_, "done", function_);
    b_.CreateCondBr(b_.CreateIsNull(factors), plain, scaled);
    for (bool is_scaled : {false, true}) {
      b_.SetInsertPoint(is_scaled ? scaled : plain);
      for (int v = 0; v < tile_.vectors; ++v) {
        Value* factor =
            is_scaled ? load(vector_at(factors, b_.CreateMul(panel, number(tile_.columns())), v))
                      : nullptr;
        for (int m = 0; m < block; ++m) {
          Value* p = vector_at(c, b_.CreateMul(number(m), arguments_[7]), v);
          Value* sum = acc[static_cast<std::size_t>(m * tile_.vectors + v)];
          if (factor) sum = fma(load(p), factor, sum);
          b_.CreateAlignedStore(sum, p, llvm::Align(4));
        }
      }
      b_.CreateBr(done);
    }
    b_.SetInsertPoint(done);
  }

  const TileProduct& tile_;
  bool has_fma_;
  llvm::Type* vector_;
  std::vector<Value*> arguments_;
};

class TransposeEmitter : TileBuilder {
 public:
  TransposeEmitter(const TileTranspose& tile, llvm::Module& m)
      : TileBuilder(m, {pointer(m), pointer(m), integer(m), integer(m), integer(m), integer(m)}),
        block_(static_cast<unsigned>(tile.block)),
        stack_(static_cast<unsigned>(tile.stack)) {}

  void run() {
    Value *rows = function_->getArg(2), *columns = function_->getArg(3), *i = number(0);
    for (unsigned height : {block_ * stack_, block_})
      i = loop(i, rows, height, {}, [&](Value* at_row, const Carried&) {
        Value* j = loop(number(0), columns, block_, {}, [&](Value* at_column, const Carried&) {
          for (unsigned k = 0; k < height; k += block_)
            turn(b_.CreateAdd(at_row, number(k)), at_column);
          return Carried{};
        })[0];
        for (unsigned k = 0; k < height; ++k) line(b_.CreateAdd(at_row, number(k)), j, columns);
        return Carried{};
      })[0];
    loop(i, rows, 1, {}, [&](Value* row, const Carried&) {
      line(row, number(0), columns);
      return Carried{};
    });
    b_.CreateRetVoid();
  }

 private:
  Value* source(Value* i, Value* j) {
    return at(function_->getArg(0), b_.CreateAdd(b_.CreateMul(i, function_->getArg(4)), j));
  }
  Value* target(Value* i, Value* j) {
    return at(function_->getArg(1), b_.CreateAdd(b_.CreateMul(j, function_->getArg(5)), i));
  }
  // Elements from column `from` on, one by one.
  void line(Value* row, Value* from, Value* columns) {
    loop(from, columns, 1, {}, [&](Value* j, const Carried&) {
      b_.CreateStore(b_.CreateLoad(b_.getInt32Ty(), source(row, j)), target(row, j));
      return Carried{};
    });
  }
  // A square block: log2(block) rounds that swap ever smaller off-diagonal squares.
  void turn(Value* i, Value* j) {
    auto* vector = llvm::FixedVectorType::get(b_.getInt32Ty(), block_);
    std::vector<Value*> x;
    for (unsigned k = 0; k < block_; ++k)
      x.push_back(
          b_.CreateAlignedLoad(vector, source(b_.CreateAdd(i, number(k)), j), llvm::Align(4)));
    for (unsigned half = block_ / 2; half >= 1; half /= 2)
      for (unsigned k = 0; k < block_; ++k) {
        if (k & half) continue;
        llvm::SmallVector<int, 16> low, high;
        for (unsigned e = 0; e < block_; ++e) {
          const unsigned inner = e & ~half;
          low.push_back(static_cast<int>(e & half ? block_ + inner : inner));
          high.push_back(static_cast<int>(e & half ? block_ + inner + half : inner + half));
        }
        Value *a = x[k], *b = x[k + half];
        x[k] = b_.CreateShuffleVector(a, b, low);
        x[k + half] = b_.CreateShuffleVector(a, b, high);
      }
    for (unsigned k = 0; k < block_; ++k)
      b_.CreateAlignedStore(x[k], target(i, b_.CreateAdd(j, number(k))), llvm::Align(4));
  }
  unsigned block_, stack_;
};

}  // namespace

void emit_tile_product(const TileProduct& tile, llvm::Module& module, bool has_fma) {
  ProductEmitter(tile, module, has_fma).run();
}
void emit_tile_transpose(const TileTranspose& tile, llvm::Module& module) {
  TransposeEmitter(tile, module).run();
}

}  // namespace tenon::codegen
