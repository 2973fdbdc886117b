// fold_affine: constant factors and offsets of output channels go into constant weights.
//
//   conv(x, w, b) * c  -> conv(x, w * c, b * c)      c constant, one number for each channel or one
//   conv(x, w, b) + c  -> conv(x, w, b + c)          for all; `-` and `/` likewise
//   matmul(x, w) * c   -> matmul(x, w * c)           c along the columns
//
// Batch norm with known statistics is such a chain once it is decomposed. Weights that somebody
// else reads too stay as they are: they would be kept twice.
#include <algorithm>

#include "tenon/ir/builder.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

bool is_output(const Graph& graph, const Value* v) {
  return std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
}

bool is_constant_f32(const Value* v) {
  return v && v->is_constant() && v->type().dtype() == DType::f32;
}

// The axis of the result along which `w` has one row (conv) or column (matmul).
int channel_axis(const Node& anchor) {
  return anchor.op().name == "conv" ? 1 : anchor.output(0)->type().ndim() - 1;
}

// A constant that is one number for each channel, or one for all, of a result of rank `ndim`.
bool is_per_channel(const Value* c, int ndim, int axis) {
  if (!is_constant_f32(c) || c->tensor().ndim() > ndim) return false;
  const Dims& dims = c->tensor().dims();
  const int missing = ndim - static_cast<int>(dims.size());
  for (int i = 0; i < static_cast<int>(dims.size()); ++i)
    if (dims[static_cast<std::size_t>(i)] != 1 && i + missing != axis) return false;
  return true;
}

// The node that alone reads `anchor`'s result, when it is an affine step with constants.
Node* affine_reader(const Graph& graph, const Node& anchor) {
  const Value* y = anchor.output(0);
  if (y->uses().size() != 1 || is_output(graph, y)) return nullptr;
  Node* next = y->uses()[0].node;
  const std::string_view name = next->op().name;
  const bool commutes = name == "add" || name == "mul";
  if (!commutes && name != "sub" && name != "div") return nullptr;
  if (!commutes && next->input(0) != y) return nullptr;
  const Value* c = next->input(next->input(0) == y ? 1 : 0);
  if (!is_per_channel(c, y->type().ndim(), channel_axis(anchor)) ||
      !(next->output(0)->type() == y->type()))
    return nullptr;
  const bool scales = name == "mul" || name == "div";
  if (anchor.op().name == "matmul" && !scales) return nullptr;  // it has no bias to add to
  return next;
}

bool is_anchor(const Node& node) {
  if (node.op().name != "conv" && node.op().name != "matmul") return false;
  const Type& y = node.output(0)->type();
  const Value* w = node.input(1);
  if (!y.ranked() || y.dtype() != DType::f32 || !is_constant_f32(w) || w->uses().size() != 1)
    return false;
  if (node.op().name == "matmul") return w->tensor().ndim() == 2;
  const Value* b = node.input(2);
  return !b || (is_constant_f32(b) && b->uses().size() == 1);
}

// One step of the chain on one number.
float applied(std::string_view op, float v, float c) {
  return op == "add" ? v + c : op == "sub" ? v - c : op == "mul" ? v * c : v / c;
}

// v[i] op c[channel of i]: `inner` neighbouring elements of v belong to one of `channels` channels.
Tensor applied(std::string_view op, const Tensor& v, const Tensor& c, std::int64_t inner,
               std::int64_t channels) {
  Tensor out(DType::f32, v.dims());
  const auto from = v.data<float>(), by = c.data<float>();
  const auto to = out.data<float>();
  for (std::int64_t i = 0; i < v.count(); ++i) {
    const std::int64_t k = c.count() == 1 ? 0 : i / inner % channels;
    to[static_cast<std::size_t>(i)] =
        applied(op, from[static_cast<std::size_t>(i)], by[static_cast<std::size_t>(k)]);
  }
  return out;
}

// The anchor is built again with the new weights; the affine step goes.
void fold(Graph& graph, Node* anchor, Node* next) {
  GraphBuilder builder(graph, ops::table(), anchor);
  builder.set_origin(anchor->name(), anchor->origin());
  const std::string_view name = next->op().name;
  Value *y = anchor->output(0), *w = anchor->input(1), *b = anchor->input(2);
  const Tensor& c = next->input(next->input(0) == y ? 1 : 0)->tensor();
  Values inputs = {anchor->input(0), w};
  if (anchor->op().name == "matmul") {
    inputs[1] = graph.add_constant(w->name(), applied(name, w->tensor(), c, 1, w->tensor().dim(1)));
  } else {
    const std::int64_t channels = w->tensor().dim(0);
    const bool scales = name == "mul" || name == "div";
    if (scales)
      inputs[1] = graph.add_constant(
          w->name(), applied(name, w->tensor(), c, w->tensor().count() / channels, channels));
    if (b || !scales) {
      const Tensor old = b ? b->tensor() : Tensor::full(DType::f32, {channels}, 0);
      inputs.push_back(graph.add_constant(b ? b->name() : w->name() + ".bias",
                                          applied(name, old, c, 1, channels)));
    }
  }
  Value* fresh = builder.call(anchor->op(), inputs, anchor->attrs())[0];
  TENON_CHECK(builder.status().ok(), "folded weights no longer fit: {}",
              builder.status().error().text());
  fresh->set_name(next->output(0)->name());
  fresh->set_type(next->output(0)->type());
  graph.replace_uses(next->output(0), fresh);
  graph.erase(next);
  graph.erase(anchor);
}

}  // namespace

Result<int> fold_affine(Graph& graph, const PassContext&) {
  int folded = 0;
  for (Node* node = graph.first(); node;) {
    Node* next = is_anchor(*node) ? affine_reader(graph, *node) : nullptr;
    if (!next) {
      node = node->next();
      continue;
    }
    Node* before = node->previous();
    fold(graph, node, next);
    ++folded;
    node = before ? before->next() : graph.first();  // the anchor again: chains fold step by step
  }
  return folded;
}

}  // namespace tenon::passes
