// One pass over the nodes; the state is the divided axis of each value, or none.
#include "tenon/planner/graph_sharding.h"

#include <algorithm>
#include <numeric>

#include "tenon/ir/call.h"
#include "tenon/ir/operator.h"

namespace tenon::planner {
namespace {

constexpr int kWhole = -1;
/// An axis is worth dividing when at least four peers could.
constexpr std::int64_t kLeastPeers = 4;

bool is_weight(const Value* value) {
  return value->is_constant() && is_floating(value->type().dtype()) && value->tensor().count() > 8;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The axis of a tensor that carries a factor, or kWhole.
int axis_of(const std::vector<std::string>& names, const std::string& factor) {
  const auto found = std::find(names.begin(), names.end(), factor);
  return found == names.end() ? kWhole : static_cast<int>(found - names.begin());
}

/// Where a view takes axis `axis`: among the new axes that hold the same elements, the one of the
/// same size, else the first that enough peers divide. kWhole: nowhere.
int axis_through_view(const Dims& from, const Dims& to, int axis) {
  std::size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // The next run of axes on both sides with the same product.
    std::size_t i_end = i + 1, j_end = j + 1;
    std::int64_t a = from[i], b = to[j];
    while (a != b) {
      if (a < b && i_end < from.size()) {
        a *= from[i_end++];
      } else if (b < a && j_end < to.size()) {
        b *= to[j_end++];
      } else {
        return kWhole;
      }
    }
    const std::size_t at = static_cast<std::size_t>(axis);
    if (at >= i && at < i_end) {
      for (std::size_t k = j; k < j_end; ++k)
        if (to[k] == from[at]) return static_cast<int>(k);
      for (std::size_t k = j; k < j_end; ++k)
        if (to[k] % kLeastPeers == 0) return static_cast<int>(k);
      return kWhole;
    }
    i = i_end, j = j_end;
  }
  return kWhole;
}

class Dividing {
 public:
  Dividing(const Graph& graph, const Bindings& sizes, const std::set<const Node*>& ends)
      : graph_(graph), sizes_(sizes), ends_(ends) {}

  Result<GraphDivision> run() {
    for (const Value* output : graph_.outputs()) results_.insert(output);
    // Whatever makes the inputs is taken to be trained, so that the first layer is like the others.
    for (const Value* input : graph_.inputs())
      if (input->type().is_tensor() && is_floating(input->type().dtype())) trained_.insert(input);
    for (const Node* node : graph_.nodes()) {
      TENON_TRY(visit(*node));
      if (ends_.count(node) > 0) TENON_TRY(close(*node));
    }
    result_.divisor = std::max<std::int64_t>(1, result_.divisor);
    return std::move(result_);
  }

 private:
  int state(const Value* value) const {
    const auto found = axes_.find(value);
    return found == axes_.end() ? kWhole : found->second;
  }

  Result<Dims> dims(const Value* value) const {
    Dims result;
    for (const Dim& dim : value->type().shape()) result.push_back(TENON_TRY(dim.evaluate(sizes_)));
    return result;
  }

  Result<double> bytes(const Value* value) const {
    return 2.0 * static_cast<double>(TENON_TRY(value->type().count().evaluate(sizes_)));
  }

  /// Whether an axis may be divided, which its size then must allow.
  Result<bool> divisible(const Value* value, int axis) const {
    const Dims sizes = TENON_TRY(dims(value));
    return sizes[static_cast<std::size_t>(axis)] % kLeastPeers == 0;
  }

  Status set_divided(const Value* value, int axis) {
    const Dims sizes = TENON_TRY(dims(value));
    axes_[value] = axis;
    result_.divisor =
        std::gcd(divisor_seen_ ? result_.divisor : 0, sizes[static_cast<std::size_t>(axis)]);
    divisor_seen_ = true;
    return {};
  }

  /// Makes a divided value whole; the node that needs it pays.
  Status gather(const Value* value, const Node& payer) {
    if (state(value) == kWhole) return {};
    NodeDivision& division = result_.nodes[&payer];
    division.reduce_bytes += TENON_TRY(bytes(value)) / 2, ++division.reduces;
    axes_.erase(value);
    return {};
  }

  /// The gradient of a whole value that divided work uses is a sum over the peers, once a value.
  Status reduce_gradient(const Value* value, const Node& payer, double share) {
    if (trained_.count(value) == 0 || !reduced_.insert(value).second) return {};
    NodeDivision& division = result_.nodes[&payer];
    division.reduce_bytes_backward += share * TENON_TRY(bytes(value));
    ++division.reduces_backward;
    return {};
  }

  Status visit(const Node& node) {
    bool tensors = node.regions().empty();
    for (const Value* value : node.inputs()) {
      if (value == nullptr) continue;
      tensors = tensors && value->type().is_tensor();
      if (trained_.count(value) > 0 || is_weight(value)) mark_trained(node);
    }
    for (const Value* value : node.outputs()) tensors = tensors && value->type().is_tensor();
    if (!tensors) return take_whole(node);
    if (node.op().has(Trait::view)) return visit_view(node);
    if (TENON_TRY(passes_along(node))) return {};
    if (!node.op().sharding) return take_whole(node);
    const Result<Factors> factors = node.op().sharding(Call(node));
    if (!factors.ok()) return take_whole(node);
    const std::string factor = TENON_TRY(factor_for(node, *factors));
    return factor.empty() ? take_whole(node) : divide_node(node, *factors, factor);
  }

  void mark_trained(const Node& node) {
    for (const Value* output : node.outputs())
      if (output->type().is_tensor() && is_floating(output->type().dtype()))
        trained_.insert(output);
  }

  Status take_whole(const Node& node) {
    for (const Value* value : node.inputs())
      if (value != nullptr) TENON_TRY(gather(value, node));
    return {};
  }

  Status visit_view(const Node& node) {
    const Value *from = node.inputs()[0], *to = node.outputs()[0];
    if (state(from) == kWhole) return {};
    const int axis = axis_through_view(TENON_TRY(dims(from)), TENON_TRY(dims(to)), state(from));
    if (axis == kWhole || !TENON_TRY(divisible(to, axis))) return take_whole(node);
    result_.nodes[&node].results = true;
    return set_divided(to, axis);
  }

  /// Cutting and joining along the divided axis: each peer does its share of every piece.
  Result<bool> passes_along(const Node& node) {
    const std::string_view name = node.op().name;
    if (name != "split" && name != "concat") return false;
    const int axis = state(node.inputs()[0]);
    if (axis == kWhole) return false;
    if (name == "concat") {
      for (const Value* value : node.inputs())
        if (state(value) != axis) return false;
    }
    for (const Value* output : node.outputs())
      if (!TENON_TRY(divisible(output, axis))) return false;
    for (const Value* output : node.outputs()) TENON_TRY(set_divided(output, axis));
    result_.nodes[&node].results = true;
    return true;
  }

  /// Whether the facet lets a factor be divided. A product's inner axis that a bias keeps whole may
  /// be, as the bias can follow the sum.
  static bool usable(const Node& node, const Factors& f, const std::string& factor) {
    if (factor.empty()) return false;
    if (!contains(f.whole_factors, factor)) return true;
    const bool in_results = std::any_of(f.outputs.begin(), f.outputs.end(),
                                        [&](const auto& names) { return contains(names, factor); });
    return node.op().has(Trait::contraction) && node.inputs().size() == 3 && !in_results;
  }

  /// Every axis that carries the factor is one that enough peers divide.
  Result<bool> fits(const Node& node, const Factors& f, const std::string& factor) const {
    for (std::size_t i = 0; i < node.inputs().size() && i < f.inputs.size(); ++i) {
      const int axis = axis_of(f.inputs[i], factor);
      if (axis == kWhole || node.inputs()[i] == nullptr) continue;
      if (!TENON_TRY(divisible(node.inputs()[i], axis))) return false;
    }
    for (std::size_t o = 0; o < node.outputs().size() && o < f.outputs.size(); ++o) {
      const int axis = axis_of(f.outputs[o], factor);
      if (axis != kWhole && !TENON_TRY(divisible(node.outputs()[o], axis))) return false;
    }
    return true;
  }

  /// The factor that a divided input brings, else the columns of a weight; empty: stays whole.
  Result<std::string> factor_for(const Node& node, const Factors& f) const {
    bool any_divided = false;
    for (std::size_t i = 0; i < node.inputs().size() && i < f.inputs.size(); ++i) {
      const Value* value = node.inputs()[i];
      if (value == nullptr || state(value) == kWhole) continue;
      any_divided = true;
      const std::string& factor = f.inputs[i][static_cast<std::size_t>(state(value))];
      if (usable(node, f, factor) && TENON_TRY(fits(node, f, factor))) return factor;
    }
    if (any_divided || !starts(node)) return std::string();
    for (std::size_t i = 0; i < node.inputs().size() && i < f.inputs.size(); ++i) {
      if (node.inputs()[i] == nullptr || !is_weight(node.inputs()[i])) continue;
      for (const std::string& factor : f.inputs[i]) {
        const bool column =
            axis_of(f.outputs[0], factor) != kWhole && !in_activations(node, f, factor);
        if (column && usable(node, f, factor) && TENON_TRY(fits(node, f, factor))) return factor;
      }
      break;
    }
    return std::string();
  }

  /// Products with a weight, and tables that are looked up.
  static bool starts(const Node& node) {
    if (node.op().name == "gather") return is_weight(node.inputs()[0]);
    return node.op().has(Trait::contraction);
  }

  static bool in_activations(const Node& node, const Factors& f, const std::string& factor) {
    for (std::size_t i = 0; i < node.inputs().size() && i < f.inputs.size(); ++i) {
      const Value* value = node.inputs()[i];
      if (value != nullptr && !value->is_constant() && contains(f.inputs[i], factor)) return true;
    }
    return false;
  }

  Status divide_node(const Node& node, const Factors& f, const std::string& factor) {
    for (std::size_t i = 0; i < node.inputs().size() && i < f.inputs.size(); ++i) {
      const Value* value = node.inputs()[i];
      if (value == nullptr) continue;
      const int axis = axis_of(f.inputs[i], factor);
      if (is_weight(value)) {
        if (axis != kWhole) result_.weights.insert(value);
        continue;
      }
      if (state(value) != axis) TENON_TRY(gather(value, node));
      // A whole value of which each peer takes its share; or which all use, each for its own share.
      if (state(value) == kWhole) TENON_TRY(reduce_gradient(value, node, axis == kWhole ? 1 : 0.5));
    }
    NodeDivision& division = result_.nodes[&node];
    for (std::size_t o = 0; o < node.outputs().size() && o < f.outputs.size(); ++o) {
      const int axis = axis_of(f.outputs[o], factor);
      if (axis != kWhole) {
        division.results = true;
        TENON_TRY(set_divided(node.outputs()[o], axis));
      } else {
        division.inner = true;
        division.reduce_bytes += TENON_TRY(bytes(node.outputs()[o])), ++division.reduces;
      }
    }
    return {};
  }

  /// Whatever is used behind `node` becomes whole.
  Status close(const Node& node) {
    std::vector<const Value*> open;
    for (const auto& [value, axis] : axes_)
      if (results_.count(value) == 0) open.push_back(value);
    std::sort(open.begin(), open.end(),
              [](const auto* a, const auto* b) { return a->id() < b->id(); });
    for (const Value* value : open) {
      const bool used = std::any_of(value->uses().begin(), value->uses().end(),
                                    [&](const auto& use) { return is_behind(*use.node, node); });
      if (used) TENON_TRY(gather(value, node));
      axes_.erase(value);
    }
    return {};
  }

  bool is_behind(const Node& node, const Node& end) {
    if (order_.empty()) {
      int at = 0;
      for (const Node* each : graph_.nodes()) order_[each] = at++;
    }
    return order_.at(&node) > order_.at(&end);
  }

  const Graph& graph_;
  const Bindings& sizes_;
  const std::set<const Node*>& ends_;
  GraphDivision result_;
  bool divisor_seen_ = false;
  std::map<const Value*, int> axes_;          // of the values that are divided
  std::set<const Value*> trained_, reduced_;  // have a gradient; whose gradient is summed already
  std::set<const Value*> results_;
  std::map<const Node*, int> order_;
};

}  // namespace

Result<GraphDivision> divide(const Graph& graph, const Bindings& sizes,
                             const std::set<const Node*>& ends) {
  return Dividing(graph, sizes, ends).run();
}

}  // namespace tenon::planner
