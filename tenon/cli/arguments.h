// Options of the form NAME=VALUE that several commands share: --input NAME=FILE, --shape
// NAME=1,3,224,224.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/tensor.h"

namespace CLI {
class App;
}

namespace tenon::cli {

/// `--input NAME=FILE`; the name is empty where it was left out.
struct NamedFile {
  std::string name;
  std::string file;
};

/// `--shape NAME=1,3,224,224` (or 1x3x224x224); the name is empty where it was left out, the dims
/// are empty for a scalar (`NAME=`).
struct NamedShape {
  std::string name;
  Dims dims;
};

/// Splits at the first '='; a text that names an existing file is taken whole, so that files with
/// '=' in their names work.
Result<NamedFile> parse_named_file(std::string_view text);
/// Splits at the last '='; dims are non-negative and at most 2^63 - 1.
Result<NamedShape> parse_named_shape(std::string_view text);

/// Declares the repeatable option; a malformed value is wrong usage (exit code 2).
void add_named_files(CLI::App& app, const std::string& option, std::vector<NamedFile>& into,
                     const std::string& description);
void add_named_shapes(CLI::App& app, const std::string& option, std::vector<NamedShape>& into,
                      const std::string& description);

/// Fills in the one name that was left out and checks names against `known` (a model's inputs): an
/// unknown name, a repeated one and a missing one are errors that list what there is. `option` is
/// used in the messages.
Status resolve_names(std::span<NamedFile> values, std::span<const std::string> known,
                     std::string_view option);
Status resolve_names(std::span<NamedShape> values, std::span<const std::string> known,
                     std::string_view option);

}  // namespace tenon::cli
