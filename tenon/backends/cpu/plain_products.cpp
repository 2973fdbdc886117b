// conv and matmul of wide integers and of f64, which no library takes: plain vector loops.
//
// Depthwise convolutions of quantised models come here, too, as i32: few taps, so memory decides.
#include <algorithm>

#include "tenon/backends/cpu/kernels_internal.h"
#include "tenon/backends/cpu/numbers_internal.h"
#include "tenon/ops/convolutions.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {
namespace {

using LaunchPtr = std::unique_ptr<Launch>;

// Signed sums wrap instead of being undefined.
template <class T>
struct WrappingOf {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct WrappingOf<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using Wrapping = typename WrappingOf<T>::type;

template <class T>
constexpr bool is_taken =
    std::is_same_v<T, double> || (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

// y[n, m] = bias[m] + sum over c, taps of w[m, c, tap] * x[n, c, ...], one plane of y at a time
template <class T>
class ConvLaunch : public Launch {
 public:
  using W = Wrapping<T>;
  ConvLaunch(ops::ConvSizes sizes, bool has_bias) : s_(sizes), has_bias_(has_bias) {
    ops::merge_rows(s_.window);
  }
  Status run(const Frame& frame) const override {
    const W *x = reinterpret_cast<const W*>(frame.inputs[0]),
            *w = reinterpret_cast<const W*>(frame.inputs[1]);
    const W* bias = has_bias_ ? reinterpret_cast<const W*>(frame.inputs[2]) : nullptr;
    W* y = reinterpret_cast<W*>(frame.outputs[0]);
    const std::int64_t rows = s_.groups * s_.out, xs = ops::x_plane(s_.window),
                       ys = ops::y_plane(s_.window), taps = ops::num_taps(s_.window);
    const ops::ConvSizes one{1, 1, s_.in, 1, s_.window};
    frame.pool.parallel_for(0, s_.batch * rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t u = begin; u < end; ++u) {
        const std::int64_t n = u / rows, m = u % rows;
        const W *from = x + (n * s_.groups + m / s_.out) * s_.in * xs, *by = w + m * s_.in * taps;
        W* to = y + u * ys;
        std::fill_n(to, ys, bias ? bias[m] : W{0});
        ops::for_each_row(
            one, [&](std::int64_t wi, std::int64_t xi, std::int64_t yi, std::int64_t count,
                     std::int64_t step) { add_row(to + yi, from + xi, by[wi], count, step); });
      }
    });
    return {};
  }

 private:
  static void add_row(W* y, const W* x, W w, std::int64_t count, std::int64_t step) {
    if (step == 1)
      for (std::int64_t j = 0; j < count; ++j) y[j] += w * x[j];
    else
      for (std::int64_t j = 0; j < count; ++j) y[j] += w * x[j * step];
  }
  ops::ConvSizes s_;
  bool has_bias_;
};

// y[i, j] = sum over k of a[i, k] * b[k, j], row by row of a; leading axes broadcast.
template <class T>
class MatmulLaunch : public Launch {
 public:
  using W = Wrapping<T>;
  MatmulLaunch(const Dims& a, const Dims& b)
      : m_(a.size() > 1 ? a[a.size() - 2] : 1), k_(a.back()), n_(b.size() > 1 ? b.back() : 1) {
    const auto lead = [](const Dims& d) {
      return Dims(d.begin(),
                  d.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(d.size())));
    };
    lead_ = ops::broadcast_dims(lead(a), lead(b));
    a_steps_ = ops::broadcast_strides(lead(a), lead_);
    b_steps_ = ops::broadcast_strides(lead(b), lead_);
  }
  Status run(const Frame& frame) const override {
    W* y = reinterpret_cast<W*>(frame.outputs[0]);
    const std::int64_t rows = num_elements(lead_) * m_;
    frame.pool.parallel_for(0, rows,
                            std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, k_ * n_)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t r = begin; r < end; ++r) row(frame, r, y + r * n_);
                            });
    return {};
  }

 private:
  void row(const Frame& frame, std::int64_t r, W* y) const {
    std::int64_t rest = r / m_, at_a = 0, at_b = 0;
    for (std::size_t i = lead_.size(); i-- > 0;) {
      at_a += rest % lead_[i] * a_steps_[i];
      at_b += rest % lead_[i] * b_steps_[i];
      rest /= lead_[i];
    }
    const W *a = reinterpret_cast<const W*>(frame.inputs[0]) + (at_a * m_ + r % m_) * k_,
            *b = reinterpret_cast<const W*>(frame.inputs[1]) + at_b * k_ * n_;
    std::fill_n(y, n_, W{0});
    for (std::int64_t k = 0; k < k_; ++k)
      for (std::int64_t j = 0; j < n_; ++j) y[j] += a[k] * b[k * n_ + j];
  }
  std::int64_t m_, k_, n_;
  Dims lead_, a_steps_, b_steps_;
};

Result<ops::ConvSizes> sizes_of(const Node& node, std::span<const Extent> in) {
  const Dims &x = in[0].dims, &w = in[1].dims;
  const Call call(node);
  const std::int64_t groups = call.integer("group");
  return ops::ConvSizes{
      x[0], groups, w[1], w[0] / groups,
      TENON_TRY(ops::window_of(call, Dims(x.begin() + 2, x.end()), Dims(w.begin() + 2, w.end())))};
}

class PlainProductKernel : public Kernel {
 public:
  explicit PlainProductKernel(const Node& node) : node_(node) {}
  Result<LaunchPtr> bind(std::span<const Extent> in, std::span<const Extent>) const override {
    return visit_number(in[0].dtype, [&]<class T>(T) -> Result<LaunchPtr> {
      if constexpr (!is_taken<T>) {
        return unsupported("{} is multiplied elsewhere", name(in[0].dtype));
      } else {
        if (node_.op().name == "matmul")
          return LaunchPtr(std::make_unique<MatmulLaunch<T>>(in[0].dims, in[1].dims));
        return LaunchPtr(std::make_unique<ConvLaunch<T>>(TENON_TRY(sizes_of(node_, in)),
                                                         in.size() > 2 && in[2].present()));
      }
    });
  }
  std::string describe() const override { return "products by plain loops"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_plain_product(const Node& node) {
  if (node.op().name != "matmul" && node.op().name != "conv") return Verdict::no("");
  const DType d = node.input(0)->type().dtype();
  if (d != DType::f64 && !(is_integer(d) && size_of(d) >= 4)) return Verdict::no("");
  if (!is_number(node.input(0)) || !is_number(node.input(1)) || !node.output(0)->type().ranked())
    return Verdict::no("the rank is not known");
  if (node.op().name == "conv" && node.input(0)->type().ndim() > 5)
    return Verdict::no("more than three spatial axes");
  return {};
}

Result<KernelPtr> make_plain_product(const Node& node) {
  return KernelPtr(std::make_unique<PlainProductKernel>(node));
}

}  // namespace tenon::backends::cpu
