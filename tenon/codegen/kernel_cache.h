// Functions for loop nests: from memory, from a bundle, from the disk cache, or compiled now.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tenon/codegen/emitter.h"
#include "tenon/codegen/native_object.h"

namespace tenon::codegen {

/// A loaded kernel; keeps its code alive.
struct LoadedLoop {
  std::shared_ptr<const NativeObject> object;
  LoopFunction function = nullptr;
  std::string key;  // of its object, for bundles

  /// The kernel as the type of function that its source has.
  template <class Function>
  Function as() const {
    return reinterpret_cast<Function>(reinterpret_cast<void*>(function));
  }
};

/// All kernels of the process, by content: the source's text and the instruction set. Safe under
/// threads, which compile different kernels at once, and concurrent processes. The disk cache lies
/// in $TENON_KERNEL_CACHE ("off": none), else in the user's cache folder; beyond 256 MiB the oldest
/// objects go.
class KernelCache {
 public:
  static KernelCache& instance();
  Result<LoadedLoop> get(const KernelSource& source, Isa isa = host_isa());
  /// The nest as a program, under the schedule that suits it.
  Result<LoadedLoop> get(const LoopNest& nest, Isa isa = host_isa());
  /// Objects found here are used before anything is compiled. Called when a bundle is opened.
  void add_folder(const std::filesystem::path& folder);
  /// Keys of every kernel that this process uses so far, sorted.
  std::vector<std::string> keys() const;
  /// Writes the object with this key into `folder`.
  Status save(const std::string& key, const std::filesystem::path& folder) const;
  /// Kernels compiled by LLVM in this process so far.
  int num_compiled() const;
  double compile_seconds() const;

 private:
  KernelCache();
  struct State;
  std::unique_ptr<State> state_;
};

/// The name under which a kernel's object is kept: 32 hexadecimal digits and the instruction set.
std::string kernel_key(const KernelSource& source, Isa isa);

}  // namespace tenon::codegen
