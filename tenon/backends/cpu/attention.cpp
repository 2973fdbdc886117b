// Attention nodes: the operator, and groups that fuse_attention made, as problems of one kernel.
#include <algorithm>
#include <limits>
#include <map>

#include "tenon/backends/cpu/attention_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"
#include "tenon/ops/attention_parts.h"
#include "tenon/passes/attention_pattern.h"

namespace tenon::backends::cpu {
namespace {

constexpr DType kF = DType::f32;
constexpr std::size_t kMaxMasks = 4;

Expr hidden() { return Expr::constant(-std::numeric_limits<double>::infinity(), kF); }

// Strides along the leading axes, then of rows and columns.
HeadView view_of(const std::vector<std::int64_t>& strides) {
  return {Dims(strides.begin(), strides.end() - 2), strides[strides.size() - 2], strides.back(), 0};
}

// A fused group.

std::optional<passes::AttentionPattern> pattern_of(const Node& node) {
  if (node.op().name != "fused" || node.regions().size() != 1) return std::nullopt;
  const Graph& region = *node.regions()[0];
  if (region.outputs().size() != 1) return std::nullopt;
  for (Node* n = region.last(); n; n = n->previous()) {
    if (n->op().name != "matmul") continue;
    auto p = passes::match_attention(n);
    if (!p || p->result != region.outputs()[0] ||
        static_cast<int>(p->nodes.size()) != region.num_nodes())
      return std::nullopt;
    return p;
  }
  return std::nullopt;
}

// What modifies the scores, over x0 (their value) and the masks; the masks' arguments in order.
struct Modified {
  Expr expr;
  std::vector<int> masks;
};
Result<Modified> modified(const passes::AttentionPattern& p) {
  Modified m;
  std::map<const Value*, Expr> known;
  const double factor = p.q.factor * p.kt.factor;
  const Expr score = Expr::input(0, kF);
  known[p.scores] = factor == 1 ? score : score * factor;
  for (const Node* n : p.modifiers) {
    Exprs args;
    for (const Value* v : n->inputs()) {
      if (v && v->is_constant() && v->tensor().count() == 1) known[v] = constant_of(v->tensor());
      if (v && v->kind() == Value::Kind::input && !known.contains(v)) {
        m.masks.push_back(v->index());
        known[v] = Expr::input(static_cast<int>(m.masks.size()), v->type().dtype());
      }
      if (v && !known.contains(v)) return unsupported("a score depends on more than masks");
      args.push_back(v ? known.at(v) : Expr());
    }
    known[n->output(0)] = n->op().scalar(Call(*n), args);
  }
  m.expr = known.at(p.modified);
  if (m.masks.size() > kMaxMasks) return unsupported("more than {} masks", kMaxMasks);
  if (!has_code(m.expr)) return unsupported("a mask's element type has no generated code");
  return m;
}

class GroupKernel : public Kernel {
 public:
  GroupKernel(passes::AttentionPattern pattern, Modified m)
      : p_(std::move(pattern)), modified_(std::move(m)) {}

  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> inputs,
                                       std::span<const Extent> outputs) const override {
    AttentionProblem a;
    Dims result(p_.result_axes.size());  // sizes of y's axes
    const Dims own = row_major_strides(outputs[0].dims);
    Dims y_strides(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto axis = static_cast<std::size_t>(p_.result_axes[i]);
      result[axis] = outputs[0].dims[i];
      y_strides[axis] = own[i];
    }
    a.lead = Dims(result.begin(), result.end() - 2);
    a.s = result[result.size() - 2];
    a.e = result.back();
    a.y = view_of(y_strides);
    a.q_argument = p_.q.source->index();
    a.k_argument = p_.kt.source->index();
    a.v_argument = p_.v.source->index();
    const Dims q = sizes(p_.q, inputs), kt = sizes(p_.kt, inputs);
    a.d = q.back();
    a.t = kt.back();
    a.q = view(p_.q, inputs, a.lead);
    a.k = view(p_.kt, inputs, a.lead);
    std::swap(a.k.row, a.k.column);  // rows are keys
    a.v = view(p_.v, inputs, a.lead);
    Dims scores = a.lead;
    scores.insert(scores.end(), {a.s, a.t});
    a.modify = modified_.expr;
    a.masks = modified_.masks;
    a.nan_gives_zero = p_.nan_becomes_zero;
    for (int m : a.masks) {
      const Extent& e = inputs[static_cast<std::size_t>(m)];
      a.mask_types.push_back(e.dtype);
      a.mask_views.push_back(view_of(broadcast_strides(e.dims, scores)));
    }
    return attention_launch(std::move(a));
  }
  std::string describe() const override {
    return fmt::format("generated attention, {} masks", modified_.masks.size());
  }

 private:
  static Dims sizes(const passes::SeenThrough& x, std::span<const Extent> inputs) {
    const Dims& dims = inputs[static_cast<std::size_t>(x.source->index())].dims;
    Dims out;
    for (int i : x.axes) {
      const auto a = static_cast<std::size_t>(i);
      out.push_back(x.lengths[a] < 0 ? dims[a] : x.lengths[a]);
    }
    return out;
  }
  // Strides along the product's axes; 0 along leading axes that broadcast.
  static HeadView view(const passes::SeenThrough& x, std::span<const Extent> inputs,
                       const Dims& lead) {
    const Dims own = row_major_strides(inputs[static_cast<std::size_t>(x.source->index())].dims);
    const Dims dims = sizes(x, inputs);
    Dims out;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const bool spreads = i < lead.size() && dims[i] == 1;
      out.push_back(spreads ? 0 : own[static_cast<std::size_t>(x.axes[i])]);
    }
    HeadView v = view_of(out);
    for (std::size_t a = 0; a < own.size(); ++a) v.offset += x.starts[a] * own[a];
    return v;
  }
  passes::AttentionPattern p_;
  Modified modified_;
};

// One of the two axes of a matrix must be the one that lies side by side in memory.
bool has_unit_axis(const passes::SeenThrough& x) {
  const int n = x.source->type().ndim();
  return x.axes[x.axes.size() - 1] == n - 1 || x.axes[x.axes.size() - 2] == n - 1;
}

Verdict takes_group(const Node& node) {
  auto p = pattern_of(node);
  if (!p) return Verdict::no("");
  for (const passes::SeenThrough* x : {&p->q, &p->kt, &p->v}) {
    if (x->source->kind() != Value::Kind::input)
      return Verdict::no("an operand is computed inside");
    if (!has_unit_axis(*x)) return Verdict::no("rows and columns of an operand both have strides");
  }
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), is_number))
    return Verdict::no("a mask is no tensor of numbers");
  auto m = modified(*p);
  return m.ok() ? Verdict() : Verdict::no(m.error().message);
}

// The operator.

using namespace ops::attention_parts;

bool is_wanted(const Value* v) {
  const Values& outputs = v->graph()->outputs();
  return !v->uses().empty() || std::find(outputs.begin(), outputs.end(), v) != outputs.end();
}

Verdict takes_operator(const Node& node) {
  const Call c(node);
  for (int i = 1; i < c.num_outputs(); ++i)
    if (is_wanted(node.output(i))) return Verdict::no("keys, values or scores are results too");
  if (c.has(kPastK)) return Verdict::no("past keys are joined first");
  for (int i : {kQ, kK, kV})
    if (!c.in(i).ranked() || c.in(i).dtype() != kF) return Verdict::no("only f32 has a kernel");
  if (c.has_attr("softmax_precision") && c.dtype("softmax_precision") != kF)
    return Verdict::no("softmax in another type");
  if (c.has_attr("scale") || c.in(kQ).dim(-1).known()) {
    if (!c.has(kMask)) return {};
    if (!c.in(kMask).ranked() ||
        (c.in(kMask).dtype() != kF && c.in(kMask).dtype() != DType::boolean))
      return Verdict::no("a mask of another type");
    const Dim keys = c.in(kK).dim(c.in(kK).ndim() == 3 ? 1 : 2);
    return c.in(kMask).dim(-1) == keys ? Verdict()
                                       : Verdict::no("the mask is shorter than the keys");
  }
  return Verdict::no("the size of a head is not known");
}

class OperatorKernel : public Kernel {
 public:
  explicit OperatorKernel(const Node& node) : node_(node) {}

  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> inputs,
                                       std::span<const Extent> outputs) const override {
    const Call c(node_);
    AttentionProblem a;
    const bool packed_q = inputs[kQ].dims.size() == 3, packed_k = inputs[kK].dims.size() == 3;
    const std::int64_t heads = packed_q ? c.integer("q_num_heads") : inputs[kQ].dims[1],
                       shared = packed_k ? c.integer("kv_num_heads") : inputs[kK].dims[1],
                       group = heads / shared;
    // Query heads that share a key head are an axis of their own.
    a.lead = {inputs[kQ].dims[0], shared, group};
    a.s = inputs[kQ].dims[packed_q ? 1 : 2];
    a.t = inputs[kK].dims[packed_k ? 1 : 2];
    a.d = packed_q ? inputs[kQ].dims[2] / heads : inputs[kQ].dims[3];
    a.e = packed_k ? inputs[kV].dims[2] / shared : inputs[kV].dims[3];
    a.q = heads_of(heads, a.s, a.d, packed_q, group);
    a.y = heads_of(heads, a.s, a.e, packed_q, group);
    a.k = shared_heads(heads_of(shared, a.t, a.d, packed_k, 1));
    a.v = shared_heads(heads_of(shared, a.t, a.e, packed_k, 1));
    const double scale =
        c.has_attr("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(a.d));
    a.modify = Expr::input(0, kF) * scale;
    if (const double cap = c.real("softcap"); cap > 0)
      a.modify = scalar::tanh(a.modify / cap) * cap;
    if (c.has(kMask)) add_mask(a, inputs[kMask], heads);
    a.is_causal = c.flag("is_causal");
    a.empty_gives_zero = c.has(kMask) || c.has(kLens);
    if (c.has(kLens)) a.lens = kLens, a.lens_type = inputs[kLens].dtype;
    (void)outputs;
    return attention_launch(std::move(a));
  }
  std::string describe() const override { return "generated attention"; }

 private:
  // [batch, heads, rows, size], or [batch, rows, heads * size]
  static HeadView heads_of(std::int64_t heads, std::int64_t rows, std::int64_t size, bool packed,
                           std::int64_t group) {
    const std::int64_t head = packed ? size : rows * size;
    return {{heads * rows * size, head * group, head}, packed ? heads * size : size, 1, 0};
  }
  static HeadView shared_heads(HeadView v) {
    v.lead[2] = 0;
    return v;
  }
  static void add_mask(AttentionProblem& a, const Extent& mask, std::int64_t heads) {
    const auto s = broadcast_strides(mask.dims, {a.lead[0], heads, a.s, a.t});
    a.masks = {kMask};
    a.mask_types = {mask.dtype};
    a.mask_views = {{{s[0], s[1] * a.lead[2], s[1]}, s[2], s[3], 0}};
    const Expr m = Expr::input(1, mask.dtype);
    a.modify = mask.dtype == DType::boolean ? scalar::select(m, a.modify, hidden()) : a.modify + m;
  }
  const Node& node_;
};

}  // namespace

Verdict takes_attention(const Node& node) {
  return node.op().name == "attention" ? takes_operator(node) : takes_group(node);
}

Result<KernelPtr> make_attention(const Node& node) {
  if (node.op().name == "attention") return KernelPtr(std::make_unique<OperatorKernel>(node));
  auto p = pattern_of(node);
  Modified m = TENON_TRY(modified(*p));
  return KernelPtr(std::make_unique<GroupKernel>(std::move(*p), std::move(m)));
}

}  // namespace tenon::backends::cpu
