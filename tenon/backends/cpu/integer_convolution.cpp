// conv_integer through oneDNN: bytes times bytes over slabs of rows, summed in 32 bits, exactly.
//
// With w' = w - shift in s8 (shift 128 for u8) and zw' = zw - shift:
//   conv(x - zx, w - zw) = conv(x, w') - zx sum(w') - zw' box(x - zx)
// Pads are zeros after the subtraction: the slab's margin holds zx, so that the formula holds for
// every window. conv runs channels-last; sum(w') goes into its bias; box is the sum over channels
// and taps, which one channel of ones would give.
#include <algorithm>
#include <map>
#include <mutex>

#include "tenon/backends/cpu/integer_products_internal.h"
#include "tenon/ops/convolutions.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// x[batch, in, h, w] (a line is one row), y[batch, out, ...]; window axes 1 and 2.
struct Shape2d {
  std::int64_t batch, in, out;
  ops::WindowAxis h, w;
};

// oneDNN's primitive for a slab of `rows` output rows of one image.
class Slab {
 public:
  Slab(const Shape2d& s, std::int64_t rows, memory::data_type x)
      : rows_(rows),
        in_rows_((rows - 1) * s.h.stride + s.h.extent()),
        in_cols_((s.w.y - 1) * s.w.stride + s.w.extent()),
        x_({1, s.in, in_rows_, in_cols_}, x, memory::format_tag::nhwc),
        y_({1, s.out, rows, s.w.y}, memory::data_type::s32, memory::format_tag::nhwc),
        bias_({s.out}, memory::data_type::s32, memory::format_tag::a) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const memory::desc w({s.out, s.in, s.h.kernel, s.w.kernel}, memory::data_type::s8,
                         memory::format_tag::any);
    const dnnl::convolution_forward::primitive_desc desc(
        onednn_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        x_, w, bias_, y_, {s.h.stride, s.w.stride}, {s.h.dilation - 1, s.w.dilation - 1}, {0, 0},
        {0, 0}, attr);
    w_ = desc.weights_desc();
    scratch_ = desc.scratchpad_desc();
    is_reference_ = std::string_view(desc.impl_info_str()).find("ref") != std::string_view::npos;
    primitive_ = dnnl::convolution_forward(desc);
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t in_rows() const { return in_rows_; }
  std::int64_t in_cols() const { return in_cols_; }
  bool is_reference() const { return is_reference_; }
  const memory::desc& weights() const { return w_; }
  const memory::desc& y() const { return y_; }
  std::size_t x_bytes() const { return aligned(x_.get_size()); }
  std::size_t y_bytes() const { return aligned(y_.get_size()); }
  void run(const std::byte* x, const std::byte* w, const std::int32_t* bias, std::byte* y) const {
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, memory_at(x_, x)},
         {DNNL_ARG_WEIGHTS, memory_at(w_, w)},
         {DNNL_ARG_BIAS, memory_at(bias_, reinterpret_cast<const std::byte*>(bias))},
         {DNNL_ARG_DST, memory_at(y_, y)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  std::int64_t rows_, in_rows_, in_cols_;
  memory::desc x_, y_, bias_, w_, scratch_;
  dnnl::convolution_forward primitive_;
  bool is_reference_ = false;
};

// What stays for the life of a launch with constant weights, or of one run without.
struct Weights {
  std::map<std::int64_t, std::shared_ptr<Buffer>> packed;  // by rows of the slab
  std::vector<std::int32_t> sums;                          // of w', per output channel
};

struct Quantities {             // of one run
  std::int32_t zx = 0, zw = 0;  // zw' of the formula
  std::vector<std::int32_t> bias;
};

class IntegerConvLaunch : public Launch {
 public:
  IntegerConvLaunch(const Shape2d& s, bool x_unsigned, bool w_unsigned, const Tensor* w)
      : s_(s), x_unsigned_(x_unsigned), w_unsigned_(w_unsigned) {
    const auto type = x_unsigned ? memory::data_type::u8 : memory::data_type::s8;
    // A slab's results should stay in the second-level cache while they are brought in order.
    const std::int64_t row_bytes = s.w.y * (s.out * 4 + s.in * s.h.stride);
    rows_ = std::clamp<std::int64_t>((768 << 10) / std::max<std::int64_t>(1, row_bytes), 1, s.h.y);
    slabs_[rows_] = std::make_shared<Slab>(s, rows_, type);
    if (const std::int64_t rest = s.h.y % rows_)
      slabs_[rest] = std::make_shared<Slab>(s, rest, type);
    if (w) weights_ = pack(w->raw());
  }
  bool is_fast() const { return !slabs_.at(rows_)->is_reference(); }

  Status run(const Frame& frame) const override {
    const bool is_fixed = !weights_.sums.empty();
    const Weights fresh = is_fixed ? Weights{} : pack(frame.inputs[1]);
    const Weights& w = is_fixed ? weights_ : fresh;
    const auto zero = [&](std::size_t i, bool is_unsigned) {
      return i < frame.inputs.size() && frame.inputs[i] ? byte_at(frame.inputs[i], 0, is_unsigned)
                                                        : 0;
    };
    Quantities q{zero(2, x_unsigned_), zero(3, w_unsigned_) - (w_unsigned_ ? 128 : 0), {}};
    for (std::int32_t sum : w.sums) q.bias.push_back(-q.zx * sum);
    const std::int64_t per_image = (s_.h.y + rows_ - 1) / rows_;
    frame.pool.parallel_for(0, s_.batch * per_image, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        slab(frame, w, q, i / per_image, i % per_image * rows_);
    });
    return {};
  }

 private:
  Weights pack(const std::byte* w) const {
    Weights out;
    const std::int64_t taps = s_.in * s_.h.kernel * s_.w.kernel;
    auto shifted = Buffer::allocate(static_cast<std::size_t>(s_.out * taps));
    shift_to_signed(w, w_unsigned_, s_.out * taps, shifted->data());
    for (std::int64_t o = 0; o < s_.out; ++o)
      out.sums.push_back(sum_of_bytes(shifted->data() + o * taps, taps, false));
    const memory::desc plain({s_.out, s_.in, s_.h.kernel, s_.w.kernel}, memory::data_type::s8,
                             memory::format_tag::oihw);
    for (const auto& [rows, slab] : slabs_)
      out.packed[rows] = packed(plain, shifted->data(), slab->weights());
    return out;
  }

  void slab(const Frame& frame, const Weights& w, const Quantities& q, std::int64_t image,
            std::int64_t first) const {
    const Slab& p = *slabs_.at(std::min(rows_, s_.h.y - first));
    const std::size_t sums = aligned(static_cast<std::size_t>(p.in_rows() * p.in_cols()) * 4);
    std::byte* x = slab_scratch(p.x_bytes() + p.y_bytes() + 2 * sums);
    std::byte* y = x + p.x_bytes();
    gather(frame.inputs[0] + image * s_.in * s_.h.x * s_.w.x, first, p, q.zx, x);
    p.run(x, w.packed.at(p.rows())->data(), q.bias.data(), y);
    const std::int64_t plane = s_.h.y * s_.w.y;
    auto* to =
        reinterpret_cast<std::int32_t*>(frame.outputs[0]) + image * s_.out * plane + first * s_.w.y;
    const memory::desc planes({1, s_.out, p.rows(), s_.w.y}, memory::data_type::s32,
                              memory::dims{s_.out * plane, plane, s_.w.y, 1});
    reorder(p.y(), y, planes, reinterpret_cast<std::byte*>(to));
    if (q.zw != 0)
      subtract_boxes(p, q, x, reinterpret_cast<std::int32_t*>(y + p.y_bytes()),
                     static_cast<std::int64_t>(sums / 4), to, plane);
  }

  // The rows under a slab, channels last, with zx where the window hangs over.
  void gather(const std::byte* image, std::int64_t first, const Slab& p, std::int32_t zx,
              std::byte* to) const {
    const std::int64_t top = first * s_.h.stride - s_.h.begin;
    const auto cols_before = std::min(s_.w.begin, p.in_cols()),
               cols = std::clamp<std::int64_t>(p.in_cols() - cols_before, 0, s_.w.x);
    const std::int64_t row = p.in_cols() * s_.in;
    const auto lo = std::clamp<std::int64_t>(-top, 0, p.in_rows()),
               hi = std::clamp<std::int64_t>(s_.h.x - top, lo, p.in_rows());
    const bool has_margin = lo > 0 || hi < p.in_rows() || cols < p.in_cols();
    if (has_margin) std::memset(to, zx, static_cast<std::size_t>(p.in_rows() * row));
    if (hi <= lo || cols <= 0) return;
    const memory::data_type type = memory::data_type::u8;  // bytes are bytes
    const memory::dims dims = {1, s_.in, hi - lo, cols};
    const memory::desc from(dims, type,
                            memory::dims{s_.in * s_.h.x * s_.w.x, s_.h.x * s_.w.x, s_.w.x, 1}),
        into(dims, type, memory::dims{row * p.in_rows(), 1, row, s_.in});
    reorder(from, image + (top + lo) * s_.w.x, into, to + lo * row + cols_before * s_.in);
  }

  // y[o, pixel] -= zw' * box[pixel], box the sum of x - zx over channels and taps.
  void subtract_boxes(const Slab& p, const Quantities& q, const std::byte* x, std::int32_t* sums,
                      std::int64_t stride, std::int32_t* y, std::int64_t plane) const {
    std::int32_t* boxes = sums + stride;
    const std::int32_t zero = static_cast<std::int32_t>(s_.in) * q.zx;
    for (std::int64_t i = 0; i < p.in_rows() * p.in_cols(); ++i)
      sums[i] = sum_of_bytes(x + i * s_.in, s_.in, x_unsigned_) - zero;
    for (std::int64_t r = 0; r < p.rows(); ++r)
      for (std::int64_t c = 0; c < s_.w.y; ++c) {
        std::int32_t box = 0;
        for (std::int64_t a = 0; a < s_.h.kernel; ++a)
          for (std::int64_t b = 0; b < s_.w.kernel; ++b)
            box += sums[(r * s_.h.stride + a * s_.h.dilation) * p.in_cols() + c * s_.w.stride +
                        b * s_.w.dilation];
        boxes[r * s_.w.y + c] = box * q.zw;
      }
    for (std::int64_t o = 0; o < s_.out; ++o) subtract(y + o * plane, boxes, p.rows() * s_.w.y);
  }

  // Separate from the scratch of primitives, which grows under them.
  static std::byte* slab_scratch(std::size_t bytes) {
    thread_local std::shared_ptr<Buffer> buffer;
    if (!buffer || buffer->bytes() < bytes) buffer = Buffer::allocate(bytes);
    return buffer->data();
  }

  Shape2d s_;
  bool x_unsigned_, w_unsigned_;
  std::int64_t rows_ = 1;
  std::map<std::int64_t, std::shared_ptr<const Slab>> slabs_;
  Weights weights_;
};

class IntegerConvKernel : public Kernel {
 public:
  explicit IntegerConvKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    const Dims &x = in[0].dims, &w = in[1].dims;
    if (out[0].count() == 0 || in[0].count() == 0) return unsupported("nothing to convolve");
    const ops::Window window = TENON_TRY(
        ops::window_of(Call(node_), Dims(x.begin() + 2, x.end()), Dims(w.begin() + 2, w.end())));
    if (window[0].x != 1 || window[0].kernel != 1 || window[0].y != 1)
      return unsupported("convolutions of bytes over volumes are interpreted");
    if (window[1].begin < 0 || window[2].begin < 0)
      return unsupported("convolutions that crop their input are interpreted");
    if (in.size() > 3 && in[3].present() && in[3].count() != 1)
      return unsupported("a zero point for each output channel is interpreted");
    const Shape2d s{x[0], w[1], w[0], window[1], window[2]};
    const Value* weights = node_.input(1);
    auto launch = TENON_TRY(guarded([&] {
      return std::make_unique<IntegerConvLaunch>(
          s, in[0].dtype == DType::u8, in[1].dtype == DType::u8,
          weights->is_constant() ? &weights->tensor() : nullptr);
    }));
    if (!launch->is_fast()) return unsupported("onednn has no fast convolution of these bytes");
    return std::unique_ptr<Launch>(std::move(launch));
  }
  std::string describe() const override { return "onednn int8 convolution"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_integer_convolution(const Node& node) {
  if (node.op().name != "conv_integer") return Verdict::no("");
  if (Verdict v = can_multiply_bytes(); !v) return v;
  if (!is_number(node.input(0)) || !is_number(node.input(1)) || !node.output(0)->type().ranked())
    return Verdict::no("the rank is not known");
  if (Call(node).integer("group") != 1) return Verdict::no("groups of bytes are composed");
  if (node.input(0)->type().ndim() > 4) return Verdict::no("volumes of bytes are composed");
  const Value* zero = node.input(3);
  if (zero && !(zero->type().ranked() && zero->type().count() == Dim(1)))
    return Verdict::no("zero points of output channels are composed");
  return {};
}

Result<KernelPtr> make_integer_convolution(const Node& node) {
  return KernelPtr(std::make_unique<IntegerConvKernel>(node));
}

}  // namespace tenon::backends::cpu
