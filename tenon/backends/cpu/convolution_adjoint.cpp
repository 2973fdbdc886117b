// The adjoint of convolution by its weights, through oneDNN: the batch is split over the pool, each
// part sums into weights of its own, and the parts are added in order.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/onednn_internal.h"
#include "tenon/ops/convolutions.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

memory::desc plain(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}
memory::desc any(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}
std::size_t floats(const memory::dims& dims) {
  std::int64_t n = 1;
  for (auto d : dims) n *= d;
  return static_cast<std::size_t>(n);
}

// Tensors of one convolution, and its window in oneDNN's terms.
struct Geometry {
  memory::dims x, w, y;  // w has its groups in front when there are several
  memory::dims strides, dilations, begin, end;
};

Result<Geometry> geometry_of(const Node& node, std::span<const Extent> in,
                             std::span<const Extent> out) {
  const Dims &x = in[0].dims, &y = in[1].dims, &w = out[0].dims;
  const Call call(node);
  const ops::Window window =
      TENON_TRY(ops::window_of(call, Dims(x.begin() + 2, x.end()), Dims(w.begin() + 2, w.end())));
  const std::int64_t groups = call.integer("group");
  Geometry g{
      memory::dims(x.begin(), x.end()), {}, memory::dims(y.begin(), y.end()), {}, {}, {}, {}};
  g.w = groups > 1 ? memory::dims{groups, w[0] / groups, w[1]} : memory::dims{w[0], w[1]};
  g.w.insert(g.w.end(), w.begin() + 2, w.end());
  for (std::size_t i = ops::kMaxSpatial - (x.size() - 2); i < ops::kMaxSpatial; ++i) {
    const ops::WindowAxis& a = window[i];
    g.strides.push_back(a.stride);
    g.dilations.push_back(a.dilation - 1);
    g.begin.push_back(a.begin);
    // What oneDNN's size formula needs: stride * (y - 1) + extent = x + begin + end.
    g.end.push_back(a.stride * (a.y - 1) + a.extent() - a.x - a.begin);
    if (a.begin < 0 || g.end.back() < -a.x)
      return unsupported("convolutions that crop their input are interpreted");
  }
  return g;
}

// The primitive for one part of the batch.
class WeightAdjoint {
 public:
  explicit WeightAdjoint(const Geometry& g) : g_(g) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        onednn_engine(), dnnl::prop_kind::forward_training, algorithm, any(g.x), any(g.w), any(g.y),
        g.strides, g.dilations, g.begin, g.end, attr);
    const dnnl::convolution_backward_weights::primitive_desc backward(
        onednn_engine(), algorithm, any(g.x), any(g.w), any(g.y), g.strides, g.dilations, g.begin,
        g.end, forward, attr);
    x_ = backward.src_desc(), w_ = backward.diff_weights_desc(), y_ = backward.diff_dst_desc();
    scratch_ = backward.scratchpad_desc();
    primitive_ = dnnl::convolution_backward_weights(backward);
  }
  const Geometry& geometry() const { return g_; }
  // x, dy and dw in plain layouts; `buffers` holds buffer_bytes().
  void run(const std::byte* x, const std::byte* dy, std::byte* dw, std::byte* buffers) const {
    std::byte* next = buffers;
    const auto take = [&](const memory::desc& d) {
      std::byte* at = next;
      next += aligned(d.get_size());
      return at;
    };
    const auto arranged = [&](const memory::desc& from, const std::byte* data,
                              const memory::desc& to) {
      if (from == to) return data;
      std::byte* at = take(to);
      reorder(from, data, to, at);
      return const_cast<const std::byte*>(at);
    };
    const std::byte *source = arranged(plain(g_.x), x, x_),
                    *upstream = arranged(plain(g_.y), dy, y_);
    const bool moves = !(w_ == plain(g_.w));
    std::byte* result = moves ? take(w_) : dw;
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, memory_at(x_, source)},
         {DNNL_ARG_DIFF_DST, memory_at(y_, upstream)},
         {DNNL_ARG_DIFF_WEIGHTS, memory_at(w_, result)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
    if (moves) reorder(w_, result, plain(g_.w), dw);
  }
  std::size_t buffer_bytes() const {
    return aligned(x_.get_size()) + aligned(y_.get_size()) + aligned(w_.get_size());
  }

 private:
  Geometry g_;
  memory::desc x_, w_, y_, scratch_;
  dnnl::primitive primitive_;
};

// Memory of this thread that grows and stays, apart from the scratch of primitives.
std::byte* layout_buffer(std::size_t bytes) {
  thread_local std::shared_ptr<Buffer> buffer;
  if (!buffer || buffer->bytes() < bytes) buffer = Buffer::allocate(bytes);
  return buffer->data();
}

class WeightAdjointLaunch : public Launch {
 public:
  explicit WeightAdjointLaunch(Geometry g) : g_(std::move(g)) { part(g_.x[0]); }

  Status run(const Frame& frame) const override {
    const std::int64_t batch = g_.x[0], parts = std::min<std::int64_t>(batch, frame.pool.threads()),
                       each = (batch + parts - 1) / parts;
    const std::size_t size = floats(g_.w);
    thread_local std::shared_ptr<Buffer> sums;  // of the parts after the first
    const std::size_t bytes = static_cast<std::size_t>(parts - 1) * size * sizeof(float);
    if (!sums || sums->bytes() < bytes) sums = Buffer::allocate(bytes);
    auto* total = reinterpret_cast<float*>(frame.outputs[0]);
    auto* rest = reinterpret_cast<float*>(sums->data());
    frame.pool.parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        float* to = p == 0 ? total : rest + static_cast<std::size_t>(p - 1) * size;
        run_part(frame, p * each, std::min(batch, (p + 1) * each), to, size);
      }
    });
    const auto n = static_cast<std::int64_t>(size);
    if (parts > 1)
      frame.pool.parallel_for(0, n, 16384, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = 1; p < parts; ++p)
          for (std::int64_t i = begin; i < end; ++i) total[i] += rest[(p - 1) * n + i];
      });
    return {};
  }

 private:
  void run_part(const Frame& frame, std::int64_t first, std::int64_t last, float* to,
                std::size_t size) const {
    if (first >= last) {
      std::fill_n(to, size, 0.0f);
      return;
    }
    const auto& a = part(last - first);
    const auto image = [&](const memory::dims& d) {
      return floats(d) / static_cast<std::size_t>(d[0]) * sizeof(float);
    };
    a.run(frame.inputs[0] + static_cast<std::size_t>(first) * image(g_.x),
          frame.inputs[1] + static_cast<std::size_t>(first) * image(g_.y),
          reinterpret_cast<std::byte*>(to), layout_buffer(a.buffer_bytes()));
  }
  const WeightAdjoint& part(std::int64_t batch) const {
    const std::lock_guard lock(mutex_);
    auto& a = by_batch_[batch];
    if (!a) {
      Geometry g = g_;
      g.x[0] = g.y[0] = batch;
      a = std::make_unique<WeightAdjoint>(g);
    }
    return *a;
  }
  Geometry g_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::unique_ptr<const WeightAdjoint>> by_batch_;
};

class WeightAdjointKernel : public Kernel {
 public:
  explicit WeightAdjointKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    if (out[0].count() == 0 || in[0].count() == 0 || in[1].count() == 0)
      return unsupported("empty convolutions are interpreted");
    Geometry g = TENON_TRY(geometry_of(node_, in, out));
    return guarded([&] {
      return std::unique_ptr<Launch>(std::make_unique<WeightAdjointLaunch>(std::move(g)));
    });
  }
  std::string describe() const override { return "convolution by weights (onednn)"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_weight_adjoint(const Node& node) {
  if (node.op().name != "conv_weight_adjoint") return Verdict::no("");
  if (node.input(0)->type().dtype() != DType::f32)
    return Verdict::no("only f32 convolutions have a native kernel");
  if (!is_number(node.input(0)) || !is_number(node.input(1)) || !node.output(0)->type().ranked())
    return Verdict::no("the rank is not known");
  if (node.input(0)->type().ndim() > 5) return Verdict::no("more than three spatial axes");
  return {};
}

Result<KernelPtr> make_weight_adjoint(const Node& node) {
  return KernelPtr(std::make_unique<WeightAdjointKernel>(node));
}

}  // namespace tenon::backends::cpu
