// Reading a region from front to back: a transpose in, the anchor, a transpose out, the steps.
#include <algorithm>

#include "tenon/backends/cpu/anchored_group_internal.h"

namespace tenon::backends::cpu {

std::optional<double> AnchoredGroup::number(const Value* v) {
  if (!v || !v->is_constant() || v->tensor().count() != 1) return std::nullopt;
  return element(v->tensor(), 0);
}

std::vector<std::int64_t> to_channels_last(int ndim) {
  std::vector<std::int64_t> perm = {0};
  for (int i = 2; i < ndim; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}
std::vector<std::int64_t> from_channels_last(int ndim) {
  std::vector<std::int64_t> perm = {0, ndim - 1};
  for (int i = 1; i + 1 < ndim; ++i) perm.push_back(i);
  return perm;
}

namespace {

AnchoredGroup bare(const Node& node) {
  AnchoredGroup g;
  g.anchor = &node;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    g.arguments.push_back(node.inputs()[i] ? static_cast<int>(i) : -1);
  g.made = node.output(0);
  g.label = std::string(node.op().name);
  return g;
}

bool transposes(const Node* n, const std::vector<std::int64_t>& perm) {
  const auto* given = n ? n->attrs().get<Attr::Integers>("perm") : nullptr;
  return n && n->op().name == "transpose" && given && *given == perm;
}

// Steps read the result before them and otherwise what comes in, or numbers.
bool take_epilogue(AnchoredGroup& g, const Node* n) {
  const Value* current = g.made;
  for (; n; n = n->next()) {
    if (!n->op().scalar || n->outputs().size() != 1) return false;
    bool reads = false;
    for (const Value* v : n->inputs()) {
      reads = reads || v == current;
      if (v && v != current && !g.inputs.contains(v) && !AnchoredGroup::number(v)) return false;
    }
    if (!reads) return false;
    g.epilogue.push_back(n);
    g.label += fmt::format(" + {}", n->op().name);
    current = n->output(0);
  }
  return true;
}

}  // namespace

std::optional<AnchoredGroup> anchored_group(const Node& node, bool (*is_anchor)(const Node&)) {
  if (is_anchor(node)) return bare(node);
  if (node.op().name != "fused" || node.regions().size() != 1) return std::nullopt;
  const Graph& region = *node.regions()[0];
  AnchoredGroup g;
  for (std::size_t i = 0; i < region.inputs().size(); ++i)
    g.inputs[region.inputs()[i]] = static_cast<int>(i);
  const Node* n = region.first();
  if (!n) return std::nullopt;
  const int ndim = n->input(0) && n->input(0)->type().ranked() ? n->input(0)->type().ndim() : 0;
  std::map<const Value*, int> known = g.inputs;
  if (transposes(n, from_channels_last(ndim)) && known.contains(n->input(0))) {
    known[n->output(0)] = known[n->input(0)];
    g.channels_last = true;
    n = n->next();
  }
  if (!n || !is_anchor(*n)) return std::nullopt;
  g.anchor = n;
  g.made = n->output(0);
  g.label = std::string(n->op().name);
  for (const Value* v : n->inputs()) {
    if (v && !known.contains(v)) return std::nullopt;
    g.arguments.push_back(v ? known[v] : -1);
  }
  n = n->next();
  if (g.channels_last) {
    if (!n || n->input(0) != g.made || !transposes(n, to_channels_last(ndim))) return std::nullopt;
    g.made = n->output(0);
    n = n->next();
  }
  if (!take_epilogue(g, n)) return std::nullopt;
  const Value* last = g.epilogue.empty() ? g.made : g.epilogue.back()->output(0);
  if (region.outputs().size() != 1 || region.outputs()[0] != last) return std::nullopt;
  return g;
}

namespace {

Extent permuted(const Extent& e, const std::vector<std::int64_t>& perm) {
  Extent out{e.dtype, {}, {}};
  for (std::int64_t p : perm) out.dims.push_back(e.dims[static_cast<std::size_t>(p)]);
  return out;
}

}  // namespace

std::vector<Extent> anchor_inputs(const AnchoredGroup& g, std::span<const Extent> inputs) {
  std::vector<Extent> out;
  for (int i : g.arguments) out.push_back(i < 0 ? Extent{} : inputs[static_cast<std::size_t>(i)]);
  if (g.channels_last)
    out[0] = permuted(out[0], from_channels_last(static_cast<int>(out[0].dims.size())));
  return out;
}

Extent anchor_output(const AnchoredGroup& g, const Extent& output) {
  return g.channels_last
             ? permuted(output, from_channels_last(static_cast<int>(output.dims.size())))
             : output;
}

}  // namespace tenon::backends::cpu
