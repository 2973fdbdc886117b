// Writing and opening bundles.
#include "tenon/migrate/bundle.h"

#include <zlib.h>

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/base/safetensors.h"
#include "tenon/base/version.h"
#include "tenon/codegen/kernel_cache.h"
#include "tenon/ir/text.h"
#include "tenon/ops/registry.h"

namespace tenon::migrate {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSchema = "tenon.bundle/1";

// CRC-32: finds damage at a gigabyte a second. It is no seal: bundles from strangers want
// --recompile.
std::string checksum(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - at, std::size_t{1} << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + at), static_cast<uInt>(n));
    at += n;
  }
  return fmt::format("crc32:{:08x}", static_cast<unsigned>(crc));
}

// Gives every large constant of the graph and its regions a key.
void collect(const Graph& graph, std::string prefix, NamedTensors& tensors,
             std::map<const Value*, std::string>& keys) {
  for (const Value* v : graph.constants()) {
    if (v->tensor().dtype() == DType::string || v->tensor().count() <= TextOptions().max_inline)
      continue;
    const std::string key = fmt::format("{}{}", prefix, tensors.size());
    keys[v] = key;
    tensors.emplace_back(key, v->tensor());
  }
  for (const Node* n : graph.nodes())
    for (const auto& r : n->regions()) collect(*r, prefix, tensors, keys);
}

Status write_text_file(const fs::path& path, std::string_view text) {
  std::error_code e;
  fs::create_directories(path.parent_path(), e);
  return write_file_atomic(path, text);
}

// Sizes and checksums of all files below `folder`, sorted by path.
Result<Json> inventory(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Json files = Json::object();
  for (const fs::path& p : paths) {
    auto mapped = TENON_TRY(MappedFile::open(p));
    files[fs::relative(p, folder).generic_string()] = {{"bytes", mapped->size()},
                                                       {"checksum", checksum(mapped->text())}};
  }
  return files;
}

Status check_file(const fs::path& folder, const std::string& name, const Json& expected,
                  bool reads_content) {
  const fs::path path = TENON_TRY(safe_path(folder, name));
  std::error_code e;
  const auto bytes = fs::file_size(path, e);
  if (e) return not_found("bundle file {} is missing", name);
  if (bytes != expected.value("bytes", std::uintmax_t{0}))
    return invalid("bundle file {} has {} bytes but the manifest says {}", name, bytes,
                   expected.value("bytes", std::uintmax_t{0}));
  if (!reads_content) return {};
  auto mapped = TENON_TRY(MappedFile::open(path));
  if (checksum(mapped->text()) != expected.value("checksum", ""))
    return invalid("bundle file {} is damaged: its checksum is not the manifest's", name);
  return {};
}

Result<Json> read_manifest(const fs::path& folder) {
  const std::string text = TENON_TRY(read_file(folder / "manifest.json"));
  Json m = TENON_TRY(parse_json(text));
  if (!m.is_object() || m.value("schema", "") != kSchema)
    return unsupported("the manifest is of form '{}', this program reads {}",
                       m.is_object() ? m.value("schema", "") : "", kSchema);
  for (const char* key : {"backend", "precision", "isa"})
    if (!m.contains(key) || !m[key].is_string())
      return invalid("the manifest does not say {}", key);
  if (!m.contains("files") || !m["files"].is_object())
    return invalid("the manifest lists no files");
  for (const auto& [name, entry] : m["files"].items())
    if (!entry.is_object() || !entry.contains("bytes") || !entry["bytes"].is_number_unsigned() ||
        !entry.contains("checksum") || !entry["checksum"].is_string())
      return invalid("the manifest's entry for {} lacks bytes or checksum", name);
  return m;
}

Result<std::unique_ptr<Graph>> read_graph(const fs::path& folder) {
  const Safetensors weights = TENON_TRY(Safetensors::open(folder / "weights.safetensors"));
  const std::string text = TENON_TRY(read_file(folder / "graph.txt"));
  return parse_graph(text, ops::table(), [&](std::string_view key) { return weights.tensor(key); });
}

}  // namespace

Status write_bundle(const fs::path& folder, const BundleContent& content) {
  auto directory = TENON_TRY(AtomicDirectory::create(folder));
  const fs::path& at = directory.path();
  NamedTensors tensors;
  std::map<const Value*, std::string> keys;
  collect(content.executable->graph(), "w", tensors, keys);
  TextOptions text;
  text.key = [&](const Value& v) { return keys.at(&v); };
  TENON_TRY(write_text_file(at / "graph.txt", to_text(content.executable->graph(), text)));
  TENON_TRY(write_safetensors(at / "weights.safetensors", tensors));
  if (content.backend == "cpu") {
    std::error_code e;
    fs::create_directories(at / "kernels", e);
    for (const std::string& key : codegen::KernelCache::instance().keys())
      TENON_TRY(codegen::KernelCache::instance().save(key, at / "kernels"));
  }
  for (const auto& [name, bytes] : content.files)
    TENON_TRY(write_text_file(TENON_TRY(safe_path(at, name)), bytes));
  Json manifest = {{"schema", kSchema},
                   {"tenon", std::string(version())},
                   {"backend", content.backend},
                   {"precision", content.precision},
                   {"isa", std::string(name(host_isa()))},
                   {"source", content.source},
                   {"files", TENON_TRY(inventory(at))}};
  TENON_TRY(write_text_file(at / "manifest.json", manifest.dump(1) + "\n"));
  return directory.commit();
}

bool is_bundle(const fs::path& folder) {
  std::error_code e;
  return fs::is_directory(folder, e) && fs::exists(folder / "manifest.json", e);
}

Result<Bundle> open_bundle(const fs::path& folder, const BundleOptions& options) {
  const auto here = [&] { return folder.string(); };
  Bundle b;
  b.folder = folder;
  b.manifest = TENON_TRY(placed(read_manifest(folder), here));
  for (const auto& [name, entry] : b.manifest["files"].items())
    TENON_TRY(placed(check_file(folder, name, entry, true), here));
  b.backend = options.backend.empty() ? b.manifest["backend"].get<std::string>() : options.backend;
  b.precision = b.manifest["precision"].get<std::string>();
  const std::string isa = b.manifest["isa"].get<std::string>();
  if (isa != name(host_isa()))
    b.notes.push_back(fmt::format("kernels are for {}, this host runs {}: compiled again", isa,
                                  name(host_isa())));
  else if (options.recompile)
    b.notes.emplace_back("the native code of the bundle is ignored: compiled again");
  if (!options.recompile) codegen::KernelCache::instance().add_folder(folder / "kernels");
  auto graph = TENON_TRY(placed(read_graph(folder), here));
  engine::CompileOptions compile;
  compile.is_final = b.backend == b.manifest["backend"].get<std::string>();
  b.executable = TENON_TRY(placed(
      engine::compile(std::move(graph), *TENON_TRY(engine::backend_named(b.backend)), compile),
      here));
  return b;
}

}  // namespace tenon::migrate
