// Declares the options that every command takes.
#pragma once

#include "tenon/cli/command.h"

namespace tenon::cli {

void add_common_options(CLI::App& app, CommonOptions& options);

/// An option that takes one of `choices`; another value is wrong usage, with a suggestion.
void add_choice(CLI::App& app, const std::string& option, std::string& into,
                std::vector<std::string> choices, const std::string& description);

}  // namespace tenon::cli
