// Which operators the cpu backend leaves to the interpreter: a walk over the registry, held against
// docs/interpreted_operators.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tenon/base/file.h"
#include "tenon/engine/engine.h"
#include "tenon/ops/registry.h"
#include "tests/ops/facets.h"

namespace tenon {
namespace {

constexpr std::size_t kMost = 40;

// Core operators of which the backend takes no sample, in any form: "name" -> its reason. Composed
// ones run through their parts, and control flow through its regions.
std::map<std::string, std::string> interpreted() {
  const Backend& cpu = **engine::backend_named("cpu");
  std::map<std::string, std::string> left;
  for (const Operator* op : ops::all()) {
    if (op->decompose || op->has(Trait::control_flow)) continue;
    bool taken = false;
    std::string reason;
    for (const Sample& s : op->samples) {
      if (!s.rejected_because.empty()) continue;
      const ops::Instance x(*op, s);
      if (!x.status().ok()) continue;
      const Verdict v = cpu.supports(x.node());
      taken = taken || v;
      if (!v) reason = v.reason;
    }
    if (!taken) left.emplace(op->name, reason);
  }
  return left;
}

// Names in the page's tables: lines that begin with "| `".
std::set<std::string> listed() {
  auto page = read_file(std::filesystem::path(TENON_DOCS) / "interpreted_operators.md");
  std::set<std::string> names;
  if (!page.ok()) return names;
  for (std::size_t at = 0; (at = page->find("\n| `", at)) != std::string::npos;) {
    at += 4;
    names.insert(page->substr(at, page->find('`', at) - at));
  }
  return names;
}

TEST(CpuBackend, LeavesToTheInterpreterWhatThePageLists) {
  const auto left = interpreted();
  EXPECT_LE(left.size(), kMost);
  std::set<std::string> names;
  for (const auto& [name, reason] : left) {
    names.insert(name);
    EXPECT_NE(reason, "") << name;
  }
  std::string page;
  for (const auto& [name, reason] : left) page += "| `" + name + "` | " + reason + " |\n";
  EXPECT_EQ(names, listed()) << left.size() << " operators:\n" << page;
}

}  // namespace
}  // namespace tenon
