// tenon export: a model written as ONNX, or in Tenon's own text or JSON form.
#include <CLI/CLI.hpp>

#include "tenon/cli/command.h"
#include "tenon/formats/onnx/write.h"
#include "tenon/migrate/graph_file.h"
#include "tenon/migrate/model_file.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, output;
};

// The end of the name says the form: .json, .txt, anything else ONNX.
Result<std::vector<std::string>> write(const Graph& graph, const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension != ".json" && extension != ".txt") return TENON_TRY(onnx::write(graph, path)).lost;
  TENON_TRY(migrate::write_graph_file(
      graph, path, extension == ".json" ? migrate::GraphForm::json : migrate::GraphForm::text));
  return std::vector<std::string>();  // Tenon's own forms hold everything
}

Result<Answer> run(const Options& options, Context&) {
  const migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  const auto lost = TENON_TRY(write(*file.graph, options.output));
  Answer answer;
  answer.json = {{"schema", "tenon.export/1"}, {"file", options.output}, {"lost", lost}};
  answer.text = fmt::format("{} -> {}\n", options.model, options.output);
  for (const std::string& l : lost) answer.text += "lost  " + l + "\n";
  return answer;
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model file")->required();
  app.add_option("-o,--output", options->output,
                 "the file to write: NAME.onnx, or NAME.json or NAME.txt for Tenon's own forms")
      ->required();
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "write a model as ONNX, JSON or text",
          .examples = {"tenon export model.tenon.txt -o model.onnx",
                       "tenon export model.onnx -o model.json"},
          .declare = declare};
}

}  // namespace tenon::cli
