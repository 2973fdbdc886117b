#include "tenon/cli/output.h"

namespace tenon::cli {
namespace {

constexpr std::size_t kShownProblems = 20;

Json problem_json(const Error& error) {
  return {{"code", std::string(name(error.code))},
          {"message", error.message},
          {"where", error.where},
          {"help", error.help}};
}

}  // namespace

Json error_json(const Error& error, std::string_view code) {
  Json inner = problem_json(error);
  inner["code"] = std::string(code);
  if (!error.others.empty()) {
    Json& problems = inner["problems"] = Json::array();
    for (const Error& other : error.others) problems.push_back(problem_json(other));
  }
  return {{"error", inner}};
}

void print_error(Console& console, const Error& error) {
  std::string text = error.text();
  for (std::size_t i = 0; i < error.others.size() && i < kShownProblems; ++i) {
    text += "\n  " + error.others[i].text();
  }
  if (error.others.size() > kShownProblems) {
    text += fmt::format("\n  and {} more (all with --json)", error.others.size() - kShownProblems);
  }
  console.labelled("error:", text);
  if (!error.help.empty()) console.labelled("help:", error.help);
}

Status print_answer(std::FILE* out, const Answer& answer, bool as_json) {
  std::string text = answer.text;
  if (as_json) text = answer.json.is_null() ? "" : write_json(answer.json);
  if (!text.empty() && text.back() != '\n') text += '\n';
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (!written || std::fflush(out) != 0) return io_error("cannot write to standard output");
  return {};
}

}  // namespace tenon::cli
