// The doors: a path, or bytes in memory.
#include "tenon/formats/onnx/read.h"

#include "tenon/formats/onnx/importer_internal.h"

namespace tenon::onnx {

Result<Imported> read_bytes(std::string_view bytes, std::shared_ptr<const void> owner,
                            std::string_view name, const std::filesystem::path& folder,
                            const ReadOptions& options) {
  const ModelProto model = TENON_TRY_AT(name, parse_model(bytes));
  DataFiles files(std::move(owner), folder);
  return Importer(model, files, options, std::string(name)).run();
}

Result<Imported> read(const std::filesystem::path& path, const ReadOptions& options) {
  const auto file = TENON_TRY(MappedFile::open(path));
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  return read_bytes(file->text(), file, path.filename().string(), folder, options);
}

}  // namespace tenon::onnx
