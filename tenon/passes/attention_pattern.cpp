// Walks backward from the second product.
#include "tenon/passes/attention_pattern.h"

#include <algorithm>
#include <numeric>

#include "tenon/ir/operator.h"

namespace tenon::passes {
namespace {

bool is_output(const Value* v) {
  const Values& outputs = v->graph()->outputs();
  return std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}
bool is_read_once(const Value* v) { return v->uses().size() == 1 && !is_output(v); }

bool is_f32(const Value* v, int ndim) {
  const Type& t = v->type();
  return t.is_tensor() && t.ranked() && t.dtype() == DType::f32 && t.ndim() == ndim;
}
bool is_number(const Value* v) { return v->is_constant() && v->tensor().count() == 1; }

std::vector<int> identity(int ndim) {
  std::vector<int> axes(static_cast<std::size_t>(ndim));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::optional<std::vector<int>> permutation(const Node& n) {
  if (n.op().name != "transpose") return std::nullopt;
  const auto* perm = n.attrs().get<Attr::Integers>("perm");
  if (!perm) return std::nullopt;
  return std::vector<int>(perm->begin(), perm->end());
}

// x * c or x / c for a number c: c or 1 / c, and x.
std::optional<std::pair<double, Value*>> scaled(const Node& n) {
  if (n.op().name == "mul")
    for (int i : {0, 1})
      if (is_number(n.input(i)) && n.input(1 - i)->type() == n.output(0)->type())
        return std::pair(element(n.input(i)->tensor(), 0), n.input(1 - i));
  if (n.op().name == "div" && is_number(n.input(1)))
    return std::pair(1 / element(n.input(1)->tensor(), 0), n.input(0));
  return std::nullopt;
}

class Matcher {
 public:
  std::optional<AttentionPattern> run(Node* product) {
    if (product->op().name != "matmul") return std::nullopt;
    p_.y = product->output(0);
    ndim_ = p_.y->type().ranked() ? p_.y->type().ndim() : 0;
    if (ndim_ < 3 || !is_f32(p_.y, ndim_)) return std::nullopt;
    nodes_ = {product};
    Node* softmax = without_nan(product->input(0));
    if (!softmax || softmax->op().name != "softmax") return std::nullopt;
    const std::int64_t axis = Call(*softmax).integer("axis");
    if (axis != -1 && axis != ndim_ - 1) return std::nullopt;
    nodes_.push_back(softmax);
    p_.modified = softmax->input(0);
    if (!find_scores()) return std::nullopt;
    Node* first = p_.scores->producer();
    for (int i : {0, 1})
      if (!is_f32(first->input(i), ndim_)) return std::nullopt;
    if (!is_f32(product->input(1), ndim_)) return std::nullopt;
    p_.q = see_through(first->input(0), true);
    p_.kt = see_through(first->input(1), true);
    p_.v = see_through(product->input(1), false);
    for (const SeenThrough* x : {&p_.q, &p_.kt, &p_.v})
      if (x->source->type().dtype() != DType::f32) return std::nullopt;
    find_result();
    std::reverse(nodes_.begin(), nodes_.end());
    order();
    return std::move(p_);
  }

 private:
  // The node that makes v, when nothing else reads it.
  static Node* inner(Value* v) { return v && is_read_once(v) ? v->producer() : nullptr; }

  // The node that makes the probabilities, through where(is_nan(p), 0, p) if that is there.
  Node* without_nan(Value* v) {
    Node* choice = inner(v);
    if (!choice || choice->op().name != "where") return choice;
    Value* p = choice->input(2);
    Node* test = inner(choice->input(0));
    if (!test || test->op().name != "is_nan" || test->input(0) != p || is_output(p) ||
        p->uses().size() != 2 || !is_number(choice->input(1)) ||
        element(choice->input(1)->tensor(), 0) != 0)
      return nullptr;
    nodes_.insert(nodes_.end(), {choice, test});
    p_.nan_becomes_zero = true;
    return p->producer();
  }

  // Elementwise nodes of the scores' shape between the first product and softmax.
  bool find_scores() {
    const Shape shape = p_.modified->type().shape();
    for (Value* v = p_.modified;;) {
      Node* n = inner(v);
      if (!n || !is_f32(v, ndim_) || !(v->type().shape() == shape)) return false;
      nodes_.push_back(n);
      if (n->op().name == "matmul") {
        p_.scores = v;
        std::reverse(p_.modifiers.begin(), p_.modifiers.end());
        return true;
      }
      if (!n->op().has(Trait::elementwise) || !n->op().scalar || n->outputs().size() != 1)
        return false;
      p_.modifiers.push_back(n);
      v = on_path(*n, shape);
      if (!v) return false;
    }
  }
  // The operand through which the scores come: the only one that leads back to a product.
  Value* on_path(const Node& n, const Shape& shape) const {
    Value* found = nullptr;
    for (Value* v : n.inputs()) {
      if (!v || !v->producer() || !is_read_once(v)) continue;
      if (!is_f32(v, ndim_) || !(v->type().shape() == shape) || !leads_to_product(v, 8)) continue;
      if (found) return nullptr;
      found = v;
    }
    return found;
  }
  bool leads_to_product(const Value* v, int depth) const {
    const Node* n = v->producer();
    if (!n || depth == 0) return false;
    if (n->op().name == "matmul") return true;
    if (!n->op().has(Trait::elementwise)) return false;
    return std::any_of(n->inputs().begin(), n->inputs().end(), [&](const Value* x) {
      return x && x->type() == v->type() && leads_to_product(x, depth - 1);
    });
  }

  SeenThrough see_through(Value* v, bool with_factors) {
    SeenThrough x{v, identity(ndim_), std::vector<std::int64_t>(static_cast<std::size_t>(ndim_)),
                  std::vector<std::int64_t>(static_cast<std::size_t>(ndim_), -1), 1};
    while (Node* n = x.source->producer()) {
      if (auto s = scaled(*n); s && with_factors && is_read_once(x.source)) {
        x.factor *= s->first;
        x.source = s->second;
        add(n);
      } else if (!through_movement(*n, x)) {
        break;
      }
    }
    return x;
  }
  void add(Node* n) {
    if (std::find(nodes_.begin(), nodes_.end(), n) == nodes_.end()) nodes_.push_back(n);
  }

  // Axis a of the node's result is axis map[a] of its operand, which becomes the source.
  void remap(Node& n, const std::vector<int>& map, SeenThrough& x) {
    const auto ndim = static_cast<std::size_t>(n.input(0)->type().ndim());
    std::vector<std::int64_t> starts(ndim, 0), lengths(ndim, -1);
    for (std::size_t a = 0; a < map.size(); ++a) {
      starts[static_cast<std::size_t>(map[a])] = x.starts[a];
      lengths[static_cast<std::size_t>(map[a])] = x.lengths[a];
    }
    for (int& a : x.axes) a = map[static_cast<std::size_t>(a)];
    x.starts = std::move(starts);
    x.lengths = std::move(lengths);
    x.source = n.input(0);
    add(&n);
  }
  bool through_movement(Node& n, SeenThrough& x) {
    if (!n.input(0) || !n.input(0)->type().ranked()) return false;
    if (auto perm = permutation(n)) return remap(n, *perm, x), true;
    if (n.op().name == "squeeze") {
      if (n.input(0)->type().ndim() <= n.output(0)->type().ndim()) return false;
      auto kept = kept_axes(n);
      return kept ? (remap(n, *kept, x), true) : false;
    }
    if (n.op().name == "slice") return through_slice(n, x);
    return n.op().name == "reshape" && through_turned_reshape(n, x);
  }
  static std::optional<std::vector<int>> kept_axes(const Node& n) {
    const int ndim = n.input(0)->type().ndim();
    auto gone = n.input(1) ? Call(n).known_integers(1) : std::nullopt;
    if (!gone) return std::nullopt;
    std::vector<int> kept;
    for (int a = 0; a < ndim; ++a)
      if (std::none_of(gone->begin(), gone->end(),
                       [&](std::int64_t g) { return g == a || g + ndim == a; }))
        kept.push_back(a);
    return kept;
  }
  // One axis of a known size, cut to neighbours.
  bool through_slice(Node& n, SeenThrough& x) {
    const Call c(n);
    if (!n.input(3)) return false;
    const auto start = c.known_integers(1), end = c.known_integers(2), axes = c.known_integers(3);
    const auto step =
        n.input(4) ? c.known_integers(4) : std::optional(std::vector<std::int64_t>{1});
    if (!start || !end || !axes || !step || axes->size() != 1 || (*step)[0] != 1) return false;
    const Type& t = n.input(0)->type();
    const std::int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + t.ndim() : (*axes)[0];
    const auto size = t.dim(static_cast<int>(axis)).known();
    if (!size) return false;
    const auto within = [&](std::int64_t i) {
      return std::clamp<std::int64_t>(i < 0 ? i + *size : i, 0, *size);
    };
    const std::int64_t from = within((*start)[0]), to = within((*end)[0]);
    const auto a = static_cast<std::size_t>(axis);
    if (to <= from) return false;
    if (x.lengths[a] < 0) x.lengths[a] = to - from;
    x.starts[a] += from;
    x.source = n.input(0);
    add(&n);
    return true;
  }
  // reshape(transpose(reshape(z, [x, r, c]), [0, 2, 1]), [lead..., c, r]) is z with its last two
  // axes swapped when z is [lead..., r, c], or that behind axes of size 1.
  bool through_turned_reshape(Node& n, SeenThrough& x) {
    Node* turn = n.input(0)->producer();
    auto perm = turn ? permutation(*turn) : std::nullopt;
    Node* flat = perm && *perm == std::vector<int>{0, 2, 1} ? turn->input(0)->producer() : nullptr;
    if (!flat || flat->op().name != "reshape" || !flat->input(0)->type().ranked()) return false;
    Shape shape = n.output(0)->type().shape();
    if (shape.size() < 3) return false;
    std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
    const Shape &middle = flat->output(0)->type().shape(), &z = flat->input(0)->type().shape();
    const std::size_t more =
        z.size() - std::min(z.size(), shape.size());  // axes of size 1 in front
    if (z.size() < shape.size() ||
        !std::equal(shape.begin(), shape.end(), z.end() - std::ssize(shape)) ||
        !std::all_of(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(more),
                     [](const Dim& d) { return d == Dim(1); }) ||
        !(middle[1] == shape[shape.size() - 2]) || !(middle[2] == shape.back()))
      return false;
    std::vector<int> map;
    for (std::size_t i = 0; i < shape.size(); ++i) map.push_back(static_cast<int>(i + more));
    std::swap(map[map.size() - 2], map[map.size() - 1]);
    add(&n);
    add(turn);
    remap(*flat, map, x);
    return true;
  }

  void find_result() {
    p_.result = p_.y;
    p_.result_axes = identity(ndim_);
    if (!is_read_once(p_.y)) return;
    Node* n = p_.y->uses()[0].node;
    if (auto perm = permutation(*n)) {
      p_.result = n->output(0);
      p_.result_axes = *perm;
      nodes_.insert(nodes_.begin(), n);
    }
  }
  // Execution order, by one walk over the graph.
  void order() {
    for (Node* n : p_.y->graph()->nodes())
      if (std::find(nodes_.begin(), nodes_.end(), n) != nodes_.end()) p_.nodes.push_back(n);
  }

  AttentionPattern p_;
  int ndim_ = 0;
  std::vector<Node*> nodes_;
};

}  // namespace

std::optional<AttentionPattern> match_attention(Node* product) { return Matcher().run(product); }

}  // namespace tenon::passes
