// No transpose is left after compiling that another one cancels: counted on real networks.
#include "tenon/passes/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tenon/engine/engine.h"
#include "tenon/ir/text.h"
#include "tenon/migrate/model_file.h"

namespace tenon {
namespace {

// A region whose nodes all work element by element.
bool is_elementwise(const Node& node) {
  if (node.op().has(Trait::elementwise)) return true;
  if (node.op().name != "fused") return false;
  for (const Node* n : node.regions()[0]->nodes())
    if (!n->op().has(Trait::elementwise)) return false;
  return true;
}

// Transposes that `v` comes out of, through steps that would let a transpose pass.
void sources(const Value* v, int depth, std::vector<const Node*>& found) {
  const Node* n = v ? v->producer() : nullptr;
  if (!n || depth == 0) return;
  if (passes::perm_of(n)) {
    found.push_back(n);
    return;
  }
  if (!is_elementwise(*n)) return;
  for (const Value* in : n->inputs())
    if (in && in->type().ranked() && v->type().ranked() && in->type().ndim() == v->type().ndim())
      sources(in, depth - 1, found);
}

// Transposes all of whose sources are their own inverse: the elements come back to where they were.
int cancelling(const Graph& graph) {
  int count = 0;
  for (const Node* node : graph.nodes()) {
    const auto perm = passes::perm_of(node);
    if (!perm) continue;
    std::vector<const Node*> from;
    sources(node->input(0), 8, from);
    const auto undone = [&](const Node* n) { return passes::perm_of(n) == passes::inverse(*perm); };
    if (!from.empty() && std::all_of(from.begin(), from.end(), undone)) {
      ++count;
      ADD_FAILURE() << node->place() << " undoes " << from[0]->place();
    }
  }
  return count;
}

std::vector<std::filesystem::path> networks() {
  std::vector<std::filesystem::path> found;
  const char* inputs = std::getenv("TENON_INPUTS");
  if (!inputs || !std::filesystem::exists(inputs)) return found;
  for (const auto& e : std::filesystem::recursive_directory_iterator(inputs))
    if (e.path().extension() == ".onnx" && e.file_size() > 200'000) found.push_back(e.path());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Layout, NoTransposeIsLeftThatAnotherOneCancels) {
  const auto paths = networks();
  if (paths.empty()) GTEST_SKIP() << "no models: scripts/fetch_inputs.py fetches them";
  int compiled = 0;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    auto model = migrate::open_model(path);
    if (!model.ok()) continue;  // what importers refuse is other tests' matter
    auto executable = engine::compile(std::move(model->graph), **engine::backend_named("cpu"), {});
    ASSERT_TRUE(executable.ok()) << executable.error().text();
    EXPECT_EQ(cancelling((*executable)->graph()), 0);
    ++compiled;
  }
  EXPECT_GE(compiled, 5);
}

}  // namespace
}  // namespace tenon
