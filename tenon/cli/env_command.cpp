// tenon env: the machine as Tenon sees it.
#include <fmt/format.h>

#include <CLI/Version.hpp>

#include "tenon/backends/cpu/cpu_backend.h"
#include "tenon/base/version.h"
#include "tenon/cli/command.h"
#include "tenon/engine/engine.h"
#include "tenon/machine/host_cpu.h"

namespace tenon::cli {
namespace {

Json cpu_json(const HostCpu& cpu) {
  return {{"model", cpu.model},
          {"vendor", cpu.vendor},
          {"architecture", cpu.architecture},
          {"num_cores", cpu.num_cores},
          {"memory_bytes", cpu.memory_bytes},
          {"l1_data_bytes", cpu.l1_data_bytes},
          {"l2_bytes", cpu.l2_bytes},
          {"l3_bytes", cpu.l3_bytes}};
}

Json versions_json() {
  return {{"tenon", std::string(version())},
          {"compiler", __VERSION__},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
          {"onednn", backends::onednn_version()},
          {"cli11", CLI11_VERSION}};
}

Json paths_json(const std::vector<CodePath>& paths) {
  Json rows = Json::array();
  for (const CodePath& path : paths) {
    rows.push_back({{"path", std::string(name(path.isa))}, {"used", path.used}, {"why", path.why}});
  }
  return rows;
}

/// What a model can be migrated to: backends of this build, all on the local machine so far.
Json targets_json(const HostCpu& cpu) {
  Json targets = Json::array();
  for (const std::string_view backend : engine::backend_names()) {
    targets.push_back({{"name", std::string(backend)},
                       {"architecture", cpu.architecture},
                       {"isa", std::string(name(host_isa()))},
                       {"local", true}});
  }
  return targets;
}

std::string text_of(const HostCpu& cpu, const std::vector<CodePath>& paths, const Json& versions) {
  constexpr double kGibi = 1 << 30;
  std::string text =
      fmt::format("cpu         {} ({}, {})\n", cpu.model, cpu.vendor, cpu.architecture);
  text += fmt::format("cores       {}\n", cpu.num_cores);
  text += fmt::format("memory      {:.1f} GiB\n", static_cast<double>(cpu.memory_bytes) / kGibi);
  text += fmt::format("caches      L1d {} KiB, L2 {} KiB, L3 {} KiB\n", cpu.l1_data_bytes >> 10,
                      cpu.l2_bytes >> 10, cpu.l3_bytes >> 10);
  text += fmt::format("features    {}\n", fmt::join(feature_names(cpu.features), " "));
  for (const CodePath& path : paths) {
    text += fmt::format("path        {:<7} {:<8} {}\n", name(path.isa),
                        path.used ? "used" : "not used", path.why);
  }
  text += fmt::format("backends    {}\n", fmt::join(engine::backend_names(), " "));
  for (const auto& [what, number] : versions.items()) {
    text += fmt::format("version     {:<14} {}\n", what, number.get<std::string>());
  }
  return text;
}

Result<Answer> run(Context&) {
  const HostCpu& cpu = host_cpu();
  const std::vector<CodePath> paths = code_paths(cpu.features, isa_limit());
  const Json versions = versions_json();
  Json json = {{"schema", "tenon.env/1"},
               {"cpu", cpu_json(cpu)},
               {"features", feature_names(cpu.features)},
               {"code_paths", paths_json(paths)},
               {"targets", targets_json(cpu)},
               {"versions", versions}};
  return Answer{std::move(json), text_of(cpu, paths, versions)};
}

Runner declare(CLI::App&) { return run; }

}  // namespace

Command env_command() {
  return {.name = "env",
          .summary = "the machine as Tenon sees it, and which code paths it will use",
          .examples = {"tenon env", "tenon env --json", "TENON_ISA=avx2 tenon env"},
          .declare = declare};
}

}  // namespace tenon::cli
