// Tells the form of a model file and hands it to its reader.
#include "tenon/migrate/model_file.h"

#include "tenon/base/file.h"
#include "tenon/formats/checkpoint/checkpoint.h"
#include "tenon/ir/text.h"
#include "tenon/ops/registry.h"

namespace tenon::migrate {
namespace {

constexpr std::string_view kTextStart = "graph \"";  // how the text form begins

Result<ModelFile> open_text(const std::filesystem::path& path) {
  const std::string text = TENON_TRY(read_file(path));
  ModelFile m;
  m.format = "tenon-text";
  m.graph = TENON_TRY_AT(path.string(), parse_graph(text, ops::table()));
  return m;
}

Result<ModelFile> open_onnx(const std::filesystem::path& path, const OpenOptions& options) {
  onnx::ReadOptions read;
  read.shapes = options.shapes;
  read.free_batch = options.free_batch;
  onnx::Imported imported = TENON_TRY(onnx::read(path, read));
  ModelFile m;
  m.format = "onnx";
  m.graph = std::move(imported.graph);
  m.opsets = std::move(imported.opsets);
  m.producer = std::move(imported.producer);
  m.warnings = std::move(imported.warnings);
  m.data_files = std::move(imported.data_files);
  m.baked_batch = std::move(imported.baked_batch);
  return m;
}

// A checkpoint of training, or a run's folder, whose newest whole checkpoint is meant.
Result<ModelFile> open_checkpoint(const std::filesystem::path& path) {
  std::filesystem::path folder = path;
  if (const auto newest = checkpoint::newest_whole(path / "checkpoints")) folder = *newest;
  if (!checkpoint::is_checkpoint(folder))
    return unsupported("a folder that is neither a checkpoint nor a run is no model")
        .at(path.string());
  ModelFile m;
  m.format = "checkpoint";
  m.graph = std::move(TENON_TRY(checkpoint::read(folder, false)).model);
  return m;
}

}  // namespace

Result<ModelFile> open_model(const std::filesystem::path& path, const OpenOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    return not_found("there is no model at this path")
        .at(path.string())
        .with_help("check the path");
  if (std::filesystem::is_directory(path, ignored)) return open_checkpoint(path);
  auto mapped = TENON_TRY_AT(path.string(), MappedFile::open(path));
  const std::string_view start(reinterpret_cast<const char*>(mapped->bytes().data()),
                               std::min<std::size_t>(mapped->bytes().size(), kTextStart.size()));
  return start == kTextStart ? open_text(path) : open_onnx(path, options);
}

}  // namespace tenon::migrate
