// Content-addressed kernels and the lazily loaded LLVM module.
#include "tenon/codegen/kernel_cache.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
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

struct KernelCache::State {
  mutable std::mutex mutex;
  std::map<std::string, LoadedLoop> loops;     // by nest text and isa
  std::map<std::string, std::string> objects;  // by key, of this process
  std::vector<fs::path> folders;
  fs::path disk;
  EmitFunction emit = nullptr;
  int num_compiled = 0;
  double seconds = 0;

  Result<std::string> object_for(const LoopNest& nest, Isa isa, const std::string& key) {
    const std::string file = key + ".o";
    std::vector<fs::path> places = folders;
    if (!disk.empty()) places.push_back(disk);
    for (const fs::path& folder : places)
      if (auto bytes = read_file(folder / file); bytes.ok()) return bytes;
    if (!emit) emit = TENON_TRY(load_module());
    const auto start = std::chrono::steady_clock::now();
    std::string object, problem;
    if (!emit(nest, {isa}, object, problem))
      return unsupported("no code for a kernel: {} ({})", problem, nest.text());
    ++num_compiled;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    TENON_LOG("codegen", 1, "compiled {} for {}", key, name(isa));
    TENON_LOG("codegen", 2, "{}", nest.text());
    if (!disk.empty()) {
      std::error_code e;
      fs::create_directories(disk, e);
      if (write_file_atomic(disk / file, object).ok() && num_compiled % 64 == 1)
        trim(disk);  // a full disk only loses the cache
    }
    return object;
  }
};

KernelCache::KernelCache() : state_(std::make_unique<State>()) { state_->disk = cache_folder(); }

KernelCache& KernelCache::instance() {
  static KernelCache cache;
  return cache;
}

std::string kernel_key(const LoopNest& nest, Isa isa) {
  return sha256(nest.text()).substr(0, 32) + "-" + std::string(name(isa));
}

Result<LoadedLoop> KernelCache::get(const LoopNest& nest, Isa isa) {
  const std::string key = kernel_key(nest, isa);
  const std::lock_guard lock(state_->mutex);
  if (auto it = state_->loops.find(key); it != state_->loops.end()) return it->second;
  std::string bytes = TENON_TRY(state_->object_for(nest, isa, key));
  auto object = TENON_TRY(NativeObject::load(bytes));
  const void* entry = object->symbol("kernel");
  if (!entry) return invalid("native object {} has no kernel", key);
  LoadedLoop loop{object, reinterpret_cast<LoopFunction>(const_cast<void*>(entry)), key};
  state_->objects.emplace(key, std::move(bytes));
  return state_->loops.emplace(key, std::move(loop)).first->second;
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
