// Reads ONNX models and writes them again, for tests that hand the results to other engines.
// usage: tenon_onnx_rewrite < LIST    each line is "IN<tab>OUT"; answers each with "ok" or "error:
// ..." on one line.
#include <fmt/core.h>

#include <iostream>
#include <string>

#include "tenon/formats/onnx/read.h"
#include "tenon/formats/onnx/write.h"

namespace {

std::string rewrite(const std::string& in, const std::string& out) {
  auto imported = tenon::onnx::read(in);
  if (!imported.ok()) return "error: " + imported.error().text();
  auto written = tenon::onnx::write(*imported->graph, out);
  return written.ok() ? "ok" : "error: " + written.error().text();
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto tab = line.find('\t');
    if (tab == line.npos) {
      fmt::print(stderr, "error: a line without a tab: {}\n", line);
      return 2;
    }
    fmt::print("{}\n", rewrite(line.substr(0, tab), line.substr(tab + 1)));
    std::fflush(stdout);
  }
  return 0;
}
