// Pooling over [n, spatial..., c]: a window is a few rows of channels folded into one.
#include <algorithm>
#include <cstring>
#include <limits>

#include "tenon/backends/cpu/anchored_group_internal.h"
#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/ops/pooling.h"

namespace tenon::backends::cpu {
namespace {

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))

TENON_EVERY_ISA void fold_max(float* y, const float* x, std::int64_t n) {
  // A NaN wins: the comparison is false for it either way, so it is asked for.
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] > y[i] || x[i] != x[i]) ? x[i] : y[i];
}
TENON_EVERY_ISA void fold_sum(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}
TENON_EVERY_ISA void scale(float* y, float by, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] /= by;
}

struct PoolShape {
  ops::Window window;
  std::int64_t batch, channels;
  bool is_max, counts_pads;
  std::int64_t divisor;  // 0: the number of elements
};

class ChannelsLastPool : public Launch {
 public:
  explicit ChannelsLastPool(PoolShape s) : s_(std::move(s)) {}
  Status run(const Frame& frame) const override {
    const auto* x = reinterpret_cast<const float*>(frame.inputs[0]);
    auto* y = reinterpret_cast<float*>(frame.outputs[0]);
    const ops::Window& w = s_.window;
    const std::int64_t rows = w[0].y * w[1].y, c = s_.channels,
                       image = w[0].x * w[1].x * w[2].x * c;
    const std::int64_t work =
        std::max<std::int64_t>(1, w[2].y * c * w[0].kernel * w[1].kernel * w[2].kernel);
    frame.pool.parallel_for(0, s_.batch * rows, std::max<std::int64_t>(1, 65536 / work),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t r = begin; r < end; ++r)
                                row(x + r / rows * image, y + r * w[2].y * c, r % rows / w[1].y,
                                    r % rows % w[1].y);
                            });
    return {};
  }

 private:
  void row(const float* x, float* y, std::int64_t a, std::int64_t b) const {
    for (std::int64_t o = 0; o < s_.window[2].y; ++o, y += s_.channels) pixel(x, y, a, b, o);
  }
  void pixel(const float* x, float* y, std::int64_t a, std::int64_t b, std::int64_t o) const {
    const ops::Window& w = s_.window;
    const std::int64_t c = s_.channels;
    std::int64_t found = 0, padded = 0;
    for (std::int64_t k0 = 0; k0 < w[0].kernel; ++k0)
      for (std::int64_t k1 = 0; k1 < w[1].kernel; ++k1)
        for (std::int64_t k2 = 0; k2 < w[2].kernel; ++k2) {
          const std::int64_t p0 = w[0].at(a, k0), p1 = w[1].at(b, k1), p2 = w[2].at(o, k2);
          padded += within_pads(w[0], p0) && within_pads(w[1], p1) && within_pads(w[2], p2);
          if (!inside(w[0], p0) || !inside(w[1], p1) || !inside(w[2], p2)) continue;
          const float* from = x + ((p0 * w[1].x + p1) * w[2].x + p2) * c;
          if (found++ == 0)
            std::memcpy(y, from, static_cast<std::size_t>(c) * sizeof(float));
          else
            (s_.is_max ? fold_max : fold_sum)(y, from, c);
        }
    if (found == 0) std::fill_n(y, c, s_.is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
    if (s_.is_max) return;
    const std::int64_t n = s_.divisor ? s_.divisor : s_.counts_pads ? padded : found;
    scale(y, static_cast<float>(n), c);
  }
  static bool inside(const ops::WindowAxis& w, std::int64_t p) { return p >= 0 && p < w.x; }
  static bool within_pads(const ops::WindowAxis& w, std::int64_t p) {
    return p >= -w.begin && p < w.x + w.end;
  }
  PoolShape s_;
};

bool is_pool(const Node& node) {
  return node.op().name == "max_pool" || node.op().name == "average_pool";
}

class ChannelsLastPoolKernel : public Kernel {
 public:
  explicit ChannelsLastPoolKernel(AnchoredGroup group) : group_(std::move(group)) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    if (out[0].count() == 0) return unsupported("empty results are interpreted");
    const Call call(*group_.anchor);
    const Dims x = anchor_inputs(group_, in)[0].dims;
    const bool is_max = group_.anchor->op().name == "max_pool";
    PoolShape s{TENON_TRY(ops::pool_window(call, Dims(x.begin() + 2, x.end()))),
                x[0],
                x[1],
                is_max,
                !is_max && call.flag("count_include_pad"),
                is_max ? 0 : call.integer("divisor")};
    return std::unique_ptr<Launch>(std::make_unique<ChannelsLastPool>(std::move(s)));
  }
  std::string describe() const override { return "pooling, channels last"; }

 private:
  AnchoredGroup group_;
};

}  // namespace

Verdict takes_channels_last_pooling(const Node& node) {
  if (node.op().name != "fused") return Verdict::no("");
  const auto group = anchored_group(node, is_pool);
  if (!group || !group->channels_last || !group->epilogue.empty()) return Verdict::no("");
  return takes_pooling(*group->anchor);
}

Result<KernelPtr> make_channels_last_pooling(const Node& node) {
  return KernelPtr(std::make_unique<ChannelsLastPoolKernel>(*anchored_group(node, is_pool)));
}

}  // namespace tenon::backends::cpu
