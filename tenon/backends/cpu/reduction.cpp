// Reductions as generated loops: rows when the folded axes are innermost, else columns.
#include <algorithm>
#include <array>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/loop_launch_internal.h"
#include "tenon/ops/reductions.h"

namespace tenon::backends::cpu {

using codegen::Combine;

Combine combine_of(std::string_view op) {
  if (op == "reduce_sum") return Combine::sum;
  if (op == "reduce_max") return Combine::max;
  if (op == "reduce_min") return Combine::min;
  if (op == "reduce_prod") return Combine::prod;
  return Combine::none;
}

namespace {

// Expression of one step on operands of type d.
Expr step_of(Combine how, DType d) {
  const Expr a = Expr::input(0, d), b = Expr::input(1, d);
  if (how == Combine::sum) return a + b;
  if (how == Combine::prod) return a * b;
  return how == Combine::max ? scalar::max(a, b) : scalar::min(a, b);
}

class RowLaunch : public Launch {
 public:
  explicit RowLaunch(BoundLoop loop) : loop_(std::move(loop)) {}
  Status run(const Frame& frame) const override {
    loop_.run(frame.inputs.data(), frame.outputs.data(), frame.pool);
    return {};
  }

 private:
  BoundLoop loop_;
};

// y[outer, inner] = x[outer, 0, inner], then y = step(y, x[outer, r, inner]) for r = 1 ...:
// contiguous rows instead of strided columns.
class ColumnLaunch : public Launch {
 public:
  ColumnLaunch(BoundLoop step, std::int64_t outer, std::int64_t folded, std::int64_t inner,
               std::size_t size)
      : step_(std::move(step)), outer_(outer), folded_(folded), inner_(inner), size_(size) {}
  Status run(const Frame& frame) const override {
    const std::int64_t grain =
        std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, folded_ * inner_));
    frame.pool.parallel_for(0, outer_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) fold(frame, o);
    });
    return {};
  }

 private:
  void fold(const Frame& frame, std::int64_t o) const {
    const std::size_t row = static_cast<std::size_t>(inner_) * size_;
    std::byte* y = frame.outputs[0] + static_cast<std::size_t>(o) * row;
    const std::byte* x = frame.inputs[0] + static_cast<std::size_t>(o * folded_) * row;
    std::memcpy(y, x, row);
    for (std::int64_t r = 1; r < folded_; ++r) {
      const std::byte* in[] = {y, x + static_cast<std::size_t>(r) * row};
      std::byte* out[] = {y};
      step_.loop.function(in, out, step_.sizes.data(), step_.strides.data(), 0, inner_);
    }
  }
  BoundLoop step_;
  std::int64_t outer_, folded_, inner_;
  std::size_t size_;
};

class ReductionKernel : public Kernel {
 public:
  ReductionKernel(Combine how, std::vector<int> axes, std::string what)
      : how_(how), axes_(std::move(axes)), what_(std::move(what)) {}

  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> inputs,
                                       std::span<const Extent>) const override {
    const Extent& x = inputs[0];
    if (auto column = TENON_TRY(bind_columns(x))) return column;
    const Dims own = row_major_strides(x.dims);
    codegen::LoopAxes axes;
    axes.strides.resize(2);
    std::int64_t out_stride = 1;
    std::vector<std::pair<std::int64_t, std::int64_t>>
        kept;  // size, stride in y; from the last axis
    for (int a = static_cast<int>(x.dims.size()) - 1; a >= 0; --a)
      if (!folded(a))
        kept.emplace_back(a, out_stride), out_stride *= x.dims[static_cast<std::size_t>(a)];
    for (auto it = kept.rbegin(); it != kept.rend(); ++it)
      push(axes, x.dims[static_cast<std::size_t>(it->first)],
           own[static_cast<std::size_t>(it->first)], it->second);
    for (int a : axes_)
      push(axes, x.dims[static_cast<std::size_t>(a)], own[static_cast<std::size_t>(a)], 0);
    axes.num_reduced = static_cast<int>(axes_.size());
    codegen::LoopNest nest;
    nest.inputs = {
        {x.dtype, {}},
    };
    nest.outputs = {{x.dtype, {}}};
    nest.combine = how_;
    // f16 and bf16 accumulate in f32 and round once.
    nest.exprs = {is_floating(x.dtype) && size_of(x.dtype) == 2
                      ? scalar::cast(Expr::input(0, x.dtype), DType::f32)
                      : Expr::input(0, x.dtype)};
    if (nest.exprs[0].dtype() != x.dtype)
      nest.post = scalar::cast(Expr::input(0, DType::f32), x.dtype);
    return std::unique_ptr<Launch>(
        std::make_unique<RowLaunch>(TENON_TRY(BoundLoop::make(std::move(nest), axes))));
  }
  std::string describe() const override { return what_; }

 private:
  bool folded(int axis) const { return std::find(axes_.begin(), axes_.end(), axis) != axes_.end(); }
  static void push(codegen::LoopAxes& axes, std::int64_t size, std::int64_t in, std::int64_t out) {
    axes.sizes.push_back(size);
    axes.strides[0].push_back(in);
    axes.strides[1].push_back(out);
  }
  // When the folded axes are neighbours and something contiguous lies inside them.
  Result<std::unique_ptr<Launch>> bind_columns(const Extent& x) const {
    if (size_of(x.dtype) < 4 || axes_.empty()) return std::unique_ptr<Launch>();
    const bool neighbours = axes_.back() - axes_.front() + 1 == static_cast<int>(axes_.size());
    std::int64_t outer = 1, fold = 1, inner = 1;
    for (int a = 0; a < static_cast<int>(x.dims.size()); ++a)
      (a < axes_.front()  ? outer
       : a > axes_.back() ? inner
                          : fold) *= x.dims[static_cast<std::size_t>(a)];
    if (!neighbours || inner < 8 || fold == 0) return std::unique_ptr<Launch>();
    codegen::LoopNest nest;
    nest.inputs = {{x.dtype, {}}, {x.dtype, {}}};
    nest.outputs = {{x.dtype, {}}};
    nest.exprs = {step_of(how_, x.dtype)};
    codegen::LoopAxes axes{{inner}, {{1}, {1}, {1}}, 0};
    BoundLoop step = TENON_TRY(BoundLoop::make(std::move(nest), axes));
    return std::unique_ptr<Launch>(std::make_unique<ColumnLaunch>(
        std::move(step), outer, fold, inner, static_cast<std::size_t>(size_of(x.dtype))));
  }

  Combine how_;
  std::vector<int> axes_;
  std::string what_;
};

}  // namespace

Verdict takes_reduction(const Node& node) {
  if (combine_of(node.op().name) == Combine::none) return Verdict::no("");
  const DType d = node.input(0)->type().dtype();
  if (!is_number(node.input(0)) ||
      !(d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16 || is_integer(d)))
    return Verdict::no("this element type has no generated reduction");
  if (bits_of(d) < 8) return Verdict::no("this element type has no generated reduction");
  auto axes = ops::reduced_axes(Call(node));
  if (!axes.ok() || !*axes) return Verdict::no("the axes are computed at run time");
  return {};
}

Result<KernelPtr> make_reduction(const Node& node) {
  std::vector<int> axes = **ops::reduced_axes(Call(node));
  std::sort(axes.begin(), axes.end());
  return KernelPtr(std::make_unique<ReductionKernel>(combine_of(node.op().name), std::move(axes),
                                                     "generated reduction"));
}

}  // namespace tenon::backends::cpu
