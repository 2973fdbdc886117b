// Content-addressed kernels and the lazily loaded LLVM module.
#include "tenon/codegen/kernel_cache.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/base/log.h"

namespace tenon::codegen {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMaxCacheBytes = std::uintmax_t{256} << 20;

fs::path cache_folder() {
  if (const char* chosen = std::getenv("TENON_KERNEL_CACHE"))
    return std::string_view(chosen) == "off" ? fs::path() : fs::path(chosen);
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
    return fs::path(xdg) / "tenon" / "kernels";
  if (const char* home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "tenon" / "kernels";
  return {};
}

// The folder of the library or program that holds this code.
fs::path own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return {};
  return fs::path(info.dli_fname).parent_path();
}

// The module beside the program, beside its libraries (a user's program loads libtenon.so from
// elsewhere), or where the build left it.
Result<EmitFunction> load_module() {
  std::vector<fs::path> places;
  if (const char* chosen = std::getenv("TENON_LLVM_MODULE")) places.emplace_back(chosen);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  places.push_back(program / "libtenon_llvm.so");
  places.push_back(program / ".." / "lib" / "tenon" / "libtenon_llvm.so");
  places.push_back(own_folder() / "tenon" / "libtenon_llvm.so");
  places.emplace_back(TENON_LLVM_MODULE_PATH);
  std::string tried;
  for (const fs::path& p : places) {
    if (!fs::exists(p, ignored)) {
      tried += " " + p.string();
      continue;
    }
    void* handle = dlopen(p.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return io_error("the code generator does not load: {}", dlerror());
    if (void* f = dlsym(handle, kEmitSymbol)) return reinterpret_cast<EmitFunction>(f);
    return io_error("{} is no code generator", p.string());
  }
  return not_found("the code generator libtenon_llvm.so is not there; looked at{}", tried);
}

void trim(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::uintmax_t total = 0;
  std::error_code e;
  for (const auto& entry : fs::directory_iterator(folder, e)) {
    files.emplace_back(entry.last_write_time(e), entry.path());
    total += entry.file_size(e);
  }
  std::sort(files.begin(), files.end());
  for (const auto& [time, path] : files) {
    if (total <= kMaxCacheBytes) return;
    total -= std::min(total, fs::file_size(path, e));
    fs::remove(path, e);
  }
}

}  // namespace

namespace {

std::string text_of(const KernelSource& source) {
  return std::visit([](const auto& s) { return s.text(); }, source);
}

Result<LoadedLoop> loaded(std::string_view bytes, const std::string& key) {
  auto object = TENON_TRY(NativeObject::load(bytes));
  const void* entry = object->symbol("kernel");
  if (!entry) return invalid("native object {} has no kernel", key);
  return LoadedLoop{object, reinterpret_cast<LoopFunction>(const_cast<void*>(entry)), key};
}

}  // namespace

struct KernelCache::State {
  mutable std::mutex mutex;
  std::condition_variable finished;            // a key left `busy`
  std::set<std::string> busy;                  // keys that a thread is making
  std::map<std::string, LoadedLoop> loops;     // by key
  std::map<std::string, std::string> objects;  // by key, of this process
  std::vector<fs::path> folders;
  fs::path disk;
  EmitFunction emit = nullptr;
  int num_compiled = 0;
  double seconds = 0;

  // From a folder or the disk; what does not load there is made anew.
  std::optional<LoadedLoop> find(const std::string& key, std::string& bytes) {
    std::vector<fs::path> places;
    {
      const std::lock_guard lock(mutex);
      places = folders;
    }
    if (!disk.empty()) places.push_back(disk);
    for (const fs::path& folder : places) {
      auto file = read_file(folder / (key + ".o"));
      if (!file.ok()) continue;
      auto loop = loaded(*file, key);
      if (!loop.ok()) continue;
      bytes = std::move(*file);
      return *loop;
    }
    return std::nullopt;
  }
  Result<EmitFunction> emitter() {
    const std::lock_guard lock(mutex);
    if (!emit) emit = TENON_TRY(load_module());
    return emit;
  }
  Result<std::string> compile(const KernelSource& source, Isa isa, const std::string& key) {
    const EmitFunction function = TENON_TRY(emitter());
    const auto start = std::chrono::steady_clock::now();
    std::string object, problem;
    if (!function(source, {isa}, object, problem))
      return unsupported("no code for a kernel: {} ({})", problem, text_of(source));
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    TENON_LOG("codegen", 1, "compiled {} for {} in {:.1f} ms", key, name(isa), took * 1e3);
    TENON_LOG("codegen", 2, "{}", text_of(source));
    bool trims = false;
    {
      const std::lock_guard lock(mutex);
      seconds += took;
      trims = ++num_compiled % 64 == 1;
    }
    if (disk.empty()) return object;
    std::error_code e;
    fs::create_directories(disk, e);
    if (write_file_atomic(disk / (key + ".o"), object).ok() && trims)
      trim(disk);  // a full disk only loses the cache
    return object;
  }
  Result<LoadedLoop> make(const KernelSource& source, Isa isa, const std::string& key,
                          std::string& bytes) {
    if (auto found = find(key, bytes)) return *found;
    bytes = TENON_TRY(compile(source, isa, key));
    return loaded(bytes, key);
  }
};

KernelCache::KernelCache() : state_(std::make_unique<State>()) { state_->disk = cache_folder(); }

KernelCache& KernelCache::instance() {
  static KernelCache cache;
  return cache;
}

std::string kernel_key(const KernelSource& source, Isa isa) {
  return sha256(text_of(source)).substr(0, 32) + "-" + std::string(name(isa));
}

Result<LoadedLoop> KernelCache::get(const LoopNest& nest, Isa isa) {
  LoopProgram program = program_of(nest);
  program.schedule = default_schedule(program, isa);
  return get(program, isa);
}

Result<LoadedLoop> KernelCache::get(const KernelSource& source, Isa isa) {
  const std::string key = kernel_key(source, isa);
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.finished.wait(lock, [&] { return !s.busy.contains(key); });
  if (auto it = s.loops.find(key); it != s.loops.end()) return it->second;
  s.busy.insert(key);
  lock.unlock();
  std::string bytes;
  auto loop = s.make(source, isa, key, bytes);
  lock.lock();
  s.busy.erase(key);
  if (loop.ok()) {
    s.objects.emplace(key, std::move(bytes));
    s.loops.emplace(key, *loop);
  }
  s.finished.notify_all();
  return loop;
}

void KernelCache::add_folder(const fs::path& folder) {
  const std::lock_guard lock(state_->mutex);
  state_->folders.push_back(folder);
}

std::vector<std::string> KernelCache::keys() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> keys;
  for (const auto& [key, bytes] : state_->objects) keys.push_back(key);
  return keys;
}

Status KernelCache::save(const std::string& key, const fs::path& folder) const {
  const std::lock_guard lock(state_->mutex);
  auto it = state_->objects.find(key);
  if (it == state_->objects.end()) return not_found("no kernel has the key {}", key);
  return write_file_atomic(folder / (key + ".o"), it->second);
}

int KernelCache::num_compiled() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_compiled;
}

double KernelCache::compile_seconds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->seconds;
}

}  // namespace tenon::codegen
