// Runs a folder of ONNX backend cases on the interpreter: NAME/model.onnx and
// NAME/test_data_set_*/{input,output}_*.pb. usage: tenon_onnx_suite FOLDER [PART_OF_A_NAME
// [RELATIVE ABSOLUTE]]    prints failures with their reasons and a count; 1 when there are any.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tenon/formats/onnx/read.h"
#include "tenon/ops/interpreter.h"

namespace fs = std::filesystem;

namespace tenon::onnx {
namespace {

// The suite's own tolerance for node tests, unless others are given.
double g_relative = 1e-3, g_absolute = 1e-7;

// |a - b| <= absolute + relative |b|; not-a-number equals itself.
bool near(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= g_absolute + g_relative * std::fabs(b);
}

std::string difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    return fmt::format("type is {} but must be {}", name(a.dtype()), name(b.dtype()));
  if (a.dims() != b.dims())
    return fmt::format("shape is {} but must be {}", to_text(a.dims()), to_text(b.dims()));
  if (a.dtype() == DType::string) {
    for (std::size_t i = 0; i < a.data<std::string>().size(); ++i)
      if (a.data<std::string>()[i] != b.data<std::string>()[i])
        return fmt::format("element {} is '{}' but must be '{}'", i, a.data<std::string>()[i],
                           b.data<std::string>()[i]);
    return {};
  }
  const auto x = to_complexes(a), y = to_complexes(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!near(x[i].real(), y[i].real()) || !near(x[i].imag(), y[i].imag()))
      return fmt::format("element {} is {} but must be {}", i, x[i].real(), y[i].real());
  return {};
}

std::string difference(const Datum& a, const Datum& b) {
  if (a.is_tensor() && b.is_tensor()) return difference(a.tensor(), b.tensor());
  if (a.is_absent() || b.is_absent()) return a.is_absent() == b.is_absent() ? "" : "one is absent";
  if (!a.is_sequence() || !b.is_sequence()) return "kinds differ";
  if (a.items().size() != b.items().size())
    return fmt::format("{} items but must be {}", a.items().size(), b.items().size());
  for (std::size_t i = 0; i < a.items().size(); ++i)
    if (std::string d = difference(a.items()[i], b.items()[i]); !d.empty())
      return fmt::format("item {}: {}", i, d);
  return {};
}

// The types that the file declares say how its value files are coded.
Result<std::string> run_set(const fs::path& model, const fs::path& set) {
  const Imported imported = TENON_TRY(read(model));
  const Graph& graph = *imported.graph;
  Datums inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    inputs.push_back(
        TENON_TRY(read_datum(set / fmt::format("input_{}.pb", i), graph.inputs()[i]->type())));
  const Datums outputs = TENON_TRY(ops::interpret(graph, inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = set / fmt::format("output_{}.pb", i);
    const Datum expected = TENON_TRY(read_datum(file, graph.outputs()[i]->type()));
    if (std::string d = difference(outputs[i], expected); !d.empty())
      return fmt::format("output {}: {}", i, d);
  }
  return std::string();
}

std::string run_case(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  for (const fs::path& set : sets) {
    auto outcome = run_set(folder / "model.onnx", set);
    if (!outcome.ok()) {
      std::string text = outcome.error().text();
      for (const Error& e : outcome.error().others) text += "\n    " + e.text();
      return text;
    }
    if (!outcome->empty()) return *outcome;
  }
  return {};
}

int run(const fs::path& root, std::string_view part) {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx") &&
        entry.path().filename().string().find(part) != std::string::npos)
      cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  int passed = 0;
  for (const fs::path& folder : cases) {
    const std::string problem = run_case(folder);
    passed += problem.empty();
    if (!problem.empty()) fmt::print("{}: {}\n", folder.filename().string(), problem);
    std::fflush(stdout);
  }
  fmt::print("{} of {} pass\n", passed, cases.size());
  return passed == static_cast<int>(cases.size()) ? 0 : 1;
}

}  // namespace
}  // namespace tenon::onnx

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} FOLDER [PART_OF_A_NAME [RELATIVE ABSOLUTE]]\n", argv[0]);
    return 2;
  }
  if (argc > 4) {
    tenon::onnx::g_relative = std::strtod(argv[3], nullptr);
    tenon::onnx::g_absolute = std::strtod(argv[4], nullptr);
  }
  return tenon::onnx::run(argv[1], argc > 2 ? argv[2] : "");
}
