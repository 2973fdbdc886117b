// The registry: one entry for each line of manifest.def, no static constructors.
#include "tenon/ops/registry.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "tenon/ir/builder.h"
#include "tenon/ops/interpreter.h"

namespace tenon::ops {

#define OP(fn) Operator fn();
#include "tenon/ops/manifest.def"
#undef OP

namespace {

struct Registry : OperatorTable {
  std::vector<std::unique_ptr<const Operator>> pages;
  std::unordered_map<std::string_view, const Operator*> by_name;
  std::vector<const Operator*> sorted;

  Registry() {
#define OP(fn) pages.push_back(std::make_unique<const Operator>(fn()));
#include "tenon/ops/manifest.def"
#undef OP
    for (const auto& page : pages) {
      TENON_CHECK(by_name.emplace(page->name, page.get()).second, "two pages are named {}",
                  page->name);
      sorted.push_back(page.get());
    }
    std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->name < b->name; });
    set_contents_evaluator(
        [](const Node& node, const Datums& inputs) { return interpret(node, inputs); });
  }
  const Operator* find(std::string_view name) const override {
    auto it = by_name.find(name);
    return it == by_name.end() ? nullptr : it->second;
  }
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

}  // namespace

const OperatorTable& table() { return registry(); }
const std::vector<const Operator*>& all() { return registry().sorted; }
const Operator* find(std::string_view name) { return registry().find(name); }

}  // namespace tenon::ops
