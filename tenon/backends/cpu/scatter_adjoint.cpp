// Adjoints that add what arrives to the places it came from: max_pool, average_pool and gather.
// Every sum runs in one order whatever the number of threads.
#include <algorithm>
#include <array>
#include <cstring>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/ops/averages.h"
#include "tenon/ops/pooling.h"

namespace tenon::backends::cpu {
namespace {

// Taps [first, last) of each output of one axis that lie inside of the input, and where tap 0 lies.
struct Taps {
  std::vector<std::int64_t> first, last, at;
  explicit Taps(const ops::WindowAxis& w) {
    for (std::int64_t y = 0; y < w.y; ++y) {
      std::int64_t k = 0, end = w.kernel;
      while (k < end && w.at(y, k) < 0) ++k;
      while (end > k && w.at(y, end - 1) >= w.x) --end;
      first.push_back(k), last.push_back(end), at.push_back(w.at(y, 0));
    }
  }
};

// dx[plane] = every dy added to the element of x that its window's maximum came from; the first one
// wins a tie, and a NaN wins over numbers.
class MaxPoolAdjoint : public Launch {
 public:
  MaxPoolAdjoint(const ops::Window& w, std::int64_t planes)
      : w_(w), planes_(planes), taps_{Taps(w[0]), Taps(w[1]), Taps(w[2])} {}
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
    for (std::int64_t y0 = 0; y0 < w_[0].y; ++y0)
      for (std::int64_t y1 = 0; y1 < w_[1].y; ++y1)
        for (std::int64_t y2 = 0; y2 < w_[2].y; ++y2, ++dy)
          if (const std::int64_t best = largest(x, y0, y1, y2); best >= 0) dx[best] += *dy;
  }
  std::int64_t largest(const float* x, std::int64_t y0, std::int64_t y1, std::int64_t y2) const {
    const auto &t0 = taps_[0], &t1 = taps_[1], &t2 = taps_[2];
    const auto i0 = static_cast<std::size_t>(y0), i1 = static_cast<std::size_t>(y1),
               i2 = static_cast<std::size_t>(y2);
    std::int64_t best = -1;
    float value = 0;
    for (std::int64_t a = t0.first[i0]; a < t0.last[i0]; ++a)
      for (std::int64_t b = t1.first[i1]; b < t1.last[i1]; ++b) {
        const std::int64_t row =
            ((t0.at[i0] + a * w_[0].dilation) * w_[1].x + t1.at[i1] + b * w_[1].dilation) *
                w_[2].x +
            t2.at[i2];
        for (std::int64_t k = t2.first[i2]; k < t2.last[i2]; ++k) {
          const std::int64_t at = row + k * w_[2].dilation;
          const float v = x[at];
          if (v > value || best < 0 || (v != v && value == value)) best = at, value = v;
        }
      }
    return best;
  }
  ops::Window w_;
  std::int64_t planes_;
  std::array<Taps, 3> taps_;
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
