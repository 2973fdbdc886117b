// oneDNN behind a small face: single-threaded calls from our own pool.
#pragma once

#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/base/error.h"

namespace tenon::backends::cpu {

/// The engine of the process.
const dnnl::engine& onednn_engine();
/// A stream of this thread; also tells oneDNN's OpenMP that this thread works alone.
dnnl::stream& onednn_stream();
/// Runs `f`, turning oneDNN's exceptions into unsupported errors: bind falls back to the
/// interpreter.
template <class F>
auto guarded(F&& f) -> Result<decltype(f())> {
  try {
    return f();
  } catch (const dnnl::error& e) {
    return unsupported("onednn: {}", e.what());
  }
}

/// Memory over a pointer.
inline dnnl::memory memory_at(const dnnl::memory::desc& desc, const std::byte* data) {
  return dnnl::memory(desc, onednn_engine(), const_cast<std::byte*>(data));
}
/// Reorders with one thread.
void reorder(const dnnl::memory::desc& from, const std::byte* source, const dnnl::memory::desc& to,
             std::byte* target);
/// A copy of `source` in layout `to`.
std::shared_ptr<Buffer> packed(const dnnl::memory::desc& from, const std::byte* source,
                               const dnnl::memory::desc& to);
/// The same of a constant, made once as long as somebody holds it: all kernels that read a weight
/// in one layout (the steps of an unrolled loop, the sizes of a dynamic model) share the copy.
std::shared_ptr<const std::byte> packed_once(const Tensor& source, const dnnl::memory::desc& from,
                                             const dnnl::memory::desc& to);

inline std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace tenon::backends::cpu
