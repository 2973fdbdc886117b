// Engine, per-thread streams, reorders.
#include <dlfcn.h>

#include "tenon/backends/cpu/cpu_backend.h"
#include "tenon/backends/cpu/onednn_internal.h"
#include "tenon/machine/host_cpu.h"

namespace tenon::backends::cpu {

namespace {

// Two pools in one process fight over the cores: oneDNN's OpenMP gets one thread, ours splits the
// work. A primitive keeps the number of threads that it was made for, so this comes before the
// first one of every thread.
void work_alone() {
  thread_local const bool done = [] {
    // Found at run time: oneDNN brings its OpenMP runtime along, and the compiler need not know it.
    if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
      set(1);
    return true;
  }();
  (void)done;
}

// A masked machine (TENON_ISA) shows oneDNN no more than the rest of the program sees.
dnnl::engine masked_engine() {
  switch (host_isa()) {
    case Isa::plain: dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41); break;
    case Isa::avx2: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2); break;
    case Isa::avx512: dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16); break;
    case Isa::amx: break;
  }
  return dnnl::engine(dnnl::engine::kind::cpu, 0);
}

}  // namespace

const dnnl::engine& onednn_engine() {
  work_alone();
  static const dnnl::engine engine = masked_engine();
  return engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

void reorder(const dnnl::memory::desc& from, const std::byte* source, const dnnl::memory::desc& to,
             std::byte* target) {
  dnnl::stream& stream = onednn_stream();
  dnnl::memory a = memory_at(from, source), b = memory_at(to, target);
  dnnl::reorder(a, b).execute(stream, a, b);
}

std::shared_ptr<Buffer> packed(const dnnl::memory::desc& from, const std::byte* source,
                               const dnnl::memory::desc& to) {
  auto buffer = Buffer::allocate(to.get_size());
  reorder(from, source, to, buffer->data());
  return buffer;
}

namespace {

// Holds its source, so that no other tensor can have the source's address while the copy lives.
struct PackedCopy {
  Tensor source;
  std::shared_ptr<Buffer> data;
};
struct PackedEntry {
  dnnl::memory::desc from, to;
  std::weak_ptr<const PackedCopy> copy;
};

}  // namespace

std::shared_ptr<const std::byte> packed_once(const Tensor& source, const dnnl::memory::desc& from,
                                             const dnnl::memory::desc& to) {
  static std::mutex mutex;
  static std::unordered_map<const std::byte*, std::vector<PackedEntry>> entries;
  const std::lock_guard lock(mutex);
  std::vector<PackedEntry>& known = entries[source.raw()];
  std::erase_if(known, [](const PackedEntry& e) { return e.copy.expired(); });
  std::shared_ptr<const PackedCopy> copy;
  for (const PackedEntry& e : known)
    if (e.from == from && e.to == to) copy = e.copy.lock();
  if (!copy) {
    copy = std::make_shared<PackedCopy>(PackedCopy{source, packed(from, source.raw(), to)});
    known.push_back({from, to, copy});
  }
  return {copy, copy->data->data()};
}

}  // namespace tenon::backends::cpu

namespace tenon::backends {

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace tenon::backends
