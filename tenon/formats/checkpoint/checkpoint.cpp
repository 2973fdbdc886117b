// Writing, checking and reading checkpoints.
#include "tenon/formats/checkpoint/checkpoint.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/safetensors.h"
#include "tenon/base/version.h"
#include "tenon/ir/text.h"
#include "tenon/ops/registry.h"

namespace tenon::checkpoint {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSchema = "tenon.checkpoint/1";
constexpr std::array<const char*, 4> kFiles = {"graph.txt", "model.safetensors",
                                               "state.safetensors", "state.json"};

// CRC-32: finds damage at a gigabyte a second. It is no seal.
std::string checksum(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - at, std::size_t{1} << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + at), static_cast<uInt>(n));
    at += n;
  }
  return fmt::format("crc32:{:08x}", static_cast<unsigned>(crc));
}

// Keys of constants: their names, made distinct where several have one.
std::map<const Value*, std::string> keys_of(const Graph& graph) {
  std::map<const Value*, std::string> keys;
  std::map<std::string, int> seen;
  for (const Value* v : graph.constants()) {
    std::string key = v->name().empty() ? fmt::format("constant.{}", v->id()) : v->name();
    // Quotes end a key in the text form.
    std::replace(key.begin(), key.end(), '"', '_');
    if (const int n = seen[key]++) key += fmt::format("#{}", n);
    keys[v] = key;
  }
  return keys;
}

Status write_model(const fs::path& at, const Graph& model) {
  const auto keys = keys_of(model);
  NamedTensors tensors;
  std::map<const Value*, std::string> other;  // constants of regions
  TextOptions text;
  text.key = [&](const Value& v) {
    const auto it = keys.find(&v);
    const std::string key =
        it != keys.end() ? it->second : fmt::format("region.{}", tensors.size());
    if (v.tensor().dtype() != DType::string) tensors.emplace_back(key, v.tensor());
    return key;
  };
  text.max_inline = 0;
  TENON_TRY(write_file_atomic(at / "graph.txt", to_text(model, text)));
  return write_safetensors(at / "model.safetensors", tensors);
}

Result<Json> read_manifest(const fs::path& folder) {
  Json m = TENON_TRY(read_json(folder / "checkpoint.json", std::size_t{1} << 24));
  if (!m.is_object() || m.value("schema", "") != kSchema)
    return unsupported("this is no checkpoint of form {}", kSchema).at(folder.string());
  if (!m.contains("files") || !m["files"].is_object())
    return invalid("the manifest lists no files").at(folder.string());
  return m;
}

}  // namespace

Status write(const fs::path& folder, const Graph& model, const NamedTensors& state,
             const Json& run) {
  std::error_code e;
  fs::create_directories(folder.parent_path(), e);
  if (e)
    return io_error("cannot make the folder: {}", e.message()).at(folder.parent_path().string());
  auto directory = TENON_TRY(AtomicDirectory::create(folder));
  const fs::path& at = directory.path();
  TENON_TRY(write_model(at, model));
  TENON_TRY(write_safetensors(at / "state.safetensors", state));
  TENON_TRY(write_file_atomic(at / "state.json", write_json(run, 1) + "\n"));
  Json files = Json::object();
  for (const char* name : kFiles) {
    auto mapped = TENON_TRY(MappedFile::open(at / name));
    files[name] = {{"bytes", mapped->size()}, {"checksum", checksum(mapped->text())}};
  }
  const Json manifest = {{"schema", kSchema}, {"tenon", std::string(version())}, {"files", files}};
  TENON_TRY(write_file_atomic(at / "checkpoint.json", write_json(manifest, 1) + "\n"));
  return directory.commit();
}

bool is_checkpoint(const fs::path& folder) {
  std::error_code e;
  return fs::is_regular_file(folder / "checkpoint.json", e) && read_manifest(folder).ok();
}

Status verify(const fs::path& folder) {
  const Json m = TENON_TRY(read_manifest(folder));
  for (const char* name : kFiles) {
    if (!m["files"].contains(name))
      return invalid("the manifest does not list {}", name).at(folder.string());
    const Json& entry = m["files"][name];
    auto mapped = TENON_TRY_AT(folder.string(), MappedFile::open(folder / name));
    if (!entry.is_object() || entry.value("bytes", std::size_t{0}) != mapped->size() ||
        entry.value("checksum", "") != checksum(mapped->text()))
      return invalid("{} is damaged: size or checksum are not the manifest's", name)
          .at(folder.string());
  }
  return {};
}

Result<Checkpoint> read(const fs::path& folder, bool with_state) {
  TENON_TRY(verify(folder));
  Checkpoint c;
  const Safetensors weights =
      TENON_TRY_AT(folder.string(), Safetensors::open(folder / "model.safetensors"));
  const std::string text = TENON_TRY_AT(folder.string(), read_file(folder / "graph.txt"));
  c.model = TENON_TRY_AT(
      (folder / "graph.txt").string(),
      parse_graph(text, ops::table(), [&](std::string_view key) { return weights.tensor(key); }));
  c.run = TENON_TRY(read_json(folder / "state.json"));
  if (!with_state) return c;
  const Safetensors state =
      TENON_TRY_AT(folder.string(), Safetensors::open(folder / "state.safetensors"));
  for (const SafetensorsEntry& entry : state.entries())
    c.state.emplace_back(entry.name, TENON_TRY(state.tensor(entry)));
  return c;
}

std::vector<fs::path> newest_first(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code e;
  for (const auto& entry : fs::directory_iterator(folder, e)) {
    const std::string name = entry.path().filename().string();
    std::int64_t step = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), step);
    if (problem == std::errc() && end == name.data() + name.size() && entry.is_directory(e))
      found.emplace_back(step, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::optional<fs::path> newest_whole(const fs::path& folder) {
  for (const fs::path& path : newest_first(folder))
    if (verify(path).ok()) return path;
  return std::nullopt;
}

}  // namespace tenon::checkpoint
