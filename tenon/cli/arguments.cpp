#include "tenon/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "tenon/base/closest.h"

namespace tenon::cli {
namespace {

Result<std::int64_t> parse_dim(std::string_view text, std::string_view whole) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range) {
    return invalid("dimension '{}' of '{}' is too large", text, whole);
  }
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) {
    return invalid("dimension '{}' of '{}' is not a number from 0 on", text, whole)
        .with_help("write a shape as NAME=1,3,224,224");
  }
  return value;
}

template <class Named>
Status resolve(std::span<Named> values, std::span<const std::string> known,
               std::string_view option) {
  std::set<std::string> seen;
  for (Named& value : values) {
    if (value.name.empty()) {
      if (known.size() != 1) {
        return invalid("{} without a name, but there are {} inputs", option, known.size())
            .with_help(
                fmt::format("write {} NAME=VALUE; names: {}", option, fmt::join(known, ", ")));
      }
      value.name = known.front();
    }
    if (std::find(known.begin(), known.end(), value.name) == known.end()) {
      const std::string guess = did_you_mean(value.name, known);
      return invalid("{} names '{}', which is not an input", option, value.name)
          .with_help(guess.empty() ? fmt::format("inputs: {}", fmt::join(known, ", ")) : guess);
    }
    if (!seen.insert(value.name).second) {
      return invalid("{} gives '{}' twice", option, value.name).with_help("give each input once");
    }
  }
  return {};
}

/// Declares a repeatable option whose values go through `parse`.
template <class Named>
void add_named(CLI::App& app, const std::string& option, std::vector<Named>& into,
               const std::string& description, Result<Named> (*parse)(std::string_view),
               const char* form) {
  const auto take = [&into, parse, option](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      auto value = parse(text);
      if (!value.ok()) throw CLI::ValidationError(option, value.error().text());
      into.push_back(std::move(*value));
    }
  };
  app.add_option_function<std::vector<std::string>>(option, take, description)
      ->type_name(form)
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

Result<NamedFile> parse_named_file(std::string_view text) {
  const auto split = text.find('=');
  std::error_code ignored;
  if (split == std::string_view::npos || std::filesystem::exists(text, ignored)) {
    if (text.empty()) return invalid("an empty file name").with_help("write NAME=FILE");
    return NamedFile{{}, std::string(text)};
  }
  if (split == 0)
    return invalid("'{}' has no name before the '='", text).with_help("write NAME=FILE");
  if (split + 1 == text.size()) {
    return invalid("'{}' has no file after the '='", text).with_help("write NAME=FILE");
  }
  return NamedFile{std::string(text.substr(0, split)), std::string(text.substr(split + 1))};
}

Result<NamedShape> parse_named_shape(std::string_view text) {
  const auto split = text.rfind('=');
  NamedShape shape;
  std::string_view dims = text;
  if (split != std::string_view::npos) {
    shape.name = text.substr(0, split);
    dims = text.substr(split + 1);
    if (shape.name.empty()) {
      return invalid("'{}' has no name before the '='", text).with_help("write NAME=1,3,224,224");
    }
    if (dims.empty()) return shape;
  }
  const char separator = dims.find(',') == std::string_view::npos ? 'x' : ',';
  for (std::size_t begin = 0; begin <= dims.size();) {
    const std::size_t end = std::min(dims.find(separator, begin), dims.size());
    shape.dims.push_back(TENON_TRY(parse_dim(dims.substr(begin, end - begin), text)));
    begin = end + 1;
  }
  return shape;
}

void add_named_files(CLI::App& app, const std::string& option, std::vector<NamedFile>& into,
                     const std::string& description) {
  add_named<NamedFile>(app, option, into, description, parse_named_file, "NAME=FILE");
}

void add_named_shapes(CLI::App& app, const std::string& option, std::vector<NamedShape>& into,
                      const std::string& description) {
  add_named<NamedShape>(app, option, into, description, parse_named_shape, "NAME=D0,D1,...");
}

Status resolve_names(std::span<NamedFile> values, std::span<const std::string> known,
                     std::string_view option) {
  return resolve(values, known, option);
}

Status resolve_names(std::span<NamedShape> values, std::span<const std::string> known,
                     std::string_view option) {
  return resolve(values, known, option);
}

}  // namespace tenon::cli
