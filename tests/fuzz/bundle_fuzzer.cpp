// Bundles: the input's first line names a file of a sound bundle, the rest takes its place. Sizes
// and checksums of the manifest follow, so that the readers behind them are reached.
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/ir/text.h"
#include "tenon/migrate/bundle.h"
#include "tenon/ops/registry.h"
#include "tests/fuzz/entry.h"

namespace {

namespace fs = std::filesystem;
using namespace tenon;

constexpr std::string_view kModel =
    R"(graph "main"(%0 "x": f32[N, 4]) {
  const %1 "w": f32[4, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %2 "h": f32[N, 3] = matmul(%0, %1)
  %3 "y": f32[N, 3] = relu(%2)
  return %3 "y"
}
)";

// A folder that goes when the process does.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tenon-fuzz-XXXXXX").string();
    TENON_CHECK(mkdtemp(pattern.data()) != nullptr, "no temporary folder {}", pattern);
    path_ = pattern;
    auto graph = parse_graph(kModel, ops::table());
    TENON_CHECK(graph.ok(), "the model of the fuzzer: {}", graph.error().text());
    auto executable = engine::compile(std::move(*graph), **engine::backend_named("reference"), {});
    TENON_CHECK(executable.ok(), "{}", executable.error().text());
    migrate::BundleContent content{.executable = executable->get(), .backend = "reference"};
    const Status written = migrate::write_bundle(bundle(), content);
    TENON_CHECK(written.ok(), "{}", written.error().text());
    manifest_ = *parse_json(*read_file(bundle() / "manifest.json"));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path bundle() const { return path_ / "model.tenon"; }
  const Json& manifest() const { return manifest_; }

 private:
  fs::path path_;
  Json manifest_;
};

void put(const fs::path& path, std::string_view content) {
  const Status written = write_file_atomic(path, content);
  TENON_CHECK(written.ok(), "{}", written.error().text());
}

// The manifest with the size and checksum that `content` has.
std::string manifest_for(Json manifest, const std::string& name, std::string_view content) {
  const uLong crc = crc32(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(content.data()),
                          static_cast<uInt>(content.size()));
  manifest["files"][name] = {{"bytes", content.size()},
                             {"checksum", fmt::format("crc32:{:08x}", static_cast<unsigned>(crc))}};
  return manifest.dump();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view input = fuzz::text(data, size);
  const auto line = std::min(input.find('\n'), input.size());
  const std::string name(input.substr(0, line));
  const std::string_view content = input.substr(std::min(line + 1, input.size()));
  if (name != "manifest.json" && !folder.manifest()["files"].contains(name)) return 0;
  const std::string sound = *read_file(folder.bundle() / name);
  if (name != "manifest.json")
    put(folder.bundle() / "manifest.json", manifest_for(folder.manifest(), name, content));
  put(folder.bundle() / name, content);
  static_cast<void>(migrate::open_bundle(folder.bundle()));
  put(folder.bundle() / name, sound);
  put(folder.bundle() / "manifest.json", folder.manifest().dump());
  return 0;
}
