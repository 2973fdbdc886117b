// One filter for each channel over [n, spatial..., c]: a tile of pixels times a block of channels
// stays in registers while the taps pass by.
#include <algorithm>
#include <limits>

#include "tenon/backends/cpu/channels_last_convolution_internal.h"
#include "tenon/ops/convolutions.h"

namespace tenon::backends::cpu {
namespace {

// Compiled for each instruction set and chosen when the program starts; the two levels have fused
// multiply-add.
#define TENON_EVERY_ISA \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define TENON_INLINE __attribute__((always_inline)) inline

constexpr std::int64_t kBlock = 16;  // channels in registers: one vector of AVX-512, two of AVX2
constexpr int kTile = 6;             // pixels: 6 x 2 accumulators leave AVX2 room for taps

// What is done to an accumulator before it is stored.
enum class Finish : std::uint8_t { none, clip, hard_swish };

struct Row {       // one row of output pixels
  const float* w;  // [taps, c]
  const float* const*
      lines;  // for each row of taps: where tap 0 of pixel 0 reads; nullptr: outside
  std::int64_t num_lines, kernel;
  std::int64_t channels, step, dilation;  // floats between pixels that neighbours read, and taps
  Finish finish;
  float low, high;
};

// A block of channels; the compiler splits it where registers are narrower.
using Block = float __attribute__((vector_size(kBlock * sizeof(float))));

TENON_INLINE void finish(Block& v, const Row& r) {
  if (r.finish == Finish::clip) {
    v = v < r.low ? Block{} + r.low : v;
    v = v > r.high ? Block{} + r.high : v;
  } else if (r.finish == Finish::hard_swish) {
    Block g = v * (1.0f / 6) + 0.5f;
    g = g < 0.0f ? Block{} : g;
    v = v * (g > 1.0f ? Block{} + 1.0f : g);
  }
}

// Rows begin anywhere, so a block is copied, not read as one.
TENON_INLINE void load(Block& v, const float* p) { __builtin_memcpy(&v, p, sizeof(v)); }

// Pixels [first, first + n), taps [k_first, k_last) of every line.
template <int n>
TENON_INLINE void tile(const Row& r, const float* bias, float* y, std::int64_t first,
                       std::int64_t c, std::int64_t k_first, std::int64_t k_last) {
#pragma clang fp contract(fast)
  Block acc[n];
#pragma clang loop unroll(full)
  for (int p = 0; p < n; ++p) {
    acc[p] = Block{};
    if (bias) load(acc[p], bias + c);
  }
  for (std::int64_t line = 0; line < r.num_lines; ++line) {
    if (!r.lines[line]) continue;
    for (std::int64_t k = k_first; k < k_last; ++k) {
      Block w, v;
      load(w, r.w + (line * r.kernel + k) * r.channels + c);
      const float* x = r.lines[line] + first * r.step + k * r.dilation + c;
#pragma clang loop unroll(full)
      for (int p = 0; p < n; ++p) {
        load(v, x + p * r.step);
        acc[p] += w * v;
      }
    }
  }
#pragma clang loop unroll(full)
  for (int p = 0; p < n; ++p) {
    finish(acc[p], r);
    __builtin_memcpy(y + (first + p) * r.channels + c, &acc[p], sizeof(Block));
  }
}

// Pixels whose taps are all inside, six at a time.
TENON_EVERY_ISA void inner_pixels(const Row& r, const float* bias, float* y, std::int64_t first,
                                  std::int64_t last, std::int64_t c) {
  std::int64_t p = first;
  for (; p + kTile <= last; p += kTile) tile<kTile>(r, bias, y, p, c, 0, r.kernel);
  for (; p + 2 <= last; p += 2) tile<2>(r, bias, y, p, c, 0, r.kernel);
  for (; p < last; ++p) tile<1>(r, bias, y, p, c, 0, r.kernel);
}
TENON_EVERY_ISA void edge_pixel(const Row& r, const float* bias, float* y, std::int64_t p,
                                std::int64_t c, std::int64_t k_first, std::int64_t k_last) {
  tile<1>(r, bias, y, p, c, k_first, k_last);
}

struct Activation {
  Finish finish = Finish::none;
  float low = 0, high = 0;
};

// The first step of the group, when it is one of those above.
std::optional<Activation> activation_of(const AnchoredGroup& g) {
  if (g.epilogue.empty()) return std::nullopt;
  const Node& n = *g.epilogue[0];
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (n.op().name == "relu") return Activation{Finish::clip, 0, kInfinity};
  if (n.op().name == "hard_swish") return Activation{Finish::hard_swish};
  if (n.op().name != "clip") return std::nullopt;
  const auto low = AnchoredGroup::number(n.input(1)), high = AnchoredGroup::number(n.input(2));
  if ((n.input(1) && !low) || (n.input(2) && !high)) return std::nullopt;
  return Activation{Finish::clip, low ? static_cast<float>(*low) : -kInfinity,
                    high ? static_cast<float>(*high) : kInfinity};
}

class DepthwiseLaunch : public Launch {
 public:
  DepthwiseLaunch(const ChannelsLastCall& call, const ops::Window& window)
      : w_(window),
        batch_(call.geometry.batch),
        channels_(call.geometry.groups),
        arguments_(call.group.arguments) {
    const std::int64_t taps = w_[0].kernel * w_[1].kernel * w_[2].kernel;
    using dnnl::memory;
    const memory::dims dims = {channels_, taps};
    weights_ = packed_once(*call.weights, {dims, memory::data_type::f32, memory::dims{taps, 1}},
                           {dims, memory::data_type::f32, memory::dims{1, channels_}});
    if (const auto a = activation_of(call.group)) activation_ = *a, taken_ = 1;
  }
  Status complete(const ChannelsLastCall& call) {
    rest_ = TENON_TRY(RestLoop::make(call.group, call.inputs, call.output, taken_));
    rest_.split_over(batch_ * w_[0].y * w_[1].y);
    return {};
  }
  Status run(const Frame& frame) const override {
    const std::int64_t rows = w_[0].y * w_[1].y,
                       work = w_[2].y * channels_ * w_[0].kernel * w_[1].kernel * w_[2].kernel;
    frame.pool.parallel_for(0, batch_ * rows,
                            std::max<std::int64_t>(1, 200000 / std::max<std::int64_t>(1, work)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t r = begin; r < end; ++r) {
                                row(frame, r / rows, r % rows);
                                rest_.run_part(frame, r);
                              }
                            });
    if (!rest_.is_split()) rest_.run(frame);
    return {};
  }

 private:
  const float* input(const Frame& frame, std::size_t i) const {
    if (i >= arguments_.size() || arguments_[i] < 0) return nullptr;
    return reinterpret_cast<const float*>(frame.inputs[static_cast<std::size_t>(arguments_[i])]);
  }
  void row(const Frame& frame, std::int64_t image, std::int64_t at) const {
    const std::int64_t c = channels_, line = w_[2].x * c;
    const float* x = input(frame, 0) + image * w_[0].x * w_[1].x * line;
    float* y =
        reinterpret_cast<float*>(frame.outputs[0]) + (image * w_[0].y * w_[1].y + at) * w_[2].y * c;
    thread_local std::vector<const float*> lines;
    lines.clear();
    for (std::int64_t k0 = 0; k0 < w_[0].kernel; ++k0)
      for (std::int64_t k1 = 0; k1 < w_[1].kernel; ++k1) {
        const std::int64_t p0 = w_[0].at(at / w_[1].y, k0), p1 = w_[1].at(at % w_[1].y, k1);
        const bool inside = p0 >= 0 && p0 < w_[0].x && p1 >= 0 && p1 < w_[1].x;
        lines.push_back(inside ? x + (p0 * w_[1].x + p1) * line - w_[2].begin * c : nullptr);
      }
    const Row r{reinterpret_cast<const float*>(weights_.get()),
                lines.data(),
                static_cast<std::int64_t>(lines.size()),
                w_[2].kernel,
                c,
                w_[2].stride * c,
                w_[2].dilation * c,
                activation_.finish,
                activation_.low,
                activation_.high};
    const float* bias = input(frame, 2);
    // The last block overlaps the one before it where channels are no multiple of a block.
    for (std::int64_t block = 0; block < c; block += kBlock)
      columns(r, bias, y, std::min(block, c - kBlock));
  }
  void columns(const Row& r, const float* bias, float* y, std::int64_t c) const {
    const ops::WindowAxis& v = w_[2];
    const std::int64_t low = std::min(v.first(0), v.y),
                       high = std::max(low, std::min(v.last(v.kernel - 1), v.y));
    for (std::int64_t p = 0; p < low; ++p) edge(r, bias, y, p, c);
    inner_pixels(r, bias, y, low, high, c);
    for (std::int64_t p = high; p < v.y; ++p) edge(r, bias, y, p, c);
  }
  void edge(const Row& r, const float* bias, float* y, std::int64_t p, std::int64_t c) const {
    std::int64_t first = 0, last = w_[2].kernel;
    while (first < last && w_[2].at(p, first) < 0) ++first;
    while (last > first && w_[2].at(p, last - 1) >= w_[2].x) --last;
    edge_pixel(r, bias, y, p, c, first, last);
  }

  ops::Window w_;
  std::int64_t batch_, channels_;
  std::vector<int> arguments_;
  std::shared_ptr<const std::byte> weights_;
  Activation activation_;
  std::size_t taken_ = 0;
  RestLoop rest_;
};

}  // namespace

Result<std::unique_ptr<Launch>> channels_last_depthwise(const ChannelsLastCall& call) {
  const ConvolutionGeometry& g = call.geometry;
  if (g.groups < kBlock || g.in != 1 || g.out != 1 || !call.weights)
    return std::unique_ptr<Launch>();
  const Dims x(g.x.begin(), g.x.end()), kernel(g.kernel.begin(), g.kernel.end());
  const ops::Window window = TENON_TRY(ops::window_of(Call(*call.group.anchor), x, kernel));
  auto launch = TENON_TRY(guarded([&] { return std::make_unique<DepthwiseLaunch>(call, window); }));
  TENON_TRY(launch->complete(call));
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace tenon::backends::cpu
