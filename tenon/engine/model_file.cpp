#include "tenon/engine/model_file.h"

#include "tenon/base/file.h"
#include "tenon/ir/text.h"
#include "tenon/ops/registry.h"

namespace tenon::engine {
namespace {

/// Tenon's text begins with the word, after blank lines and comments.
bool is_tenon_text(std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes.starts_with("graph ")) return true;
    const bool skippable = bytes.starts_with("//") || bytes.front() == '\n' || bytes.front() == ' ';
    if (!skippable) return false;
    bytes.remove_prefix(bytes.front() == ' ' ? 1
                                             : std::min(bytes.find('\n'), bytes.size() - 1) + 1);
  }
  return false;
}

}  // namespace

Result<ModelFile> read_model(const std::filesystem::path& path) {
  const std::string bytes = TENON_TRY(read_file(path));
  if (!is_tenon_text(bytes))
    return unsupported("not a kind of model file that is known here").at(path.string());
  return ModelFile{TENON_TRY_AT(path.string(), parse_graph(bytes, ops::table())), "tenon_text"};
}

}  // namespace tenon::engine
