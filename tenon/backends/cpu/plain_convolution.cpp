// Depthwise filters by rows, pointwise filters as matrix products.
#include "tenon/backends/cpu/plain_convolution_internal.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/onednn_internal.h"

namespace tenon::backends::cpu {
namespace {

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))

TENON_EVERY_ISA void add_scaled(float* y, const float* x, float w, std::int64_t n, std::int64_t stride) {
  if (stride == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i];
  else if (stride == 2)
    for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i * 2];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i * stride];
}

// Three taps in one pass over the row: a third of the loads and stores of y.
TENON_EVERY_ISA void add_three(float* y, const float* x, const float* w, std::int64_t n, std::int64_t stride, std::int64_t step) {
  const float a = w[0], b = w[1], c = w[2];
  const float *x1 = x + step, *x2 = x + 2 * step;
  if (stride == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i] + b * x1[i] + c * x2[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i * stride] + b * x1[i * stride] + c * x2[i * stride];
}

class DepthwiseLaunch : public Launch {
 public:
  DepthwiseLaunch(const ops::Window& w, std::int64_t batch, std::int64_t channels, bool has_bias) : w_(w), batch_(batch), channels_(channels), has_bias_(has_bias) {}
  Status run(const Frame& frame) const override {
    const auto* x = reinterpret_cast<const float*>(frame.inputs[0]);
    const auto* w = reinterpret_cast<const float*>(frame.inputs[1]);
    const auto* b = has_bias_ ? reinterpret_cast<const float*>(frame.inputs[2]) : nullptr;
    auto* y = reinterpret_cast<float*>(frame.outputs[0]);
    const std::int64_t xs = w_[0].x * w_[1].x * w_[2].x, ys = w_[0].y * w_[1].y * w_[2].y, taps = w_[0].kernel * w_[1].kernel * w_[2].kernel;
    frame.pool.parallel_for(0, batch_ * channels_, std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, ys * taps)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t c = p % channels_;
        plane(x + p * xs, w + c * taps, b ? b[c] : 0.0f, y + p * ys);
      }
    });
    return {};
  }

 private:
  void plane(const float* x, const float* w, float bias, float* y) const {
    for (std::int64_t a = 0; a < w_[0].y; ++a)
      for (std::int64_t b = 0; b < w_[1].y; ++b, y += w_[2].y) {
        std::fill_n(y, w_[2].y, bias);
        for (std::int64_t k0 = 0; k0 < w_[0].kernel; ++k0) {
          const std::int64_t p0 = w_[0].at(a, k0);
          if (p0 < 0 || p0 >= w_[0].x) continue;
          for (std::int64_t k1 = 0; k1 < w_[1].kernel; ++k1) {
            const std::int64_t p1 = w_[1].at(b, k1);
            if (p1 >= 0 && p1 < w_[1].x) row(x + (p0 * w_[1].x + p1) * w_[2].x, w + (k0 * w_[1].kernel + k1) * w_[2].kernel, y);
          }
        }
      }
  }
  // One row of taps: the middle, where three neighbouring taps all lie inside, in one pass; edges tap by tap.
  void row(const float* x, const float* w, float* y) const {
    const ops::WindowAxis& v = w_[2];
    std::int64_t k = 0;
    for (; k + 3 <= v.kernel; k += 3) {
      const std::int64_t low = std::max(v.first(k), std::max(v.first(k + 1), v.first(k + 2))), high = std::min(v.last(k), std::min(v.last(k + 1), v.last(k + 2)));
      if (high <= low) { for (std::int64_t t = k; t < k + 3; ++t) tap(x, w, y, t, v.first(t), v.last(t)); continue; }
      add_three(y + low, x + v.at(low, k), w + k, high - low, v.stride, v.dilation);
      for (std::int64_t t = k; t < k + 3; ++t) {
        tap(x, w, y, t, v.first(t), std::min(low, v.last(t)));
        tap(x, w, y, t, std::max(high, v.first(t)), v.last(t));
      }
    }
    for (; k < v.kernel; ++k) tap(x, w, y, k, v.first(k), v.last(k));
  }
  void tap(const float* x, const float* w, float* y, std::int64_t k, std::int64_t first, std::int64_t last) const {
    if (last > first) add_scaled(y + first, x + w_[2].at(first, k), w[k], last - first, w_[2].stride);
  }

  ops::Window w_;
  std::int64_t batch_, channels_;
  bool has_bias_;
};

using dnnl::memory;

// y[rows, plane] = w[rows, in] x[in, plane] (+ y, which holds the bias)
class Product {
 public:
  Product(std::int64_t rows, std::int64_t in, std::int64_t plane, bool adds)
      : w_({rows, in}, memory::data_type::f32, memory::dims{in, 1}), x_({in, plane}, memory::data_type::f32, memory::dims{plane, 1}), y_({rows, plane}, memory::data_type::f32, memory::dims{plane, 1}) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops post;
    if (adds) post.append_sum(1.0f);
    attr.set_post_ops(post);
    dnnl::matmul::primitive_desc desc(onednn_engine(), w_, x_, y_, attr);
    scratch_ = desc.scratchpad_desc();
    primitive_ = dnnl::matmul(desc);
  }
  void run(const std::byte* w, const std::byte* x, std::byte* y) const {
    primitive_.execute(onednn_stream(), {{DNNL_ARG_SRC, memory_at(w_, w)}, {DNNL_ARG_WEIGHTS, memory_at(x_, x)}, {DNNL_ARG_DST, memory_at(y_, y)},
                                         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  memory::desc w_, x_, y_, scratch_;
  dnnl::matmul primitive_;
};

class PointwiseLaunch : public Launch {
 public:
  PointwiseLaunch(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t plane, bool has_bias) : batch_(batch), in_(in), out_(out), plane_(plane), has_bias_(has_bias) { product(out_); }
  Status run(const Frame& frame) const override {
    constexpr std::int64_t kRows = 8;  // output channels that a part has at least, and a multiple of
    const std::int64_t blocks = (out_ + kRows - 1) / kRows, work = 2 * kRows * in_ * plane_;
    frame.pool.parallel_for(0, blocks, std::max<std::int64_t>(1, 400000 / std::max<std::int64_t>(1, work)), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t first = begin * kRows, rows = std::min(out_, end * kRows) - first;
      const auto p = product(rows);
      for (std::int64_t n = 0; n < batch_; ++n) {
        std::byte* y = frame.outputs[0] + (n * out_ + first) * plane_ * 4;
        if (has_bias_) fill_bias(reinterpret_cast<float*>(y), reinterpret_cast<const float*>(frame.inputs[2]) + first, rows);
        p->run(frame.inputs[1] + first * in_ * 4, frame.inputs[0] + n * in_ * plane_ * 4, y);
      }
    });
    return {};
  }

 private:
  void fill_bias(float* y, const float* bias, std::int64_t rows) const {
    for (std::int64_t r = 0; r < rows; ++r) std::fill_n(y + r * plane_, plane_, bias[r]);
  }
  std::shared_ptr<const Product> product(std::int64_t rows) const {
    const std::lock_guard lock(mutex_);
    auto& p = products_[rows];
    if (!p) p = std::make_shared<Product>(rows, in_, plane_, has_bias_);
    return p;
  }
  std::int64_t batch_, in_, out_, plane_;
  bool has_bias_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Product>> products_;  // by rows
};

}  // namespace

std::unique_ptr<Launch> depthwise_launch(const ops::Window& window, std::int64_t batch, std::int64_t channels, bool has_bias) {
  return std::make_unique<DepthwiseLaunch>(window, batch, channels, has_bias);
}

Result<std::unique_ptr<Launch>> pointwise_launch(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t plane, bool has_bias) {
  return guarded([&] { return std::unique_ptr<Launch>(std::make_unique<PointwiseLaunch>(batch, in, out, plane, has_bias)); });
}

}  // namespace tenon::backends::cpu
