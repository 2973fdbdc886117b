// Tells the form of a model file and hands it to its reader.
#include "tenon/migrate/model_file.h"

#include "tenon/base/file.h"
#include "tenon/formats/checkpoint/checkpoint.h"
#include "tenon/migrate/bundle.h"
#include "tenon/migrate/graph_file.h"

namespace tenon::migrate {
namespace {

constexpr std::size_t kStart = 256;  // bytes that tell the form of a file

Result<ModelFile> open_graph(const std::filesystem::path& path, GraphForm form) {
  ModelFile m;
  m.format = form == GraphForm::text ? "tenon-text" : "tenon-json";
  m.graph = TENON_TRY(read_graph_file(path, form));
  return m;
}

// The graph of a bundle, after the passes that made it.
Result<ModelFile> open_compiled(const std::filesystem::path& path) {
  const Bundle bundle = TENON_TRY(open_bundle(path, {.backend = "reference"}));
  ModelFile m;
  m.format = "bundle";
  m.graph = bundle.executable->graph().clone();
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
  if (is_bundle(path)) return open_compiled(path);
  if (std::filesystem::is_directory(path, ignored)) return open_checkpoint(path);
  auto mapped = TENON_TRY_AT(path.string(), MappedFile::open(path));
  const std::string_view start = mapped->text().substr(0, kStart);
  if (const auto form = graph_form(start)) return open_graph(path, *form);
  return open_onnx(path, options);
}

}  // namespace tenon::migrate
