// One executable under fixed sizes: bound kernels, arena offsets, constants made from shapes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/runtime/arena.h"
#include "tenon/runtime/executable.h"

namespace tenon {

class ExecutionPlan {
 public:
  /// Evaluates all sizes under `bindings` and binds every kernel. `input_dims` are those of the
  /// graph's inputs in order.
  static Result<std::shared_ptr<ExecutionPlan>> make(const Executable& executable,
                                                     const Bindings& bindings);

  Result<Datums> run(const Datums& inputs, ThreadPool& pool,
                     const Executable::Timer* timer = nullptr);
  const MemoryUse& memory() const { return memory_; }

 private:
  // Where a value lives: in the arena, among the inputs, the outputs of the run, or fixed memory.
  enum class Place : std::uint8_t { none, arena, input, output, fixed };
  struct Slot {
    Place place = Place::none;
    std::int64_t offset = 0;          // in the arena
    int index = 0;                    // of the input or output
    const std::byte* data = nullptr;  // fixed
  };
  struct Step {
    const Node* node;
    std::shared_ptr<const Launch> launch;
    std::vector<Slot> inputs, outputs;
    std::int64_t workspace_offset = 0;
  };
  // The memory and pointer tables of one run in flight.
  struct State {
    std::shared_ptr<Buffer> arena;
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
  };
  struct Draft;  // what is known while planning

  Status size_values(const Executable& executable, const Bindings& bindings, Draft& draft);
  void fix_values(const Graph& graph, Draft& draft);
  void assign_buffers(const Graph& graph, Draft& draft);
  void donate_inputs(const Executable& executable, Draft& draft);
  void overwrite_operands(const Graph& graph, Draft& draft);
  Status bind_kernels(const Executable& executable, Draft& draft);
  void place_values(const Graph& graph, Draft& draft);
  void fill_tables(const Graph& graph, Draft& draft);
  Tensor output_memory(std::size_t output);
  std::unique_ptr<State> acquire();
  void release(std::unique_ptr<State> state);
  static const std::byte* resolve(const Slot& slot, const std::byte* arena, const Datums& inputs,
                                  Datums& outputs);

  std::vector<Step> steps_;
  std::vector<Extent> outputs_;
  std::vector<Slot> output_sources_;  // where each output's data is when it is not written in place
  std::vector<int> donors_;           // of each output: the input whose memory it takes, or -1
  std::vector<Tensor> fixed_;         // tensors that shape computations became
  std::size_t max_arguments_ = 0;
  ArenaPlan arena_;
  MemoryUse memory_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<State>> idle_;
  std::vector<std::vector<std::shared_ptr<Buffer>>> earlier_;  // of each output, guarded by mutex_
};

}  // namespace tenon
