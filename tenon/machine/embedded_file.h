// Text files compiled into the library (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace tenon {

struct EmbeddedFile {
  std::string_view name;  // file name without folder
  std::string_view text;
};

/// data/machines/*.toml.
std::span<const EmbeddedFile> machine_files();

}  // namespace tenon
