// One step after the other into oneDNN's terms.
#include <algorithm>
#include <limits>

#include "tenon/backends/cpu/epilogue_internal.h"
#include "tenon/backends/cpu/onednn_internal.h"

namespace tenon::backends::cpu {

using dnnl::algorithm;

AlignedOperand aligned_operand(const Dims& dims, const Dims& out) {
  AlignedOperand a{Dims(out.size(), 1), Dims(out.size(), 0)};
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
    const std::size_t axis = i + out.size() - dims.size();
    a.dims[axis] = dims[i];
    a.strides[axis] = dims[i] == 1 ? 0 : stride;
  }
  return a;
}

namespace {

struct Eltwise {
  algorithm kind;
  float alpha = 0, beta = 0;
};

constexpr std::size_t kMaxOperands = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::optional<Eltwise> clip_step(const Node& n) {
  const auto low = AnchoredGroup::number(n.input(1)), high = AnchoredGroup::number(n.input(2));
  if ((n.input(1) && !low) || (n.input(2) && !high)) return std::nullopt;
  return Eltwise{algorithm::eltwise_clip, low ? static_cast<float>(*low) : -kInfinity,
                 high ? static_cast<float>(*high) : kInfinity};
}

// Functions of the running value alone.
std::optional<Eltwise> unary_step(const Node& n) {
  const std::string_view op = n.op().name;
  const Call c(n);
  const auto real = [&](std::string_view name) { return static_cast<float>(c.real(name)); };
  if (op == "relu") return Eltwise{algorithm::eltwise_relu};
  if (op == "leaky_relu") return Eltwise{algorithm::eltwise_relu, real("alpha")};
  if (op == "sigmoid") return Eltwise{algorithm::eltwise_logistic};
  if (op == "tanh") return Eltwise{algorithm::eltwise_tanh};
  if (op == "silu") return Eltwise{algorithm::eltwise_swish, real("alpha")};
  if (op == "hard_swish") return Eltwise{algorithm::eltwise_hardswish, 1.0f / 6, 0.5f};
  if (op == "hard_sigmoid")
    return Eltwise{algorithm::eltwise_hardsigmoid, real("alpha"), real("beta")};
  if (op == "gelu")
    return Eltwise{c.text("approximate") == "tanh" ? algorithm::eltwise_gelu_tanh
                                                   : algorithm::eltwise_gelu_erf};
  if (op == "elu") return Eltwise{algorithm::eltwise_elu, real("alpha")};
  if (op == "exp") return Eltwise{algorithm::eltwise_exp};
  if (op == "abs") return Eltwise{algorithm::eltwise_abs};
  if (op == "sqrt") return Eltwise{algorithm::eltwise_sqrt};
  if (op == "square") return Eltwise{algorithm::eltwise_square};
  if (op == "mish") return Eltwise{algorithm::eltwise_mish};
  if (op == "neg") return Eltwise{algorithm::eltwise_linear, -1};
  if (op == "clip") return clip_step(n);
  return std::nullopt;
}

// The running value and a number, or the running value twice.
std::optional<Eltwise> affine_step(const Node& n, const Value* current) {
  const std::string_view op = n.op().name;
  const bool first = n.input(0) == current;
  if (first && n.input(1) == current) {
    if (op == "add") return Eltwise{algorithm::eltwise_linear, 2};
    if (op == "mul") return Eltwise{algorithm::eltwise_square};
    return std::nullopt;
  }
  const auto number = AnchoredGroup::number(n.input(first ? 1 : 0));
  if (!number) return std::nullopt;
  const auto c = static_cast<float>(*number);
  if (op == "add") return Eltwise{algorithm::eltwise_linear, 1, c};
  if (op == "mul") return Eltwise{algorithm::eltwise_linear, c};
  if (op == "sub") return Eltwise{algorithm::eltwise_linear, first ? 1.0f : -1.0f, first ? -c : c};
  if (op == "div" && first) return Eltwise{algorithm::eltwise_linear, 1 / c};
  if (op == "max") return Eltwise{algorithm::eltwise_clip, c, kInfinity};
  if (op == "min") return Eltwise{algorithm::eltwise_clip, -kInfinity, c};
  return std::nullopt;
}

std::optional<algorithm> binary_kind(const Node& n, const Value* current) {
  const std::string_view op = n.op().name;
  if (n.inputs().size() != 2) return std::nullopt;
  const bool first = n.input(0) == current;
  if (op == "add") return algorithm::binary_add;
  if (op == "mul") return algorithm::binary_mul;
  if (op == "sub" && first) return algorithm::binary_sub;
  if (op == "div" && first) return algorithm::binary_div;
  return std::nullopt;
}

}  // namespace

PostSteps post_steps(const AnchoredGroup& g, std::span<const Extent> inputs, const Dims& out,
                     const Dims& part, const DescribeOperand& describe, std::size_t limit) {
  PostSteps steps;
  const Value* current = g.made;
  for (const Node* n : g.epilogue) {
    if (steps.taken == limit) break;
    auto eltwise = unary_step(*n);
    if (!eltwise && n->inputs().size() == 2) eltwise = affine_step(*n, current);
    if (eltwise) {
      steps.ops.append_eltwise(eltwise->kind, eltwise->alpha, eltwise->beta);
    } else {
      const auto kind = binary_kind(*n, current);
      const Value* other = kind ? n->input(n->input(0) == current ? 1 : 0) : nullptr;
      const auto input = other ? g.inputs.find(other) : g.inputs.end();
      if (input == g.inputs.end()) break;
      AlignedOperand a = aligned_operand(inputs[static_cast<std::size_t>(input->second)].dims, out);
      for (std::size_t i = 0; i < part.size(); ++i)
        if (a.dims[i] != 1) a.dims[i] = part[i];
      const auto desc = describe(a);
      if (!desc) break;
      const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(steps.ops.len()) | DNNL_ARG_SRC_1;
      steps.ops.append_binary(*kind, *desc);
      steps.operands.push_back({argument, input->second, *desc, std::move(a)});
    }
    ++steps.taken;
    current = n->output(0);
  }
  return steps;
}

Result<RestLoop> RestLoop::make(const AnchoredGroup& g, std::span<const Extent> inputs,
                                const Extent& out, std::size_t first) {
  RestLoop rest;
  if (first >= g.epilogue.size()) return rest;
  const Value* start = first == 0 ? g.made : g.epilogue[first - 1]->output(0);
  codegen::LoopNest nest;
  codegen::LoopAxes axes;
  axes.sizes = out.dims;
  std::map<const Value*, Expr> known;
  const auto operand = [&](const Value* v, int input, const Dims& dims) {
    known[v] = Expr::input(static_cast<int>(rest.inputs_.size()), DType::f32);
    rest.inputs_.push_back(input);
    nest.inputs.push_back({DType::f32, {}});
    axes.strides.push_back(aligned_operand(dims, out.dims).strides);
  };
  operand(start, -1, out.dims);
  for (std::size_t i = first; i < g.epilogue.size(); ++i) {
    const Node& n = *g.epilogue[i];
    Exprs args;
    for (const Value* v : n.inputs()) {
      if (v && !known.contains(v)) {
        if (auto it = g.inputs.find(v); it != g.inputs.end())
          operand(v, it->second, inputs[static_cast<std::size_t>(it->second)].dims);
        else
          known[v] = Expr::constant(*AnchoredGroup::number(v), DType::f32);
      }
      args.push_back(v ? known.at(v) : Expr());
    }
    known[n.output(0)] = n.op().scalar(Call(n), args);
  }
  if (rest.inputs_.size() > kMaxOperands)
    return unsupported("a group with more than {} operands", kMaxOperands);
  nest.exprs = {known.at(g.epilogue.back()->output(0))};
  nest.outputs.push_back({DType::f32, {}});
  axes.strides.push_back(axes.strides[0]);
  rest.loop_ = TENON_TRY(BoundLoop::make(std::move(nest), axes));
  return rest;
}

void RestLoop::pointers(const Frame& frame, const std::byte** from) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    from[i] =
        inputs_[i] < 0 ? frame.outputs[0] : frame.inputs[static_cast<std::size_t>(inputs_[i])];
}

void RestLoop::run(const Frame& frame) const {
  if (empty()) return;
  std::array<const std::byte*, kMaxOperands> from;
  pointers(frame, from.data());
  loop_.run(from.data(), frame.outputs.data(), frame.pool);
}

void RestLoop::split_over(std::int64_t parts) {
  if (empty() || parts == 0 || loop_.sizes[0] % parts != 0) return;
  unit_ = loop_.sizes[0] / parts;
}

void RestLoop::run_part(const Frame& frame, std::int64_t part) const {
  if (!is_split()) return;
  std::array<const std::byte*, kMaxOperands> from;
  pointers(frame, from.data());
  loop_.loop.function(from.data(), frame.outputs.data(), loop_.sizes.data(), loop_.strides.data(),
                      part * unit_, (part + 1) * unit_);
}

}  // namespace tenon::backends::cpu
