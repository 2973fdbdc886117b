// fold_transposes: matmul(transpose(a), b) and matmul(a, transpose(b)) of matrices become one gemm
// that reads its operands turned:
//   transpose(a)[m, k] b[k, n] = gemm(a, b, trans_a), and so for b.
// Leading axes of an unturned a are rows of one long matrix. Only where the backend has such a
// product; a turned constant is folded away by itself and keeps its matmul.
#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

// What `v` is the transpose of, when it is one of a matrix that changes from run to run.
Value* turned(const Value* v) {
  const Node* n = v ? v->producer() : nullptr;
  if (!n || n->op().name != "transpose" || n->input(0)->is_constant()) return nullptr;
  const Type& t = n->input(0)->type();
  return t.ranked() && t.ndim() == 2 && constant_dims(t.shape()) &&
                 Call(*n).integers("perm") != Attr::Integers{0, 1}
             ? n->input(0)
             : nullptr;
}

struct Operands {
  Value *a, *b;
  bool a_turned, b_turned;
};

std::optional<Operands> operands_of(const Node& node) {
  if (node.op().name != "matmul") return std::nullopt;
  Value *a = node.input(0), *b = node.input(1);
  const bool known = a->type().ranked() && b->type().ranked() && b->type().ndim() == 2 &&
                     a->type().ndim() >= 2 && a->type().dtype() == DType::f32 &&
                     constant_dims(a->type().shape()) && constant_dims(b->type().shape());
  if (!known) return std::nullopt;
  Value *from_a = a->type().ndim() == 2 ? turned(a) : nullptr, *from_b = turned(b);
  if (!from_a && !from_b) return std::nullopt;
  return Operands{from_a ? from_a : a, from_b ? from_b : b, from_a != nullptr, from_b != nullptr};
}

// Whether the backend runs a gemm of turned operands as it is.
bool has_product(const PassContext& context, const Operands& o) {
  Graph probe;
  GraphBuilder builder(probe, ops::table());
  const auto input = [&](const char* name) {
    return probe.add_input(name, Type(DType::f32, {Dim(4), Dim(4)}));
  };
  Value* a = input("a");
  const Value* y =
      ops::B(builder).gemm(a, input("b"), Attrs{{"trans_a", o.a_turned}, {"trans_b", o.b_turned}});
  return builder.status().ok() && context.backend->supports(*y->producer()).yes;
}

void replace(Graph& graph, Node* node, const Operands& o) {
  GraphBuilder builder(graph, ops::table(), node);
  builder.set_origin(node->name(), node->origin());
  ops::B b(builder);
  Value* a = o.a;
  const Dims result = *constant_dims(node->output(0)->type().shape());
  const bool folds = !o.a_turned && a->type().ndim() > 2;
  if (folds) a = b.reshape(a, b.ints({-1, (*constant_dims({a->type().dim(-1)}))[0]}));
  Value* y = b.gemm(a, o.b, Attrs{{"trans_a", o.a_turned}, {"trans_b", o.b_turned}});
  if (folds) y = b.reshape(y, b.ints(result));
  TENON_CHECK(builder.status().ok(), "a product no longer infers: {}",
              builder.status().error().text());
  y->set_name(node->output(0)->name());
  graph.replace_uses(node->output(0), y);
  graph.erase(node);
}

}  // namespace

Result<int> fold_transposes(Graph& graph, const PassContext& context) {
  if (!context.backend) return 0;
  int rewrites = 0;
  for (Node* node : graph.nodes()) {
    const auto o = operands_of(*node);
    if (!o || !has_product(context, *o)) continue;
    replace(graph, node, *o);
    ++rewrites;
  }
  return rewrites;
}

}  // namespace tenon::passes
