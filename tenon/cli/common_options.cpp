#include "tenon/cli/common_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "tenon/base/closest.h"

namespace tenon::cli {
namespace {

std::string check_threads(const std::string& text) {
  int value = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 4096)
    return {};
  return fmt::format("'{}' is not a number from 0 to 4096", text);
}

}  // namespace

void add_choice(CLI::App& app, const std::string& option, std::string& into,
                std::vector<std::string> choices, const std::string& description) {
  const std::string form = fmt::format("{}", fmt::join(choices, "|"));
  const auto check = [choices](const std::string& value) -> std::string {
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
    const std::string guess = did_you_mean(value, choices);
    return fmt::format("'{}' is none of {}{}{}", value, fmt::join(choices, ", "),
                       guess.empty() ? "" : "; ", guess);
  };
  app.add_option(option, into, description)->type_name(form)->check(check)->capture_default_str();
}

void add_common_options(CLI::App& app, CommonOptions& options) {
  const std::string group = app.get_option("--help")->get_group();
  app.option_defaults()->group("Common options");
  app.add_option("--threads", options.num_threads, "threads to use (0: all that the process may)")
      ->type_name("N")
      ->check(check_threads);
  app.add_option("--seed", options.seed, "seed of everything random")->type_name("N");
  add_choice(app, "--backend", options.backend, {"cpu", "reference", "null"},
             "what runs the graph");
  add_choice(app, "--precision", options.precision, {"fp32", "bf16", "fp16", "int8"},
             "arithmetic that the result may use");
  app.add_flag("--json", options.json, "print one JSON object instead of text");
  app.add_flag("--verbose", options.verbose, "say more on stderr");
  app.add_flag("--quiet", options.quiet, "say less on stderr");
  app.set_version_flag("--version", "", "print the version");
  app.option_defaults()->group(group);
}

}  // namespace tenon::cli
