// Depthwise filters by rows, pointwise filters as matrix products.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/onednn_internal.h"
#include "tenon/backends/cpu/plain_convolution_internal.h"

namespace tenon::backends::cpu {
namespace {

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))

TENON_EVERY_ISA void add_scaled(float* y, const float* x, float w, std::int64_t n,
                                std::int64_t stride) {
  if (stride == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i];
  else if (stride == 2)
    for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i * 2];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i * stride];
}

// Three taps in one pass over the row: a third of the loads and stores of y.
TENON_EVERY_ISA void add_three(float* y, const float* x, const float* w, std::int64_t n,
                               std::int64_t stride, std::int64_t step) {
  const float a = w[0], b = w[1], c = w[2];
  const float *x1 = x + step, *x2 = x + 2 * step;
  if (stride == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i] + b * x1[i] + c * x2[i];
  else
    for (std::int64_t i = 0; i < n; ++i)
      y[i] += a * x[i * stride] + b * x1[i * stride] + c * x2[i * stride];
}

// A whole 3 x 3 filter in one pass: y is written once and never read.
TENON_EVERY_ISA void filter_nine(float* y, const float* x0, const float* x1, const float* x2,
                                 const float* w, float bias, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = bias + (w[0] * x0[i] + w[1] * x0[i + 1] + w[2] * x0[i + 2]) +
           (w[3] * x1[i] + w[4] * x1[i + 1] + w[5] * x1[i + 2]) +
           (w[6] * x2[i] + w[7] * x2[i + 1] + w[8] * x2[i + 2]);
}

class DepthwiseLaunch : public Launch {
 public:
  DepthwiseLaunch(const ops::Window& w, std::int64_t batch, std::int64_t channels, bool has_bias)
      : w_(w), batch_(batch), channels_(channels), has_bias_(has_bias) {}
  Status run(const Frame& frame) const override {
    const auto* x = reinterpret_cast<const float*>(frame.inputs[0]);
    const auto* w = reinterpret_cast<const float*>(frame.inputs[1]);
    const auto* b = has_bias_ ? reinterpret_cast<const float*>(frame.inputs[2]) : nullptr;
    auto* y = reinterpret_cast<float*>(frame.outputs[0]);
    const std::int64_t xs = w_[0].x * w_[1].x * w_[2].x, ys = w_[0].y * w_[1].y * w_[2].y,
                       taps = w_[0].kernel * w_[1].kernel * w_[2].kernel;
    frame.pool.parallel_for(0, batch_ * channels_,
                            std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, ys * taps)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t p = begin; p < end; ++p) {
                                const std::int64_t c = p % channels_;
                                plane(x + p * xs, w + c * taps, b ? b[c] : 0.0f, y + p * ys);
                              }
                            });
    return {};
  }

 private:
  bool is_nine() const {
    return w_[0].kernel == 1 && w_[0].y == 1 && w_[1].kernel == 3 && w_[2].kernel == 3 &&
           w_[2].stride == 1 && w_[1].dilation == 1 && w_[2].dilation == 1 && w_[2].y > 2;
  }
  // One row of a 3 x 3 filter whose three input rows are all inside; the borders of the row tap by
  // tap.
  void nine(const float* x, const float* w, float bias, float* y) const {
    const std::int64_t low = std::max<std::int64_t>(w_[2].first(0), 0),
                       high = std::max(low, std::min(w_[2].last(2), w_[2].y)), xs = w_[2].x;
    const float* at = x + w_[2].at(low, 0);
    filter_nine(y + low, at, at + xs, at + 2 * xs, w, bias, high - low);
    const auto border = [&](std::int64_t o) {
      float sum = bias;
      for (std::int64_t k1 = 0; k1 < 3; ++k1)
        for (std::int64_t k2 = 0; k2 < 3; ++k2)
          if (const std::int64_t p = w_[2].at(o, k2); p >= 0 && p < xs)
            sum += w[k1 * 3 + k2] * x[k1 * xs + p];
      y[o] = sum;
    };
    for (std::int64_t o = 0; o < low; ++o) border(o);
    for (std::int64_t o = high; o < w_[2].y; ++o) border(o);
  }
  void plane(const float* x, const float* w, float bias, float* y) const {
    const bool nines = is_nine();
    for (std::int64_t a = 0; a < w_[0].y; ++a)
      for (std::int64_t b = 0; b < w_[1].y; ++b, y += w_[2].y) {
        if (const std::int64_t p1 = w_[1].at(b, 0); nines && p1 >= 0 && p1 + 2 < w_[1].x) {
          nine(x + p1 * w_[2].x, w, bias, y);
          continue;
        }
        std::fill_n(y, w_[2].y, bias);
        for (std::int64_t k0 = 0; k0 < w_[0].kernel; ++k0) {
          const std::int64_t p0 = w_[0].at(a, k0);
          if (p0 < 0 || p0 >= w_[0].x) continue;
          for (std::int64_t k1 = 0; k1 < w_[1].kernel; ++k1) {
            const std::int64_t p1 = w_[1].at(b, k1);
            if (p1 >= 0 && p1 < w_[1].x)
              row(x + (p0 * w_[1].x + p1) * w_[2].x, w + (k0 * w_[1].kernel + k1) * w_[2].kernel,
                  y);
          }
        }
      }
  }
  // One row of taps: the middle, where three neighbouring taps all lie inside, in one pass; edges
  // tap by tap.
  void row(const float* x, const float* w, float* y) const {
    const ops::WindowAxis& v = w_[2];
    std::int64_t k = 0;
    for (; k + 3 <= v.kernel; k += 3) {
      const std::int64_t low = std::max(v.first(k), std::max(v.first(k + 1), v.first(k + 2))),
                         high = std::min(v.last(k), std::min(v.last(k + 1), v.last(k + 2)));
      if (high <= low) {
        for (std::int64_t t = k; t < k + 3; ++t) tap(x, w, y, t, v.first(t), v.last(t));
        continue;
      }
      add_three(y + low, x + v.at(low, k), w + k, high - low, v.stride, v.dilation);
      for (std::int64_t t = k; t < k + 3; ++t) {
        tap(x, w, y, t, v.first(t), std::min(low, v.last(t)));
        tap(x, w, y, t, std::max(high, v.first(t)), v.last(t));
      }
    }
    for (; k < v.kernel; ++k) tap(x, w, y, k, v.first(k), v.last(k));
  }
  void tap(const float* x, const float* w, float* y, std::int64_t k, std::int64_t first,
           std::int64_t last) const {
    if (last > first)
      add_scaled(y + first, x + w_[2].at(first, k), w[k], last - first, w_[2].stride);
  }

  ops::Window w_;
  std::int64_t batch_, channels_;
  bool has_bias_;
};

using dnnl::memory;

// y[rows, columns] = w[rows, in] x[in, columns] (+ y, which holds the bias); rows of y lie y_stride
// apart
class Product {
 public:
  Product(std::int64_t rows, std::int64_t in, std::int64_t columns, std::int64_t y_stride,
          bool adds)
      : w_({rows, in}, memory::data_type::f32, memory::dims{in, 1}),
        x_({in, columns}, memory::data_type::f32, memory::dims{columns, 1}),
        y_({rows, columns}, memory::data_type::f32, memory::dims{y_stride, 1}) {
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
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, memory_at(w_, w)},
         {DNNL_ARG_WEIGHTS, memory_at(x_, x)},
         {DNNL_ARG_DST, memory_at(y_, y)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  memory::desc w_, x_, y_, scratch_;
  dnnl::matmul primitive_;
};

class PointwiseLaunch : public Launch {
 public:
  PointwiseLaunch(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t plane,
                  bool has_bias)
      : batch_(batch), in_(in), out_(out), plane_(plane), has_bias_(has_bias) {
    product(out_);
  }
  Status run(const Frame& frame) const override {
    constexpr std::int64_t kRows =
        8;  // output channels that a part has at least, and a multiple of
    const std::int64_t blocks = (out_ + kRows - 1) / kRows, work = 2 * kRows * in_ * plane_;
    frame.pool.parallel_for(
        0, blocks, std::max<std::int64_t>(1, 400000 / std::max<std::int64_t>(1, work)),
        [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t first = begin * kRows, rows = std::min(out_, end * kRows) - first;
          const auto p = product(rows);
          for (std::int64_t n = 0; n < batch_; ++n) {
            std::byte* y = frame.outputs[0] + (n * out_ + first) * plane_ * 4;
            if (has_bias_)
              fill_bias(reinterpret_cast<float*>(y),
                        reinterpret_cast<const float*>(frame.inputs[2]) + first, rows);
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
    if (!p) p = std::make_shared<Product>(rows, in_, plane_, plane_, has_bias_);
    return p;
  }
  std::int64_t batch_, in_, out_, plane_;
  bool has_bias_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Product>> products_;  // by rows
};

// Few input channels: the taps of some output rows side by side, then one matrix product for all
// output channels. Tiles stay in the cache.
class PatchLaunch : public Launch {
 public:
  PatchLaunch(const ops::Window& w, std::int64_t batch, std::int64_t in, std::int64_t out,
              bool has_bias)
      : w_(w), batch_(batch), in_(in), out_(out), has_bias_(has_bias) {
    rows_ = w_[0].y * w_[1].y;
    tile_ = std::max<std::int64_t>(1, std::min(rows_, 1024 / std::max<std::int64_t>(1, w_[2].y)));
    product(tile_);
    if (rows_ % tile_) product(rows_ % tile_);
  }
  Status run(const Frame& frame) const override {
    const auto* x = reinterpret_cast<const float*>(frame.inputs[0]);
    auto* y = reinterpret_cast<float*>(frame.outputs[0]);
    const std::int64_t tiles = (rows_ + tile_ - 1) / tile_, xs = w_[0].x * w_[1].x * w_[2].x,
                       ys = rows_ * w_[2].y;
    frame.pool.parallel_for(0, batch_ * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t n = t / tiles, first = t % tiles * tile_,
                           rows = std::min(tile_, rows_ - first);
        float* to = y + n * out_ * ys + first * w_[2].y;
        if (has_bias_)
          fill_bias(to, reinterpret_cast<const float*>(frame.inputs[2]), rows * w_[2].y, ys);
        const std::byte* patches = gather(x + n * in_ * xs, first, rows);
        product(rows)->run(frame.inputs[1], patches, reinterpret_cast<std::byte*>(to));
      }
    });
    return {};
  }

 private:
  std::int64_t taps() const { return w_[0].kernel * w_[1].kernel * w_[2].kernel; }
  void fill_bias(float* y, const float* bias, std::int64_t columns, std::int64_t stride) const {
    for (std::int64_t m = 0; m < out_; ++m) std::fill_n(y + m * stride, columns, bias[m]);
  }
  // patches[c * taps + k][row, o]: what tap k of channel c reads for output o of each row
  const std::byte* gather(const float* x, std::int64_t first, std::int64_t rows) const {
    thread_local std::vector<float> patches;
    patches.resize(static_cast<std::size_t>(in_ * taps() * tile_ * w_[2].y));
    float* to = patches.data();
    for (std::int64_t c = 0; c < in_; ++c, x += w_[0].x * w_[1].x * w_[2].x)
      for (std::int64_t k = 0; k < taps(); ++k)
        for (std::int64_t r = first; r < first + rows; ++r, to += w_[2].y) line(x, to, r, k);
    return reinterpret_cast<const std::byte*>(patches.data());
  }
  void line(const float* x, float* to, std::int64_t r, std::int64_t k) const {
    const std::int64_t k2 = k % w_[2].kernel, k1 = k / w_[2].kernel % w_[1].kernel,
                       k0 = k / w_[2].kernel / w_[1].kernel;
    const std::int64_t p0 = w_[0].at(r / w_[1].y, k0), p1 = w_[1].at(r % w_[1].y, k1);
    std::fill_n(to, w_[2].y, 0.0f);
    if (p0 < 0 || p0 >= w_[0].x || p1 < 0 || p1 >= w_[1].x) return;
    const std::int64_t low = w_[2].first(k2), high = w_[2].last(k2), stride = w_[2].stride;
    const float* from = x + (p0 * w_[1].x + p1) * w_[2].x + w_[2].at(low, k2);
    for (std::int64_t o = low; o < high; ++o) to[o] = from[(o - low) * stride];
  }
  std::shared_ptr<const Product> product(std::int64_t rows) const {
    const std::lock_guard lock(mutex_);
    auto& p = products_[rows];
    if (!p)
      p = std::make_shared<Product>(out_, in_ * taps(), rows * w_[2].y, rows_ * w_[2].y, has_bias_);
    return p;
  }
  ops::Window w_;
  std::int64_t batch_, in_, out_, rows_ = 0, tile_ = 1;
  bool has_bias_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Product>> products_;  // by rows of a tile
};

}  // namespace

Result<std::unique_ptr<Launch>> patch_launch(const ops::Window& window, std::int64_t batch,
                                             std::int64_t in, std::int64_t out, bool has_bias) {
  return guarded([&] {
    return std::unique_ptr<Launch>(std::make_unique<PatchLaunch>(window, batch, in, out, has_bias));
  });
}

std::unique_ptr<Launch> depthwise_launch(const ops::Window& window, std::int64_t batch,
                                         std::int64_t channels, bool has_bias) {
  return std::make_unique<DepthwiseLaunch>(window, batch, channels, has_bias);
}

Result<std::unique_ptr<Launch>> pointwise_launch(std::int64_t batch, std::int64_t in,
                                                 std::int64_t out, std::int64_t plane,
                                                 bool has_bias) {
  return guarded([&] {
    return std::unique_ptr<Launch>(
        std::make_unique<PointwiseLaunch>(batch, in, out, plane, has_bias));
  });
}

}  // namespace tenon::backends::cpu
