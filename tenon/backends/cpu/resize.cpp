// Resize axis by axis: every output row is a weighted sum of a few input rows. And shape, whose
// result is known when sizes are.
#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/ops/resampling.h"
#include "tenon/runtime/interpreted_launch.h"

namespace tenon::backends::cpu {
namespace {

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))

TENON_EVERY_ISA void add_row(float* y, const float* x, float w, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += w * x[i];
}

// One axis of the resize, with sizes of what lies outside and inside of it.
struct Pass {
  ops::AxisTaps taps;
  std::int64_t outer = 1, inner = 1;

  std::size_t bytes() const {
    return static_cast<std::size_t>(outer * taps.out * inner) * sizeof(float);
  }
  void run(const float* x, float* y, ThreadPool& pool) const {
    const std::int64_t rows = outer * taps.out, work = std::max<std::int64_t>(1, inner * taps.taps);
    pool.parallel_for(0, rows, std::max<std::int64_t>(1, 32768 / work),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t r = begin; r < end; ++r)
                          row(x, y + r * inner, r / taps.out, r % taps.out);
                      });
  }

 private:
  void row(const float* x, float* y, std::int64_t a, std::int64_t o) const {
    if (inner == 1) {  // the last axis: one number from a few
      double sum = 0;
      for (int k = 0; k < taps.taps; ++k)
        sum += taps.weight[index(o, k)] * x[a * taps.in + taps.index[index(o, k)]];
      *y = static_cast<float>(sum);
      return;
    }
    std::fill_n(y, inner, 0.0f);
    for (int k = 0; k < taps.taps; ++k)
      if (const double w = taps.weight[index(o, k)]; w != 0)
        add_row(y, x + (a * taps.in + taps.index[index(o, k)]) * inner, static_cast<float>(w),
                inner);
  }
  std::size_t index(std::int64_t o, int k) const {
    return static_cast<std::size_t>(o * taps.taps + k);
  }
};

class ResizeLaunch : public Launch {
 public:
  ResizeLaunch(std::vector<Pass> passes, std::size_t bytes)
      : passes_(std::move(passes)), bytes_(bytes) {
    for (std::size_t i = 0; i + 1 < passes_.size(); ++i)
      largest_ = std::max(largest_, (passes_[i].bytes() + 63) / 64 * 64);
  }
  std::size_t workspace_bytes() const override { return 2 * largest_; }
  Status run(const Frame& frame) const override {
    if (passes_.empty()) {
      if (bytes_) std::memcpy(frame.outputs[0], frame.inputs[0], bytes_);
      return {};
    }
    const auto* from = reinterpret_cast<const float*>(frame.inputs[0]);
    for (std::size_t i = 0; i < passes_.size(); ++i) {  // two buffers in turn, the result last
      std::byte* to =
          i + 1 == passes_.size() ? frame.outputs[0] : frame.workspace + (i % 2) * largest_;
      passes_[i].run(from, reinterpret_cast<float*>(to), frame.pool);
      from = reinterpret_cast<const float*>(to);
    }
    return {};
  }

 private:
  std::vector<Pass> passes_;
  std::size_t bytes_, largest_ = 0;
};

class ResizeKernel : public Kernel {
 public:
  explicit ResizeKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    if (out[0].count() == 0 || in[0].count() == 0)
      return unsupported("empty results are interpreted");
    Datums known = {Datum(borrowed_tensor(in[0], nullptr))};  // its sizes count, nobody reads it
    for (std::size_t i = 1; i < in.size(); ++i)
      known.push_back(in[i].present() ? Datum(in[i].value) : Datum());
    ops::Resampling r = TENON_TRY(ops::resampling_of(Call(node_, known), 1, in[0].dims));
    std::vector<Pass> passes;
    Dims dims = in[0].dims;
    for (ops::AxisTaps& t : r.axes) {
      Pass p;
      const auto axis = static_cast<std::size_t>(t.axis);
      for (std::size_t a = 0; a < dims.size(); ++a)
        (a < axis ? p.outer : p.inner) *= a == axis ? 1 : dims[a];
      dims[axis] = t.out;
      p.taps = std::move(t);
      passes.push_back(std::move(p));
    }
    return std::unique_ptr<Launch>(
        std::make_unique<ResizeLaunch>(std::move(passes), out[0].bytes()));
  }
  bool wants_value(int input) const override { return input > 0; }
  std::string describe() const override { return "resize by axes"; }

 private:
  const Node& node_;
};

class ShapeKernel : public Kernel {
 public:
  explicit ShapeKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    const Call call(node_);
    const std::int64_t start = call.integer("start"),
                       ndim = static_cast<std::int64_t>(in[0].dims.size());
    const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + ndim : start, 0, ndim);
    return std::unique_ptr<Launch>(std::make_unique<SizesLaunch>(
        Dims(in[0].dims.begin() + first, in[0].dims.begin() + first + out[0].count())));
  }
  std::string describe() const override { return "known sizes"; }

 private:
  class SizesLaunch : public Launch {
   public:
    explicit SizesLaunch(Dims sizes) : sizes_(std::move(sizes)) {}
    Status run(const Frame& frame) const override {
      std::copy(sizes_.begin(), sizes_.end(), reinterpret_cast<std::int64_t*>(frame.outputs[0]));
      return {};
    }

   private:
    Dims sizes_;
  };
  const Node& node_;
};

}  // namespace

Verdict takes_resize(const Node& node) {
  if (node.op().name == "shape")
    return is_number(node.input(0))
               ? Verdict{}
               : Verdict::no("text and complex tensors are asked by the interpreter");
  if (node.op().name != "resize") return Verdict::no("");
  if (node.input(0)->type().dtype() != DType::f32 || !is_number(node.input(0)))
    return Verdict::no("only f32 is resized natively");
  if (Call(node).text("coordinate_transformation_mode") == "tf_crop_and_resize")
    return Verdict::no("crops are resized by the interpreter");
  return {};
}

Result<KernelPtr> make_resize(const Node& node) {
  if (node.op().name == "shape") return KernelPtr(std::make_unique<ShapeKernel>(node));
  return KernelPtr(std::make_unique<ResizeKernel>(node));
}

}  // namespace tenon::backends::cpu
