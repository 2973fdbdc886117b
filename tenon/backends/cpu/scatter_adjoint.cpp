// Adjoints that add what arrives to the places it came from: max_pool, average_pool and gather.
// Every sum runs in one order whatever the number of threads.
#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/ops/averages.h"
#include "tenon/ops/pooling.h"

namespace tenon::backends::cpu {
namespace {

// dx[plane] = every dy added to the element of x that its window's maximum came from.
class MaxPoolAdjoint : public Launch {
 public:
  MaxPoolAdjoint(const ops::Window& w, std::int64_t planes) : w_(w), planes_(planes) {}
  Status run(const Frame& frame) const override {
    const auto* dy = reinterpret_cast<const float*>(frame.inputs[0]);
    const auto* x = reinterpret_cast<const float*>(frame.inputs[1]);
    auto* dx = reinterpret_cast<float*>(frame.outputs[0]);
    const std::int64_t xs = ops::x_plane(w_), ys = ops::y_plane(w_);
    frame.pool.parallel_for(0, planes_,
                            std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, xs)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t p = begin; p < end; ++p) {
                                std::fill_n(dx + p * xs, xs, 0.0f);
                                plane(x + p * xs, dy + p * ys, dx + p * xs);
                              }
                            });
    return {};
  }

 private:
  void plane(const float* x, const float* dy, float* dx) const {
    ops::for_each_output(w_,
                         [&](std::int64_t y0, std::int64_t y1, std::int64_t y2, std::int64_t k) {
                           const std::int64_t best = ops::largest_in_window(w_, x, y0, y1, y2);
                           if (best >= 0) dx[best] += dy[k];
                         });
  }
  ops::Window w_;
  std::int64_t planes_;
};

// dx[plane] = dy / divisor added to every element of its window.
class AveragePoolAdjoint : public Launch {
 public:
  AveragePoolAdjoint(const ops::Window& w, std::int64_t planes, const std::vector<double>& scales)
      : w_(w), planes_(planes), scales_(scales.begin(), scales.end()) {}
  Status run(const Frame& frame) const override {
    const auto* dy = reinterpret_cast<const float*>(frame.inputs[0]);
    auto* dx = reinterpret_cast<float*>(frame.outputs[0]);
    const std::int64_t xs = ops::x_plane(w_), ys = ops::y_plane(w_);
    frame.pool.parallel_for(0, planes_,
                            std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, xs)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t p = begin; p < end; ++p) {
                                std::fill_n(dx + p * xs, xs, 0.0f);
                                plane(dy + p * ys, dx + p * xs);
                              }
                            });
    return {};
  }

 private:
  void plane(const float* dy, float* dx) const {
    ops::for_each_output(w_, [&](std::int64_t y0, std::int64_t y1, std::int64_t y2,
                                 std::int64_t k) {
      const float share = dy[k] * scales_[static_cast<std::size_t>(k)];
      ops::for_each_tap(w_, y0, y1, y2, [&](std::int64_t at, std::int64_t) { dx[at] += share; });
    });
  }
  ops::Window w_;
  std::int64_t planes_;
  std::vector<float> scales_;
};

// x[a, r, b] = sum of dy[a, i, b] over all i with indices[i] == r; threads share the columns b.
class GatherAdjoint : public Launch {
 public:
  GatherAdjoint(std::int64_t outer, std::int64_t rows, std::int64_t inner, std::int64_t count,
                bool is_wide)
      : outer_(outer), rows_(rows), inner_(inner), count_(count), is_wide_(is_wide) {}
  Status run(const Frame& frame) const override {
    for (std::int64_t i = 0; i < count_; ++i)
      if (const std::int64_t at = index(frame, i); at < -rows_ || at >= rows_)
        return invalid("gather_adjoint: index {} is outside of an axis of {}", at, rows_);
    const auto* dy = reinterpret_cast<const float*>(frame.inputs[0]);
    auto* x = reinterpret_cast<float*>(frame.outputs[0]);
    frame.pool.parallel_for(0, outer_ * rows_, std::max<std::int64_t>(1, 16384 / inner_),
                            [&](std::int64_t begin, std::int64_t end) {
                              std::fill(x + begin * inner_, x + end * inner_, 0.0f);
                            });
    const std::int64_t grain =
        std::max<std::int64_t>(16, 16384 / std::max<std::int64_t>(1, count_));
    for (std::int64_t a = 0; a < outer_; ++a)
      frame.pool.parallel_for(0, inner_, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = 0; i < count_; ++i) {
          const std::int64_t at = index(frame, i), row = at < 0 ? at + rows_ : at;
          float* to = x + (a * rows_ + row) * inner_;
          const float* from = dy + (a * count_ + i) * inner_;
          for (std::int64_t b = begin; b < end; ++b) to[b] += from[b];
        }
      });
    return {};
  }

 private:
  std::int64_t index(const Frame& frame, std::int64_t i) const {
    return is_wide_ ? reinterpret_cast<const std::int64_t*>(frame.inputs[1])[i]
                    : reinterpret_cast<const std::int32_t*>(frame.inputs[1])[i];
  }
  std::int64_t outer_, rows_, inner_, count_;
  bool is_wide_;
};

class ScatterAdjointKernel : public Kernel {
 public:
  explicit ScatterAdjointKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    const Dims& x = out[0].dims;
    if (out[0].count() == 0) return unsupported("empty results are interpreted");
    const Call call(node_);
    if (node_.op().name == "gather_adjoint") {
      const auto axis = static_cast<std::size_t>(
          TENON_TRY(call.axis(call.integer("axis"), static_cast<int>(x.size()))));
      const auto at = x.begin() + static_cast<std::ptrdiff_t>(axis);
      return std::unique_ptr<Launch>(std::make_unique<GatherAdjoint>(
          num_elements(Dims(x.begin(), at)), *at, num_elements(Dims(at + 1, x.end())),
          in[1].count(), in[1].dtype == DType::i64));
    }
    const ops::Window w = TENON_TRY(ops::pool_window(call, Dims(x.begin() + 2, x.end())));
    if (node_.op().name == "max_pool_adjoint")
      return std::unique_ptr<Launch>(std::make_unique<MaxPoolAdjoint>(w, x[0] * x[1]));
    return std::unique_ptr<Launch>(
        std::make_unique<AveragePoolAdjoint>(w, x[0] * x[1], ops::window_scales(call, w)));
  }
  std::string describe() const override { return "sums at the places of origin"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_scatter_adjoint(const Node& node) {
  const std::string_view name = node.op().name;
  if (name != "max_pool_adjoint" && name != "average_pool_adjoint" && name != "gather_adjoint")
    return Verdict::no("");
  if (node.input(0)->type().dtype() != DType::f32 || !is_number(node.input(0)) ||
      !node.output(0)->type().ranked())
    return Verdict::no("only f32 sums at the places of origin have a native kernel");
  if (name != "gather_adjoint" && node.output(0)->type().ndim() > 5)
    return Verdict::no("more than three spatial axes");
  return {};
}

Result<KernelPtr> make_scatter_adjoint(const Node& node) {
  return KernelPtr(std::make_unique<ScatterAdjointKernel>(node));
}

}  // namespace tenon::backends::cpu
