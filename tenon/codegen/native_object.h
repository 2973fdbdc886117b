// Loads the native objects that kernels are: position-independent ELF relocatables, without a
// linker.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/error.h"

namespace tenon::codegen {

/// Code in executable memory, unmapped when the last owner goes.
class NativeObject {
 public:
  /// Places the sections of an x86-64 ELF relocatable in memory, resolves its relocations (external
  /// symbols: a fixed list of functions of libm) and seals the code. invalid: a malformed or
  /// foreign object; every offset is checked, for objects come from files.
  static Result<std::shared_ptr<const NativeObject>> load(std::string_view bytes);
  ~NativeObject();
  NativeObject(const NativeObject&) = delete;
  NativeObject& operator=(const NativeObject&) = delete;

  /// Address of a defined symbol, nullptr when there is none.
  const void* symbol(std::string_view name) const;

 private:
  NativeObject() = default;
  struct Loader;
  class Linker;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::pair<std::string, std::size_t>> symbols_;  // name -> offset
};

}  // namespace tenon::codegen
