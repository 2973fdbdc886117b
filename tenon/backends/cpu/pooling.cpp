// Pooling over planes: rows of taps, one pass per tap, so that the inner loop is a plain vector
// loop.
#include "tenon/ops/pooling.h"

#include <algorithm>
#include <limits>

#include "tenon/backends/cpu/kernels_internal.h"

namespace tenon::backends::cpu {
namespace {

enum class Pool : std::uint8_t { max, average };

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))

// acc[o] = fold(acc[o], x[o * stride]) for o in [0, n)
TENON_EVERY_ISA void fold_max(float* acc, const float* x, std::int64_t n, std::int64_t stride) {
  // A NaN wins: the comparison is false for it either way, so it is asked for.
  if (stride == 1)
    for (std::int64_t o = 0; o < n; ++o) acc[o] = (x[o] > acc[o] || x[o] != x[o]) ? x[o] : acc[o];
  else
    for (std::int64_t o = 0; o < n; ++o)
      acc[o] = (x[o * stride] > acc[o] || x[o * stride] != x[o * stride]) ? x[o * stride] : acc[o];
}
TENON_EVERY_ISA void fold_sum(float* acc, const float* x, std::int64_t n, std::int64_t stride) {
  if (stride == 1)
    for (std::int64_t o = 0; o < n; ++o) acc[o] += x[o];
  else
    for (std::int64_t o = 0; o < n; ++o) acc[o] += x[o * stride];
}

class PoolLaunch : public Launch {
 public:
  PoolLaunch(Pool kind, const ops::Window& w, std::int64_t planes, bool counts_pads,
             std::int64_t divisor)
      : kind_(kind), w_(w), planes_(planes), counts_pads_(counts_pads), divisor_(divisor) {}

  Status run(const Frame& frame) const override {
    const auto* x = reinterpret_cast<const float*>(frame.inputs[0]);
    auto* y = reinterpret_cast<float*>(frame.outputs[0]);
    const std::int64_t xs = w_[0].x * w_[1].x * w_[2].x, ys = w_[0].y * w_[1].y * w_[2].y;
    const std::int64_t work =
        std::max<std::int64_t>(1, ys * w_[0].kernel * w_[1].kernel * w_[2].kernel);
    frame.pool.parallel_for(0, planes_, std::max<std::int64_t>(1, 32768 / work),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t p = begin; p < end; ++p)
                                plane(x + p * xs, y + p * ys);
                            });
    return {};
  }

 private:
  void plane(const float* x, float* y) const {
    for (std::int64_t a = 0; a < w_[0].y; ++a)
      for (std::int64_t b = 0; b < w_[1].y; ++b, y += w_[2].y) row(x, y, a, b);
  }
  void row(const float* x, float* y, std::int64_t a, std::int64_t b) const {
    std::fill_n(y, w_[2].y, kind_ == Pool::max ? -std::numeric_limits<float>::infinity() : 0.0f);
    std::int64_t rows = 0;  // taps of the two outer axes that lie inside
    for (std::int64_t k0 = 0; k0 < w_[0].kernel; ++k0) {
      const std::int64_t p0 = w_[0].at(a, k0);
      if (p0 < 0 || p0 >= w_[0].x) continue;
      for (std::int64_t k1 = 0; k1 < w_[1].kernel; ++k1) {
        const std::int64_t p1 = w_[1].at(b, k1);
        if (p1 < 0 || p1 >= w_[1].x) continue;
        ++rows;
        const float* line = x + (p0 * w_[1].x + p1) * w_[2].x;
        for (std::int64_t k2 = 0; k2 < w_[2].kernel; ++k2) {
          const std::int64_t first = w_[2].first(k2), n = w_[2].last(k2) - first;
          if (n <= 0) continue;
          (kind_ == Pool::max ? fold_max : fold_sum)(y + first, line + w_[2].at(first, k2), n,
                                                     w_[2].stride);
        }
      }
    }
    if (kind_ == Pool::average) divide(y, a, b, rows);
  }
  void divide(float* y, std::int64_t a, std::int64_t b, std::int64_t rows) const {
    for (std::int64_t o = 0; o < w_[2].y; ++o) {
      std::int64_t count = divisor_;
      if (count == 0)
        count = counts_pads_ ? padded(w_[0], a) * padded(w_[1], b) * padded(w_[2], o)
                             : rows * inside(w_[2], o);
      y[o] /= static_cast<float>(count);
    }
  }
  // Taps of output o that lie inside of the input, or of the input with its pads.
  static std::int64_t inside(const ops::WindowAxis& w, std::int64_t o) {
    return taps(w, o, 0, w.x);
  }
  static std::int64_t padded(const ops::WindowAxis& w, std::int64_t o) {
    return taps(w, o, -w.begin, w.x + w.end);
  }
  static std::int64_t taps(const ops::WindowAxis& w, std::int64_t o, std::int64_t low,
                           std::int64_t high) {
    std::int64_t n = 0;
    for (std::int64_t k = 0; k < w.kernel; ++k) {
      const std::int64_t p = w.at(o, k);
      n += p >= low && p < high;
    }
    return n;
  }

  Pool kind_;
  ops::Window w_;
  std::int64_t planes_;
  bool counts_pads_;
  std::int64_t divisor_;
};

class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    if (out[0].count() == 0) return unsupported("empty results are interpreted");
    const Call call(node_);
    const Dims& x = in[0].dims;
    const ops::Window w = TENON_TRY(ops::pool_window(call, Dims(x.begin() + 2, x.end())));
    const bool is_max = node_.op().name == "max_pool";
    return std::unique_ptr<Launch>(std::make_unique<PoolLaunch>(
        is_max ? Pool::max : Pool::average, w, x[0] * x[1],
        !is_max && call.flag("count_include_pad"), is_max ? 0 : call.integer("divisor")));
  }
  std::string describe() const override { return "pooling by rows"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_pooling(const Node& node) {
  if (node.op().name != "max_pool" && node.op().name != "average_pool") return Verdict::no("");
  if (node.input(0)->type().dtype() != DType::f32 || !is_number(node.input(0)))
    return Verdict::no("only f32 pooling has a native kernel");
  if (node.outputs().size() > 1 && !node.output(1)->uses().empty())
    return Verdict::no("positions of maxima are found by the interpreter");
  const Graph* graph = node.graph();
  if (node.outputs().size() > 1 && std::find(graph->outputs().begin(), graph->outputs().end(),
                                             node.output(1)) != graph->outputs().end())
    return Verdict::no("positions of maxima are found by the interpreter");
  return {};
}

Result<KernelPtr> make_pooling(const Node& node) {
  return KernelPtr(std::make_unique<PoolKernel>(node));
}

}  // namespace tenon::backends::cpu
