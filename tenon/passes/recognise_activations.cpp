// recognise_activations: activations that exporters write out become one operator again.
//
//   x * sigmoid(x)                       -> silu(x)
//   x * hard_sigmoid(x, 1/6, 1/2)        -> hard_swish(x)
//   x * clip(x + 3, 0, 6) / 6            -> hard_swish(x)
//   x * (1 + erf(x / sqrt 2)) * 1/2      -> gelu(x), the factors in any order
//   x * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) * 1/2 -> gelu(x), approximate
//
// Products are compared as sets of factors, so the order in which an exporter multiplies does not
// matter. Constants must agree to 1e-4: exporters round them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/ops/op_page.h"
#include "tenon/ops/registry.h"
#include "tenon/passes/pass.h"

namespace tenon::passes {
namespace {

constexpr double kClose = 1e-4;

std::optional<double> number_of(const Value* v) {
  if (!v || !v->is_constant() || v->tensor().count() != 1 || !is_floating(v->type().dtype()))
    return std::nullopt;
  return element(v->tensor(), 0);
}
bool is_number(const Value* v, double wanted) {
  const auto n = number_of(v);
  return n && std::abs(*n - wanted) <= kClose * std::max(1.0, std::abs(wanted));
}
const Node* made_by(const Value* v, std::string_view op) {
  const Node* n = v ? v->producer() : nullptr;
  return n && n->op().name == op ? n : nullptr;
}

// A product taken apart: its factors that are no numbers, and the product of the numbers.
struct Product {
  double scale = 1;
  std::vector<Value*> factors;
};

void take_apart(Value* v, Product& p, bool inverse, int depth) {
  const Node* n = v->producer();
  if (const auto c = number_of(v)) {
    p.scale *= inverse ? 1 / *c : *c;
  } else if (depth > 0 && !inverse && (made_by(v, "mul") || made_by(v, "div"))) {
    take_apart(n->input(0), p, false, depth - 1);
    if (n->op().name == "mul" || number_of(n->input(1)))
      take_apart(n->input(1), p, n->op().name == "div", depth - 1);
    else
      p.factors.push_back(nullptr);  // a quotient of two tensors: no pattern has one
  } else {
    p.factors.push_back(v);
  }
}
Product product_of(Value* v) {
  Product p;
  take_apart(v, p, false, 4);
  return p;
}

// The other operand of a sum one of whose operands is the number `c`, or nullptr.
Value* sum_with(Value* v, double c) {
  const Node* n = made_by(v, "add");
  if (!n) return nullptr;
  if (is_number(n->input(1), c)) return n->input(0);
  return is_number(n->input(0), c) ? n->input(1) : nullptr;
}

// Whether v is scale * x.
bool is_scaled(Value* v, Value* x, double scale) {
  const Product p = product_of(v);
  return p.factors == std::vector<Value*>{x} && std::abs(p.scale - scale) < kClose;
}

bool is_cube(Value* v, Value* x, double scale) {
  const Product p = product_of(v);
  if (std::abs(p.scale - scale) > kClose) return false;
  if (p.factors == std::vector<Value*>{x, x, x}) return true;
  const Node* power = p.factors.size() == 1 ? made_by(p.factors[0], "pow") : nullptr;
  return power && power->input(0) == x && is_number(power->input(1), 3);
}

bool is_tanh_argument(Value* v, Value* x) {
  const Product p = product_of(v);
  if (p.factors.size() != 1 || std::abs(p.scale - std::sqrt(2 / std::numbers::pi)) > kClose)
    return false;
  const Node* sum = made_by(p.factors[0], "add");
  if (!sum) return false;
  return (sum->input(0) == x && is_cube(sum->input(1), x, 0.044715)) ||
         (sum->input(1) == x && is_cube(sum->input(0), x, 0.044715));
}

struct Activation {
  std::string_view op;
  Attrs attrs = {};
};

// What scale * x * gate is.
std::optional<Activation> activation_of(Value* x, Value* gate, double scale) {
  const bool one = std::abs(scale - 1) < kClose, half = std::abs(scale - 0.5) < kClose;
  if (const Node* s = made_by(gate, "sigmoid"); s && s->input(0) == x && one)
    return Activation{"silu"};
  if (const Node* h = made_by(gate, "hard_sigmoid"); h && h->input(0) == x && one) {
    const Call c(*h);
    if (std::abs(c.real("alpha") - 1.0 / 6) < kClose && std::abs(c.real("beta") - 0.5) < kClose)
      return Activation{"hard_swish"};
  }
  if (const Node* c = made_by(gate, "clip"); c && std::abs(scale - 1.0 / 6) < kClose)
    if (is_number(c->input(1), 0) && is_number(c->input(2), 6) && sum_with(c->input(0), 3) == x)
      return Activation{"hard_swish"};
  Value* inner = half ? sum_with(gate, 1) : nullptr;
  if (const Node* e = made_by(inner, "erf"); e && is_scaled(e->input(0), x, std::sqrt(0.5)))
    return Activation{"gelu"};
  if (const Node* t = made_by(inner, "tanh"); t && is_tanh_argument(t->input(0), x))
    return Activation{"gelu", Attrs{{"approximate", "tanh"}}};
  return std::nullopt;
}

std::optional<std::pair<Value*, Activation>> match(const Node& node) {
  if (node.op().name != "mul" && node.op().name != "div") return std::nullopt;
  const Type& y = node.output(0)->type();
  if (!y.is_tensor() || !y.ranked() || !is_floating(y.dtype())) return std::nullopt;
  const Product p = product_of(node.output(0));
  if (p.factors.size() != 2 || !p.factors[0] || !p.factors[1]) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    Value *x = p.factors[static_cast<std::size_t>(i)],
          *gate = p.factors[static_cast<std::size_t>(1 - i)];
    if (!(x->type() == y)) continue;  // a number of higher rank could have broadcast x
    if (auto a = activation_of(x, gate, p.scale)) return std::pair(x, *a);
  }
  return std::nullopt;
}

}  // namespace

Result<int> recognise_activations(Graph& graph, const PassContext&) {
  int rewrites = 0;
  for (Node* node : graph.nodes()) {
    const auto found = match(*node);
    if (!found) continue;
    GraphBuilder builder(graph, ops::table(), node);
    builder.set_origin(node->name(), node->origin());
    Value* y = builder.call(builder.op(found->second.op), {found->first}, found->second.attrs)[0];
    y->set_name(node->output(0)->name());
    graph.replace_uses(node->output(0), y);
    graph.erase(node);
    ++rewrites;
  }
  return rewrites;
}

}  // namespace tenon::passes
