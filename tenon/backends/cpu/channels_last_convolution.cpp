// Convolution where channels lie side by side: no padding of channels, no layout of its own between
// two convolutions, and oneDNN's fastest kernels on every instruction set.
#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/channels_last_convolution_internal.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

std::int64_t product_of(const memory::dims& d, std::size_t first = 0) {
  std::int64_t n = 1;
  for (std::size_t i = first; i < d.size(); ++i) n *= d[i];
  return n;
}

Dims channels_last(const memory::dims& d) {
  Dims out = {d[0]};
  out.insert(out.end(), d.begin() + 2, d.end());
  out.push_back(d[1]);
  return out;
}

// An operand of the steps, given channels last, in oneDNN's order of axes.
std::optional<memory::desc> describe(const AlignedOperand& o) {
  const std::size_t n = o.dims.size();
  memory::dims dims = {o.dims[0], o.dims[n - 1]}, strides = {0, 1};
  std::int64_t dense = o.dims[n - 1];
  for (std::size_t i = 1; i + 1 < n; ++i) dims.push_back(o.dims[i]), strides.push_back(0);
  for (std::size_t i = n - 1; i-- > 0; dense *= o.dims[i]) {
    if (o.dims[i] != 1 && o.strides[i] != dense && i != 0) return std::nullopt;
    strides[i == 0 ? 0 : i + 1] = dense;
  }
  return memory::desc(dims, memory::data_type::f32, strides);
}

// One primitive for one size of part.
class Primitive {
 public:
  Primitive(const ConvolutionGeometry& g, bool has_bias,
            const std::function<PostSteps(std::size_t limit)>& steps)
      : g_(g),
        bias_(memory::dims{g.groups * g.out}, memory::data_type::f32, memory::format_tag::a),
        given_source_(channels_last_layout(g.x_dims())),
        given_target_(channels_last_layout(g.y_dims())) {
    std::string plain = make(given_source_, given_target_, has_bias, {});
    if (is_slow(plain)) {  // no kernel for this layout: oneDNN's own, with a copy in and out
      make(any_layout(g.x_dims()), any_layout(g.y_dims()), has_bias, {});
      return;
    }
    steps_ = steps(SIZE_MAX);
    if (steps_.taken == 0) return;
    std::string with;
    try {
      with = make(given_source_, given_target_, has_bias, steps_.ops);
    } catch (const dnnl::error&) {
    }
    if (with == plain) return;
    steps_ = {};  // a slower kernel takes them, or none: they follow in a loop of their own
    make(given_source_, given_target_, has_bias, {});
  }
  const memory::desc& weights() const { return weights_; }
  const PostSteps& steps() const { return steps_; }
  const ConvolutionGeometry& geometry() const { return g_; }

  /// `image` and `row` tell where in the whole output this part begins.
  void run(const std::byte* x, const std::byte* w, const std::byte* bias, std::byte* y,
           std::int64_t image, std::int64_t row, const Frame& frame) const {
    const bool moves_in = !(source_ == given_source_), moves_out = !(target_ == given_target_);
    const std::size_t in_bytes = moves_in ? aligned(source_.get_size()) : 0;
    std::byte* buffers = layout_scratch(in_bytes + (moves_out ? target_.get_size() : 0));
    if (moves_in) reorder(given_source_, x, source_, buffers);
    std::byte* to = moves_out ? buffers + in_bytes : y;
    std::unordered_map<int, memory> args = {
        {DNNL_ARG_SRC, memory_at(source_, moves_in ? buffers : x)},
        {DNNL_ARG_WEIGHTS, memory_at(weights_, w)},
        {DNNL_ARG_DST, memory_at(target_, to)},
        {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}};
    if (bias) args[DNNL_ARG_BIAS] = memory_at(bias_, bias);
    for (const PostSteps::Operand& o : steps_.operands)
      args[o.argument] =
          memory_at(o.desc, frame.inputs[static_cast<std::size_t>(o.input)] +
                                (image * o.shape.strides[0] + row * o.shape.strides[1]) * 4);
    primitive_.execute(onednn_stream(), args);
    if (moves_out) reorder(target_, to, given_target_, y);
  }

 private:
  static bool is_slow(const std::string& implementation) {
    return implementation.find("ref") != std::string::npos ||
           implementation.find("gemm:") != std::string::npos;
  }
  static std::byte* layout_scratch(std::size_t bytes) {
    thread_local std::shared_ptr<Buffer> buffer;
    if (!buffer || buffer->bytes() < bytes) buffer = Buffer::allocate(bytes);
    return buffer->data();
  }
  std::string make(const memory::desc& x, const memory::desc& y, bool has_bias,
                   const dnnl::post_ops& post) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(post);
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const memory::desc w = any_layout(g_.w_dims());
    using Desc = dnnl::convolution_forward::primitive_desc;
    const Desc desc = has_bias ? Desc(onednn_engine(), kind, algorithm, x, w, bias_, y, g_.strides,
                                      g_.dilations, g_.begin, g_.end, attr)
                               : Desc(onednn_engine(), kind, algorithm, x, w, y, g_.strides,
                                      g_.dilations, g_.begin, g_.end, attr);
    source_ = desc.src_desc(), weights_ = desc.weights_desc(), target_ = desc.dst_desc(),
    scratch_ = desc.scratchpad_desc();
    primitive_ = dnnl::convolution_forward(desc);
    return desc.impl_info_str();
  }
  ConvolutionGeometry g_;
  memory::desc bias_, given_source_, given_target_, source_, weights_, target_, scratch_;
  PostSteps steps_;
  dnnl::primitive primitive_;
};

// A part of the output: images [image, image + batch), rows [row, row + y[0]) of each.
struct Part {
  std::int64_t image, row, source_row;
  std::shared_ptr<const Primitive> primitive;
  std::shared_ptr<const std::byte> weights;  // packed; nullptr: not constant
};

class ChannelsLastLaunch : public Launch {
 public:
  explicit ChannelsLastLaunch(ChannelsLastCall call)
      : group_(call.group),
        g_(std::move(call.geometry)),
        inputs_(call.inputs.begin(), call.inputs.end()),
        output_(call.output),
        w_(call.weights ? *call.weights : Tensor()) {
    has_bias_ = group_.arguments.size() > 2 && group_.arguments[2] >= 0;
    const Primitive& whole = *parts(1)[0].primitive;
    taken_ = whole.steps().taken;
  }
  Status complete() {
    rest_ = TENON_TRY(RestLoop::make(group_, inputs_, output_, taken_));
    return {};
  }
  Status run(const Frame& frame) const override {
    const std::vector<Part>& all = parts(frame.pool.threads());
    const auto at = [&](int i) {
      return frame.inputs[static_cast<std::size_t>(group_.arguments[static_cast<std::size_t>(i)])];
    };
    const std::byte *x = at(0), *bias = has_bias_ ? at(2) : nullptr;
    std::shared_ptr<Buffer> fresh;
    if (!w_.defined())
      fresh = packed(plain_layout(g_.w_dims()), at(1), all[0].primitive->weights());
    const std::int64_t x_row = product_of(g_.x, 1) * g_.groups * g_.in * 4,
                       y_row = product_of(g_.y, 1) * g_.groups * g_.out * 4;
    frame.pool.parallel_for(
        0, static_cast<std::int64_t>(all.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const Part& p = all[static_cast<std::size_t>(i)];
            p.primitive->run(x + (p.image * g_.x[0] + p.source_row) * x_row,
                             fresh ? fresh->data() : p.weights.get(), bias,
                             frame.outputs[0] + (p.image * g_.y[0] + p.row) * y_row, p.image, p.row,
                             frame);
          }
        });
    rest_.run(frame);
    return {};
  }

 private:
  const std::vector<Part>& parts(int threads) const {
    const std::lock_guard lock(mutex_);
    auto it = parts_.find(threads);
    if (it != parts_.end()) return it->second;
    std::vector<Part> all = threads == 1 ? std::vector<Part>{part(g_, 0, 0, 0)} : cut(threads);
    // Parts must do what the whole does: the same packed weights where they are made per run, and
    // the same steps.
    for (const Part& p : all)
      if ((threads > 1 && p.primitive->steps().taken != taken_) ||
          (!w_.defined() && !(p.primitive->weights() == all[0].primitive->weights()))) {
        all = {parts_.at(1)[0]};
        break;
      }
    return parts_.emplace(threads, std::move(all)).first->second;
  }
  std::vector<Part> cut(int threads) const {
    const double flops = 2.0 * static_cast<double>(product_of(g_.y_dims())) *
                         static_cast<double>(g_.in * product_of(g_.kernel));
    std::vector<Part> all;
    if (flops < 1e6 || (g_.batch % threads != 0 && g_.y[0] < threads)) return {part(g_, 0, 0, 0)};
    if (g_.batch % threads == 0) {
      ConvolutionGeometry g = g_;
      g.batch /= threads;
      for (int t = 0; t < threads; ++t) all.push_back(part(g, t * g.batch, 0, 0));
      return all;
    }
    for (std::int64_t n = 0; n < g_.batch; ++n)
      for (int t = 0; t < threads; ++t) {
        const std::int64_t first = g_.y[0] * t / threads, last = g_.y[0] * (t + 1) / threads;
        all.push_back(rows(n, first, last));
        if (!all.back().primitive) return {part(g_, 0, 0, 0)};
      }
    return all;
  }
  // Rows [first, last) of the output of one image, from the rows of the input that they read.
  Part rows(std::int64_t image, std::int64_t first, std::int64_t last) const {
    const std::int64_t extent = (g_.kernel[0] - 1) * (g_.dilations[0] + 1) + 1,
                       low = first * g_.strides[0] - g_.begin[0],
                       high = (last - 1) * g_.strides[0] - g_.begin[0] + extent,
                       from = std::max<std::int64_t>(low, 0), to = std::min(high, g_.x[0]);
    if (from >= to) return {};
    ConvolutionGeometry g = g_;
    g.batch = 1;
    g.x[0] = to - from;
    g.y[0] = last - first;
    g.begin[0] = from - low;
    g.end[0] = high - to;
    return part(g, image, first, from);
  }
  Part part(const ConvolutionGeometry& g, std::int64_t image, std::int64_t row,
            std::int64_t source_row) const {
    Part p{image, row, source_row, nullptr, nullptr};
    for (const auto& made : primitives_)  // images and middle rows are alike
      if (made->geometry() == g) p.primitive = made;
    if (!p.primitive) {
      const auto steps = [&](std::size_t limit) {
        return post_steps(group_, inputs_, output_.dims, channels_last(g.y_dims()), describe,
                          limit);
      };
      p.primitive = primitives_.emplace_back(std::make_shared<Primitive>(g, has_bias_, steps));
    }
    if (w_.defined())
      p.weights = packed_once(w_, plain_layout(g_.w_dims()), p.primitive->weights());
    return p;
  }

  const AnchoredGroup& group_;
  ConvolutionGeometry g_;
  std::vector<Extent> inputs_;
  Extent output_;
  Tensor w_;
  bool has_bias_ = false;
  std::size_t taken_ = 0;
  RestLoop rest_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Primitive>> primitives_;
  mutable std::map<int, std::vector<Part>> parts_;  // by number of threads
};

}  // namespace

Result<std::unique_ptr<Launch>> channels_last_launch(ChannelsLastCall call) {
  if (auto depthwise = TENON_TRY(channels_last_depthwise(call))) return depthwise;
  auto launch =
      TENON_TRY(guarded([&] { return std::make_unique<ChannelsLastLaunch>(std::move(call)); }));
  TENON_TRY(launch->complete());
  return std::unique_ptr<Launch>(std::move(launch));
}

}  // namespace tenon::backends::cpu
