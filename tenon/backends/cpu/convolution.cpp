// Convolution and its adjoint by the input, through oneDNN in the layouts that it likes best.
//
// The work is split over output channels (or the batch): each part has its own primitive and
// weights.
#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/channels_last_convolution_internal.h"
#include "tenon/backends/cpu/plain_convolution_internal.h"
#include "tenon/ops/convolutions.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// One primitive with everything it reads and writes.
class Convolution {
 public:
  Convolution(const ConvolutionGeometry& g, bool has_bias)
      : g_(g),
        bias_(memory::dims{g.groups * g.out}, memory::data_type::f32, memory::format_tag::a) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    using Forward = dnnl::convolution_forward::primitive_desc;
    const Forward forward = has_bias
                                ? Forward(onednn_engine(), kind, algorithm, any_layout(g.x_dims()),
                                          any_layout(g.w_dims()), bias_, any_layout(g.y_dims()),
                                          g.strides, g.dilations, g.begin, g.end, attr)
                                : Forward(onednn_engine(), kind, algorithm, any_layout(g.x_dims()),
                                          any_layout(g.w_dims()), any_layout(g.y_dims()), g.strides,
                                          g.dilations, g.begin, g.end, attr);
    if (!g.adjoint) {
      source_ = forward.src_desc(), weights_ = forward.weights_desc(), target_ = forward.dst_desc(),
      scratch_ = forward.scratchpad_desc();
      primitive_ = dnnl::convolution_forward(forward);
      return;
    }
    dnnl::convolution_backward_data::primitive_desc backward(
        onednn_engine(), dnnl::algorithm::convolution_direct, any_layout(g.x_dims()),
        any_layout(g.w_dims()), any_layout(g.y_dims()), g.strides, g.dilations, g.begin, g.end,
        forward, attr);
    source_ = backward.diff_dst_desc(), weights_ = backward.weights_desc(),
    target_ = backward.diff_src_desc(), scratch_ = backward.scratchpad_desc();
    primitive_ = dnnl::convolution_backward_data(backward);
  }
  const memory::desc& source() const { return source_; }
  const memory::desc& target() const { return target_; }
  memory::desc plain_source() const { return plain_layout(g_.adjoint ? g_.y_dims() : g_.x_dims()); }
  memory::desc plain_target() const { return plain_layout(g_.adjoint ? g_.x_dims() : g_.y_dims()); }
  std::shared_ptr<Buffer> pack(const std::byte* w) const {
    return packed(plain_layout(g_.w_dims()), w, weights_);
  }
  void run(const std::byte* x, const std::byte* w, const std::byte* bias, std::byte* y) const {
    const int in = g_.adjoint ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC,
              out = g_.adjoint ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST;
    primitive_.execute(
        onednn_stream(),
        {{in, memory_at(source_, x)},
         {DNNL_ARG_WEIGHTS, memory_at(weights_, w)},
         {out, memory_at(target_, y)},
         {DNNL_ARG_BIAS, bias ? memory_at(bias_, bias) : dnnl::memory()},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  ConvolutionGeometry g_;
  memory::desc bias_, source_, weights_, target_, scratch_;
  dnnl::primitive primitive_;
};

// How the work is cut for a number of parts: by images, else by groups, else by output channels.
enum class Cut : std::uint8_t { none, batch, groups, channels };

class ConvolutionLaunch : public Launch {
 public:
  ConvolutionLaunch(ConvolutionGeometry g, const Tensor* w, bool has_bias)
      : g_(std::move(g)), w_(w ? *w : Tensor()), has_bias_(has_bias) {
    plan(1);
  }

  Status run(const Frame& frame) const override {
    const Plan& p = plan(frame.pool.threads());
    const std::byte* w = w_.defined() ? nullptr : frame.inputs[1];
    frame.pool.parallel_for(0, p.parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) run_part(p, i, frame, w);
    });
    return {};
  }

 private:
  struct Plan {
    Cut cut = Cut::none;
    std::int64_t parts = 1;
    ConvolutionGeometry geometry;  // of one part
    std::shared_ptr<const Convolution> convolution;
    std::vector<std::shared_ptr<Buffer>> weights;  // packed, of each part, when w is constant
  };

  static std::size_t floats(const memory::dims& d) {
    std::int64_t n = 1;
    for (auto v : d) n *= v;
    return static_cast<std::size_t>(n);
  }
  std::int64_t out_channels() const { return g_.adjoint ? g_.in : g_.out; }

  const Plan& plan(int threads) const {
    const std::lock_guard lock(mutex_);
    auto it = plans_.find(threads);
    if (it != plans_.end()) return *it->second;
    auto p = std::make_unique<Plan>();
    p->geometry = g_;
    const double flops = 2.0 * static_cast<double>(floats(g_.y_dims())) *
                         static_cast<double>(g_.in) * static_cast<double>(floats(g_.kernel));
    if (threads > 1 && flops > 1e6) choose_cut(*p, threads);
    p->convolution = std::make_shared<Convolution>(p->geometry, has_bias_);
    if (w_.defined())
      for (std::int64_t i = 0; i < weight_parts(*p); ++i)
        p->weights.push_back(p->convolution->pack(part_weights(*p, w_.raw(), i)));
    return *plans_.emplace(threads, std::move(p)).first->second;
  }
  void choose_cut(Plan& p, int threads) const {
    const std::int64_t t = threads;
    if (g_.batch % t == 0)
      p.cut = Cut::batch, p.geometry.batch /= t;
    else if (g_.groups > 1 && g_.groups % t == 0)
      p.cut = Cut::groups, p.geometry.groups /= t;
    else if (g_.groups == 1 && out_channels() % (8 * t) == 0 && !g_.adjoint)
      p.cut = Cut::channels, p.geometry.out /= t;
    else
      return;
    p.parts = t;
  }
  static std::int64_t weight_parts(const Plan& p) { return p.cut == Cut::batch ? 1 : p.parts; }
  // w is [groups * out, in, kernel]: parts by groups or channels are neighbouring rows.
  static const std::byte* part_weights(const Plan& p, const std::byte* w, std::int64_t i) {
    return p.cut == Cut::batch ? w
                               : w + static_cast<std::size_t>(i) * floats(p.geometry.w_dims()) * 4;
  }

  void run_part(const Plan& p, std::int64_t i, const Frame& frame, const std::byte* w) const {
    const Convolution& c = *p.convolution;
    const ConvolutionGeometry& g = p.geometry;
    const memory::dims in_dims = g.adjoint ? g.y_dims() : g.x_dims(),
                       out_dims = g.adjoint ? g.x_dims() : g.y_dims();
    const memory::dims all_in = g_.adjoint ? g_.y_dims() : g_.x_dims(),
                       all_out = g_.adjoint ? g_.x_dims() : g_.y_dims();
    const memory::desc from = slice_of(all_in, in_dims), to = slice_of(all_out, out_dims);
    const std::byte* x = frame.inputs[0] + offset_of(p, i, all_in, in_dims, p.cut == Cut::channels);
    std::byte* y = frame.outputs[0] + offset_of(p, i, all_out, out_dims, false);
    std::shared_ptr<Buffer> fresh;
    if (w) fresh = c.pack(part_weights(p, w, i));
    const std::byte* packed_w =
        w ? fresh->data()
          : p.weights[static_cast<std::size_t>(p.cut == Cut::batch ? 0 : i)]->data();
    const bool moves_in = !(c.source() == from), moves_out = !(c.target() == to);
    const std::size_t in_bytes = moves_in ? aligned(c.source().get_size()) : 0,
                      out_bytes = moves_out ? aligned(c.target().get_size()) : 0;
    std::byte* buffers = layout_scratch(in_bytes + out_bytes);
    if (moves_in) reorder(from, x, c.source(), buffers);
    const std::byte* bias =
        has_bias_ ? frame.inputs[2] +
                        static_cast<std::size_t>(p.cut == Cut::batch ? 0 : i * out_dims[1]) * 4
                  : nullptr;
    c.run(moves_in ? buffers : x, packed_w, bias, moves_out ? buffers + in_bytes : y);
    if (moves_out) reorder(c.target(), buffers + in_bytes, to, y);
  }
  // Separate from the scratch of primitives, which grows under them.
  static std::byte* layout_scratch(std::size_t bytes) {
    thread_local std::shared_ptr<Buffer> buffer;
    if (!buffer || buffer->bytes() < bytes) buffer = Buffer::allocate(bytes);
    return buffer->data();
  }
  // A part of a plain tensor: the whole's strides under the part's sizes.
  static memory::desc slice_of(const memory::dims& all, const memory::dims& part) {
    memory::dims strides(all.size(), 1);
    for (std::size_t i = all.size(); i-- > 1;) strides[i - 1] = strides[i] * all[i];
    return {part, memory::data_type::f32, strides};
  }
  static std::size_t offset_of(const Plan& p, std::int64_t i, const memory::dims& all,
                               const memory::dims& part, bool shared) {
    if (p.cut == Cut::none || shared) return 0;
    const std::size_t axis = p.cut == Cut::batch ? 0 : 1;
    std::size_t stride = 1;
    for (std::size_t a = axis + 1; a < all.size(); ++a) stride *= static_cast<std::size_t>(all[a]);
    return static_cast<std::size_t>(i * part[axis]) * stride * 4;
  }
  ConvolutionGeometry g_;
  Tensor w_;
  bool has_bias_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<const Plan>> plans_;  // by number of threads
};

bool is_convolution(const Node& node) {
  return node.op().name == "conv" || node.op().name == "conv_input_adjoint";
}

// A launch that speaks the anchor's inputs, and the steps after it.
class GroupLaunch : public Launch {
 public:
  GroupLaunch(std::unique_ptr<Launch> anchor, std::vector<int> arguments, RestLoop rest)
      : anchor_(std::move(anchor)), arguments_(std::move(arguments)), rest_(std::move(rest)) {}
  std::size_t workspace_bytes() const override { return anchor_->workspace_bytes(); }
  Status run(const Frame& frame) const override {
    std::array<const std::byte*, 3> inputs = {};
    for (std::size_t i = 0; i < arguments_.size() && i < inputs.size(); ++i)
      if (arguments_[i] >= 0) inputs[i] = frame.inputs[static_cast<std::size_t>(arguments_[i])];
    TENON_TRY(anchor_->run({inputs, frame.outputs, frame.workspace, frame.pool}));
    rest_.run(frame);
    return {};
  }

 private:
  std::unique_ptr<Launch> anchor_;
  std::vector<int> arguments_;
  RestLoop rest_;
};

class ConvolutionKernel : public Kernel {
 public:
  ConvolutionKernel(const Node& node, AnchoredGroup group)
      : node_(node), group_(std::move(group)) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    const std::vector<Extent> args = anchor_inputs(group_, in);
    if (out[0].count() == 0 || args[0].count() == 0 || args[1].count() == 0)
      return unsupported("empty convolutions are interpreted");
    ConvolutionGeometry g =
        TENON_TRY(geometry_of(*group_.anchor, args, anchor_output(group_, out[0])));
    const Value* w = node_.input(group_.arguments[1]);
    const Tensor* constant = w->is_constant() ? &w->tensor() : nullptr;
    if (group_.channels_last)
      return channels_last_launch({group_, std::move(g), in, out[0], constant});
    auto anchor = TENON_TRY(bind_anchor(std::move(g), args, constant));
    if (group_.epilogue.empty() && group_.inputs.empty()) return anchor;
    RestLoop rest = TENON_TRY(RestLoop::make(group_, in, out[0], 0));
    return std::unique_ptr<Launch>(
        std::make_unique<GroupLaunch>(std::move(anchor), group_.arguments, std::move(rest)));
  }
  std::string describe() const override {
    return fmt::format("{} ({})", group_.label,
                       group_.channels_last ? "onednn, channels last"
                                            : "onednn; depthwise and pointwise on plain planes");
  }

 private:
  Result<std::unique_ptr<Launch>> bind_anchor(ConvolutionGeometry g, const std::vector<Extent>& in,
                                              const Tensor* w) const {
    const bool has_bias = !g.adjoint && in.size() > 2 && in[2].present();
    if (!g.adjoint)
      if (auto plain = TENON_TRY(bind_plain(g, in, has_bias))) return plain;
    return guarded([&] {
      return std::unique_ptr<Launch>(
          std::make_unique<ConvolutionLaunch>(std::move(g), w, has_bias));
    });
  }
  // Depthwise and pointwise filters gain less from a blocked layout than changing into it costs.
  Result<std::unique_ptr<Launch>> bind_plain(const ConvolutionGeometry& g,
                                             std::span<const Extent> in, bool has_bias) const {
    const bool is_point =
        std::all_of(g.kernel.begin(), g.kernel.end(), [](auto k) { return k == 1; }) &&
        g.x == g.y &&
        std::all_of(g.strides.begin(), g.strides.end(), [](auto k) { return k == 1; });
    std::int64_t plane = 1;
    for (auto d : g.x) plane *= d;
    if (is_point && g.groups == 1 && plane > 1)
      return pointwise_launch(g.batch, g.in, g.out, plane, has_bias);
    const bool is_depthwise = g.groups > 1 && g.in == 1 && g.out == 1 && g.y.back() >= 4;
    const bool is_picture = g.groups == 1 && g.in <= 4 && g.y.back() >= 8;
    if (!is_depthwise && !is_picture) return std::unique_ptr<Launch>();
    const Dims& w = in[1].dims;
    const ops::Window window = TENON_TRY(
        ops::window_of(Call(*group_.anchor), Dims(in[0].dims.begin() + 2, in[0].dims.end()),
                       Dims(w.begin() + 2, w.end())));
    if (is_picture) return patch_launch(window, g.batch, g.in, g.out, has_bias);
    return depthwise_launch(window, g.batch, g.groups, has_bias);
  }
  const Node& node_;
  AnchoredGroup group_;
};

}  // namespace

Verdict takes_convolution(const Node& node) {
  const auto group = anchored_group(node, is_convolution);
  if (!group) return Verdict::no("");
  const Node& anchor = *group->anchor;
  if (anchor.input(0)->type().dtype() != DType::f32)
    return Verdict::no("only f32 convolutions have a native kernel");
  if (!is_number(anchor.input(0)) || !is_number(anchor.input(1)) ||
      !anchor.output(0)->type().ranked())
    return Verdict::no("the rank is not known");
  if (anchor.input(0)->type().ndim() > 5) return Verdict::no("more than three spatial axes");
  if (group->channels_last && anchor.op().name != "conv")
    return Verdict::no("adjoints of convolutions run on plain planes");
  return {};
}

Result<KernelPtr> make_convolution(const Node& node) {
  return KernelPtr(
      std::make_unique<ConvolutionKernel>(node, *anchored_group(node, is_convolution)));
}

}  // namespace tenon::backends::cpu
