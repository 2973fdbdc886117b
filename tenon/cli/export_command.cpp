// tenon export: a model written as ONNX.
#include <CLI/CLI.hpp>

#include "tenon/cli/command.h"
#include "tenon/formats/onnx/write.h"
#include "tenon/migrate/model_file.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string model, output;
};

Result<Answer> run(const Options& options, Context&) {
  const migrate::ModelFile file = TENON_TRY(migrate::open_model(options.model));
  const onnx::Written written = TENON_TRY(onnx::write(*file.graph, options.output));
  Answer answer;
  answer.json = {{"schema", "tenon.export/1"}, {"file", options.output}, {"lost", written.lost}};
  answer.text = fmt::format("{} -> {}\n", options.model, options.output);
  for (const std::string& l : written.lost) answer.text += "lost  " + l + "\n";
  return answer;
}

Runner declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model file")->required();
  app.add_option("-o,--output", options->output, "the ONNX file to write")->required();
  return [options](Context& context) { return run(*options, context); };
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "write a model as ONNX",
          .examples = {"tenon export model.tenon.txt -o model.onnx"},
          .declare = declare};
}

}  // namespace tenon::cli
