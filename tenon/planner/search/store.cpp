#include "tenon/planner/search/store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tenon/base/file.h"

namespace tenon::planner {
namespace {

constexpr std::size_t most_recalled = 64, most_kept = 4096;

Result<std::vector<std::string>> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  if (!std::filesystem::exists(file)) return lines;
  const std::string text = TENON_TRY(read_file(file, std::size_t{1} << 26));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

Status recall(const std::filesystem::path& file, std::string_view family,
              std::vector<Plan>& plans) {
  const std::vector<std::string> lines = TENON_TRY(lines_of(file));
  std::size_t found = 0;
  for (std::size_t i = lines.size(); i > 0 && found < most_recalled; --i) {
    const nlohmann::json json = nlohmann::json::parse(lines[i - 1], nullptr, false);
    const std::string where = fmt::format("{}:{}", file.string(), i);
    if (!json.is_object() || !json.contains("family") || !json.contains("plan")) {
      return invalid("not a stored plan").at(where).with_help("remove the line, or the file");
    }
    if (json["family"] != family) continue;
    plans.push_back(TENON_TRY(parse_plan(json["plan"].dump(), where)).plan);
    ++found;
  }
  return {};
}

Status remember(const std::filesystem::path& file, std::string_view family, const Plan& plan) {
  std::vector<std::string> lines = TENON_TRY(lines_of(file));
  const nlohmann::ordered_json entry = {{"family", family}, {"plan", to_json(plan)}};
  const std::string line = entry.dump();
  std::erase(lines, line);
  lines.push_back(line);
  if (lines.size() > most_kept) lines.erase(lines.begin(), lines.end() - most_kept);
  std::string text;
  for (const std::string& kept : lines) text += kept + "\n";
  return write_file_atomic(file, text);
}

}  // namespace tenon::planner
