// Fused groups that reduce rows: one generated kernel each.
#include <algorithm>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"
#include "tenon/backends/cpu/row_group_internal.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {
namespace {

constexpr std::size_t kMaxOutputs = 8;

class RowLaunch : public Launch {
 public:
  explicit RowLaunch(BoundProgram program) : program_(std::move(program)) {}
  Status run(const Frame& frame) const override {
    program_.run(frame.inputs, frame.outputs, frame.pool);
    return {};
  }

 private:
  BoundProgram program_;
};

class RowKernel : public Kernel {
 public:
  explicit RowKernel(RowGroup group) : group_(std::move(group)) {}

  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> inputs,
                                       std::span<const Extent> outputs) const override {
    const Dims full = full_shape(inputs);
    if (static_cast<int>(full.size()) != group_.ndim)
      return unsupported("rows of {} axes, not {}", full.size(), group_.ndim);
    codegen::LoopAxes axes;
    axes.num_reduced = static_cast<int>(group_.row_axes.size());
    for (int a : order()) axes.sizes.push_back(full[static_cast<std::size_t>(a)]);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      axes.strides.push_back(group_.reads[i] ? strides(inputs[i].dims, group_.inputs[i], full)
                                             : Dims(axes.sizes.size(), 0));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      axes.strides.push_back(strides(outputs[o].dims, group_.outputs[o], full));
    return std::unique_ptr<Launch>(
        std::make_unique<RowLaunch>(TENON_TRY(BoundProgram::make(group_.program, axes))));
  }

  std::string describe() const override {
    const auto passes = std::count_if(group_.program.steps.begin(), group_.program.steps.end(),
                                      [](const codegen::LoopStep& s) { return s.over_row; });
    return fmt::format("generated rows, {} operations in {} passes", group_.num_operations, passes);
  }
  bool may_overwrite(int i) const override {
    const auto k = static_cast<std::size_t>(i);
    return group_.writes_output_last && group_.reads[k] &&
           group_.program.inputs[k].dtype == group_.program.outputs[0].dtype;
  }

 private:
  bool is_row_axis(int a) const {
    return std::find(group_.row_axes.begin(), group_.row_axes.end(), a) != group_.row_axes.end();
  }
  // Axes of the full shape: kept ones, then those of the row.
  std::vector<int> order() const {
    std::vector<int> axes;
    for (int a = 0; a < group_.ndim; ++a)
      if (!is_row_axis(a)) axes.push_back(a);
    axes.insert(axes.end(), group_.row_axes.begin(), group_.row_axes.end());
    return axes;
  }
  // What is reduced is computed from operands that broadcast to it.
  Dims full_shape(std::span<const Extent> inputs) const {
    Dims full;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (group_.reads[i] && group_.inputs[i] == RowRole::aligned)
        full = ops::broadcast_dims(full, inputs[i].dims);
    return full;
  }
  // Strides along order(), 0 where the operand does not step.
  Dims strides(const Dims& dims, RowRole role, const Dims& full) const {
    Dims aligned = dims;
    if (role == RowRole::short_) {
      aligned.clear();
      for (int a = 0, k = 0; a < group_.ndim; ++a)
        aligned.push_back(is_row_axis(a) ? 1 : dims[static_cast<std::size_t>(k++)]);
    }
    const Dims by_axis = broadcast_strides(aligned, full);
    Dims out;
    for (int a : order())
      out.push_back(full[static_cast<std::size_t>(a)] == 1 ? 0
                                                           : by_axis[static_cast<std::size_t>(a)]);
    return out;
  }

  RowGroup group_;
};

bool has_reduction(const Graph& region) {
  for (const Node* n : region.nodes())
    if (combine_of(n->op().name) != codegen::Combine::none) return true;
  return false;
}

}  // namespace

Verdict takes_row_group(const Node& node) {
  if (node.op().name != "fused" || node.regions().size() != 1 || !has_reduction(*node.regions()[0]))
    return Verdict::no("");
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), is_number) ||
      !std::all_of(node.outputs().begin(), node.outputs().end(), is_number))
    return Verdict::no("text, complex numbers and tensors without rank have no generated code");
  if (node.outputs().size() > kMaxOutputs) return Verdict::no("too many results");
  auto group = row_group_of(*node.regions()[0]);
  return group.ok() ? Verdict() : Verdict::no(group.error().message);
}

Result<KernelPtr> make_row_group(const Node& node) {
  return KernelPtr(std::make_unique<RowKernel>(TENON_TRY(row_group_of(*node.regions()[0]))));
}

}  // namespace tenon::backends::cpu
