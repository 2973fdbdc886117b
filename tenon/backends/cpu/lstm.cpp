// lstm and its adjoint: matrix products through oneDNN for all steps at once where they allow it,
// and loops over the gates of one step.
//
// The work is split by directions and by parts of the batch. Shapes of one part, whose n is its
// share of the batch: gates G[t, n, 4h] (in the order i, o, f, g), states before each step
// H[t, n, h] and C[step, n, h].
#include <algorithm>
#include <cstring>

#include "tenon/backends/cpu/onednn_internal.h"
#include "tenon/ops/recurrent.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// Compiled for each instruction set and chosen when the program starts.
#define TENON_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))

// e^x within 2 units of the last place, in a form that compilers turn into vectors. Source: Cephes,
// expf.
inline float exponential(float x) {
  x = std::min(std::max(x, -87.0f), 88.0f);
  const float n = __builtin_floorf(x * 1.44269504f + 0.5f);
  const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f, p = p * r + 8.3334519073e-3f, p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f, p = p * r + 5.0000001201e-1f;
  const float y = p * r * r + r + 1;
  return y * __builtin_bit_cast(float, (static_cast<std::int32_t>(n) + 127) << 23);
}
inline float sigmoid(float x) { return 1 / (1 + exponential(-x)); }
inline float tangent(float x) {
  const float s = x * x, small = x * (1 + s * (-1.0f / 3 + s * (2.0f / 15 - s * (17.0f / 315))));
  const float large = 1 - 2 / (exponential(2 * x) + 1);
  return s < 0.04f ? small : large;
}

// G[n, 4h] becomes the activated gates; c = f c + i g, h = o tanh(c).
TENON_EVERY_ISA void step_forward(float* gates, const float* old_c, float* c, float* h,
                                  std::int64_t rows, std::int64_t width) {
  for (std::int64_t n = 0; n < rows; ++n) {
    float *i = gates + n * 4 * width, *o = i + width, *f = o + width, *g = f + width;
    const float* before = old_c + n * width;
    float *now = c + n * width, *out = h + n * width;
    for (std::int64_t k = 0; k < width; ++k) {
      i[k] = sigmoid(i[k]), o[k] = sigmoid(o[k]), f[k] = sigmoid(f[k]), g[k] = tangent(g[k]);
      now[k] = f[k] * before[k] + i[k] * g[k];
      out[k] = o[k] * tangent(now[k]);
    }
  }
}

// Activated gates become their gradients; dc becomes that of the state before.
TENON_EVERY_ISA void step_backward(float* gates, const float* old_c, const float* c,
                                   const float* dh, float* dc, std::int64_t rows,
                                   std::int64_t width) {
  for (std::int64_t n = 0; n < rows; ++n) {
    float *i = gates + n * 4 * width, *o = i + width, *f = o + width, *g = f + width;
    const float *before = old_c + n * width, *now = c + n * width, *up = dh + n * width;
    float* down = dc + n * width;
    for (std::int64_t k = 0; k < width; ++k) {
      const float t = tangent(now[k]), d = down[k] + up[k] * o[k] * (1 - t * t);
      const float di = d * g[k] * i[k] * (1 - i[k]), df = d * before[k] * f[k] * (1 - f[k]),
                  dg = d * i[k] * (1 - g[k] * g[k]), out = up[k] * t * o[k] * (1 - o[k]);
      down[k] = d * f[k];
      i[k] = di, o[k] = out, f[k] = df, g[k] = dg;
    }
  }
}

// c[m, n] = a b (+ c): matrices by sizes and strides, on this thread.
class Product {
 public:
  Product(memory::dims a, memory::dims a_strides, memory::dims b, memory::dims b_strides, bool adds)
      : a_(std::move(a), memory::data_type::f32, std::move(a_strides)),
        b_(std::move(b), memory::data_type::f32, std::move(b_strides)) {
    const memory::dims c = {a_.get_dims()[0], b_.get_dims()[1]};
    c_ = memory::desc(c, memory::data_type::f32, memory::dims{c[1], 1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (adds) {
      dnnl::post_ops sum;
      sum.append_sum(1);
      attr.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc desc(onednn_engine(), a_, b_, c_, attr);
    scratch_ = desc.scratchpad_desc();
    primitive_ = dnnl::matmul(desc);
  }
  void run(const float* a, const float* b, float* c) const {
    const auto at = [](const memory::desc& d, const float* p) {
      return memory_at(d, reinterpret_cast<const std::byte*>(p));
    };
    primitive_.execute(
        onednn_stream(),
        {{DNNL_ARG_SRC, at(a_, a)},
         {DNNL_ARG_WEIGHTS, at(b_, b)},
         {DNNL_ARG_DST, at(c_, c)},
         {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}});
  }

 private:
  memory::desc a_, b_, c_, scratch_;
  dnnl::matmul primitive_;
};

struct Sizes {
  std::int64_t time, batch, in, hidden, directions, parts;
  bool first_is_reversed;
  std::int64_t part_begin(std::int64_t p) const { return p * batch / parts; }
  std::int64_t gates() const { return 4 * hidden; }
};

// The products of a part of n sequences. Transposes are strides.
struct Products {
  Products(const Sizes& s, std::int64_t n)
      : input({s.time * n, s.in}, {s.in, 1}, {s.in, s.gates()}, {1, s.in}, false),
        recurrent({n, s.hidden}, {s.hidden, 1}, {s.hidden, s.gates()}, {1, s.hidden}, true),
        state({n, s.gates()}, {s.gates(), 1}, {s.gates(), s.hidden}, {s.hidden, 1}, false),
        dx({s.time * n, s.gates()}, {s.gates(), 1}, {s.gates(), s.in}, {s.in, 1}, false),
        dw({s.gates(), s.time * n}, {1, s.gates()}, {s.time * n, s.in}, {s.in, 1}, false),
        dr({s.gates(), s.time * n}, {1, s.gates()}, {s.time * n, s.hidden}, {s.hidden, 1}, false) {}
  Product input;      // x w^T
  Product recurrent;  // + h r^T
  Product state;      // dG r
  Product dx;         // dG w
  Product dw;         // dG^T x
  Product dr;         // dG^T H
};

// Pointers to one call's tensors; absent ones are nullptr.
struct Tensors {
  const float *x, *w, *r, *b, *h0, *c0;
  explicit Tensors(std::span<const std::byte* const> in) {
    const auto at = [&](std::size_t i) {
      return reinterpret_cast<const float*>(i < in.size() ? in[i] : nullptr);
    };
    x = at(0), w = at(1), r = at(2), b = at(3), h0 = at(5), c0 = at(6);
  }
};

// One direction of one part of the batch, on one thread.
class Part {
 public:
  Part(const Sizes& s, const Products& products, const Tensors& t, std::int64_t direction,
       std::int64_t part)
      : s_(s),
        products_(products),
        t_(t),
        d_(direction),
        first_(s.part_begin(part)),
        n_(s.part_begin(part + 1) - first_) {
    const std::int64_t cells = n_ * s.hidden;
    gates_.resize(static_cast<std::size_t>(s.time * n_ * s.gates()));
    before_.resize(static_cast<std::size_t>(s.time * cells));
    cells_.assign(static_cast<std::size_t>((s.time + 1) * cells), 0.0f);
    h_.assign(static_cast<std::size_t>(cells), 0.0f);
    take_part(t.x, s.in, x_, xs_);
  }

  // y[t, d, batch, h]; nullptr where it is not wanted.
  void forward(float* y) {
    const std::int64_t width = s_.hidden, cells = n_ * width;
    start();
    for (std::int64_t step = 0; step < s_.time; ++step) {
      const std::int64_t t = time_of(step);
      float* g = gates_.data() + t * n_ * s_.gates();
      std::copy_n(h_.data(), cells, before_.data() + t * cells);
      products_.recurrent.run(h_.data(), r(), g);
      step_forward(g, cell(step), cell(step + 1), h_.data(), n_, width);
      if (y)
        std::copy_n(h_.data(), cells, y + ((t * s_.directions + d_) * s_.batch + first_) * width);
    }
  }
  void final_states(float* y_h, float* y_c) const {
    if (y_h) std::copy_n(h_.data(), n_ * s_.hidden, y_h + state_at());
    if (y_c)
      std::copy_n(cells_.data() + s_.time * n_ * s_.hidden, n_ * s_.hidden, y_c + state_at());
  }

  // After forward. dh and dc begin as the gradients of the last states; gates become gradients.
  void backward(const float* dy, const float* dy_h, const float* dy_c) {
    const std::int64_t width = s_.hidden, cells = n_ * width;
    std::vector<float> dh(static_cast<std::size_t>(cells), 0.0f);
    dc_.assign(static_cast<std::size_t>(cells), 0.0f);
    if (dy_h) std::copy_n(dy_h + state_at(), cells, dh.data());
    if (dy_c) std::copy_n(dy_c + state_at(), cells, dc_.data());
    for (std::int64_t step = s_.time; step-- > 0;) {
      const std::int64_t t = time_of(step);
      if (dy) {
        const float* up = dy + ((t * s_.directions + d_) * s_.batch + first_) * width;
        for (std::int64_t k = 0; k < cells; ++k) dh[static_cast<std::size_t>(k)] += up[k];
      }
      float* g = gates_.data() + t * n_ * s_.gates();
      step_backward(g, cell(step), cell(step + 1), dh.data(), dc_.data(), n_, width);
      products_.state.run(g, r(), dh.data());
    }
    dh_ = std::move(dh);
  }
  void initial_gradients(float* dh0, float* dc0) const {
    if (dh0) std::copy_n(dh_.data(), n_ * s_.hidden, dh0 + state_at());
    if (dc0) std::copy_n(dc_.data(), n_ * s_.hidden, dc0 + state_at());
  }
  // Of this part alone; the caller adds up.
  void weight_gradients(float* dw, float* dr, float* db) const {
    products_.dw.run(gates_.data(), x_, dw);
    products_.dr.run(gates_.data(), before_.data(), dr);
    if (!db) return;
    const std::int64_t width = s_.gates();
    std::fill_n(db, width, 0.0f);
    for (std::int64_t k = 0; k < s_.time * n_; ++k)
      for (std::int64_t j = 0; j < width; ++j)
        db[j] += gates_[static_cast<std::size_t>(k * width + j)];
  }
  // dx of this direction, [t, n, in].
  std::vector<float> input_gradient() const {
    std::vector<float> dx(static_cast<std::size_t>(s_.time * n_ * s_.in));
    products_.dx.run(gates_.data(), w(), dx.data());
    return dx;
  }
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return n_; }

 private:
  const float* w() const { return t_.w + d_ * s_.gates() * s_.in; }
  const float* r() const { return t_.r + d_ * s_.gates() * s_.hidden; }
  float* cell(std::int64_t step) { return cells_.data() + step * n_ * s_.hidden; }
  std::int64_t state_at() const { return (d_ * s_.batch + first_) * s_.hidden; }
  std::int64_t time_of(std::int64_t step) const {
    return d_ == 1 || s_.first_is_reversed ? s_.time - 1 - step : step;
  }
  // The part's rows of a [t, batch, width] tensor, side by side.
  void take_part(const float* all, std::int64_t width, const float*& part,
                 std::vector<float>& own) const {
    part = all;
    if (n_ == s_.batch) return;
    own.resize(static_cast<std::size_t>(s_.time * n_ * width));
    for (std::int64_t t = 0; t < s_.time; ++t)
      std::copy_n(all + (t * s_.batch + first_) * width, n_ * width, own.data() + t * n_ * width);
    part = own.data();
  }
  // Gates from the inputs, and the first states.
  void start() {
    products_.input.run(x_, w(), gates_.data());
    const std::int64_t width = s_.gates();
    if (t_.b) {
      const float *wb = t_.b + d_ * 2 * width, *rb = wb + width;
      for (std::int64_t k = 0; k < s_.time * n_; ++k)
        for (std::int64_t j = 0; j < width; ++j)
          gates_[static_cast<std::size_t>(k * width + j)] += wb[j] + rb[j];
    }
    if (t_.h0) std::copy_n(t_.h0 + state_at(), n_ * s_.hidden, h_.data());
    if (t_.c0) std::copy_n(t_.c0 + state_at(), n_ * s_.hidden, cells_.data());
  }

  const Sizes& s_;
  const Products& products_;
  const Tensors& t_;
  std::int64_t d_, first_, n_;
  const float* x_ = nullptr;
  std::vector<float> xs_, gates_, before_, cells_, h_, dh_, dc_;
};

class LstmLaunch : public Launch {
 public:
  LstmLaunch(Sizes s, bool is_adjoint, std::vector<bool> present)
      : s_(s), is_adjoint_(is_adjoint), present_(std::move(present)) {
    for (std::int64_t p = 0; p < s_.parts; ++p)
      products_.push_back(std::make_unique<Products>(s_, s_.part_begin(p + 1) - s_.part_begin(p)));
  }
  Status run(const Frame& frame) const override {
    const Tensors t(frame.inputs);
    is_adjoint_ ? adjoint(frame, t) : forward(frame, t);
    return {};
  }

 private:
  template <class F>
  void each_part(ThreadPool& pool, F f) const {
    pool.parallel_chunks(0, s_.directions * s_.parts, 1,
                         [&](int, std::int64_t begin, std::int64_t end) {
                           for (std::int64_t i = begin; i < end; ++i) f(i / s_.parts, i % s_.parts);
                         });
  }
  static float* output(const Frame& frame, std::size_t i) {
    return reinterpret_cast<float*>(i < frame.outputs.size() ? frame.outputs[i] : nullptr);
  }

  void forward(const Frame& frame, const Tensors& t) const {
    each_part(frame.pool, [&](std::int64_t d, std::int64_t p) {
      Part part(s_, *products_[static_cast<std::size_t>(p)], t, d, p);
      part.forward(output(frame, 0));
      part.final_states(output(frame, 1), output(frame, 2));
    });
  }

  // What one part gives to sums over parts and directions.
  struct Share {
    std::vector<float> dw, dr, db, dx;
    std::int64_t first = 0, count = 0;
  };

  void adjoint(const Frame& frame, const Tensors& t) const {
    const auto dy = [&](std::size_t i) {
      return reinterpret_cast<const float*>(i < frame.inputs.size() ? frame.inputs[i] : nullptr);
    };
    // Outputs in the order x, w, r, b, h0, c0, those present.
    std::size_t next = 3;
    float* db = present_[3] ? output(frame, next++) : nullptr;
    float* dh0 = present_[5] ? output(frame, next++) : nullptr;
    float* dc0 = present_[6] ? output(frame, next++) : nullptr;
    std::vector<Share> shares(static_cast<std::size_t>(s_.directions * s_.parts));
    each_part(frame.pool, [&](std::int64_t d, std::int64_t p) {
      Part part(s_, *products_[static_cast<std::size_t>(p)], t, d, p);
      part.forward(nullptr);
      part.backward(dy(8), dy(9), dy(10));
      part.initial_gradients(dh0, dc0);
      Share& share = shares[static_cast<std::size_t>(d * s_.parts + p)];
      share.dw.resize(static_cast<std::size_t>(s_.gates() * s_.in));
      share.dr.resize(static_cast<std::size_t>(s_.gates() * s_.hidden));
      share.db.resize(static_cast<std::size_t>(s_.gates()));
      part.weight_gradients(share.dw.data(), share.dr.data(), share.db.data());
      share.dx = part.input_gradient();
      share.first = part.first(), share.count = part.count();
    });
    add_up(shares, output(frame, 0), output(frame, 1), output(frame, 2), db);
  }

  void add_up(const std::vector<Share>& shares, float* dx, float* dw, float* dr, float* db) const {
    std::fill_n(dx, s_.time * s_.batch * s_.in, 0.0f);
    const std::int64_t g = s_.gates();
    for (std::int64_t d = 0; d < s_.directions; ++d)
      for (std::int64_t p = 0; p < s_.parts; ++p) {
        const Share& share = shares[static_cast<std::size_t>(d * s_.parts + p)];
        add(share.dw, dw + d * g * s_.in, p == 0);
        add(share.dr, dr + d * g * s_.hidden, p == 0);
        if (db)
          for (int half = 0; half < 2; ++half) add(share.db, db + (2 * d + half) * g, p == 0);
        for (std::int64_t t = 0; t < s_.time; ++t) {
          const float* from = share.dx.data() + t * share.count * s_.in;
          float* to = dx + (t * s_.batch + share.first) * s_.in;
          for (std::int64_t k = 0; k < share.count * s_.in; ++k) to[k] += from[k];
        }
      }
  }
  static void add(const std::vector<float>& from, float* to, bool is_first) {
    for (std::size_t k = 0; k < from.size(); ++k) to[k] = is_first ? from[k] : to[k] + from[k];
  }

  Sizes s_;
  bool is_adjoint_;
  std::vector<bool> present_;
  std::vector<std::unique_ptr<const Products>> products_;
};

class LstmKernel : public Kernel {
 public:
  explicit LstmKernel(const Node& node) : node_(node) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent>) const override {
    const Dims &x = in[0].dims, &w = in[1].dims;
    if (in[0].count() == 0 || in[1].count() == 0)
      return unsupported("empty recurrences are interpreted");
    const auto r = TENON_TRY(ops::recurrence_of(Call(node_), ops::CellKind::lstm));
    const std::int64_t threads = usable_processors(), directions = r.directions;
    const Sizes s{x[0],
                  x[1],
                  x[2],
                  w[1] / 4,
                  directions,
                  std::clamp<std::int64_t>(threads / directions, 1, x[1]),
                  r.first_is_reversed};
    std::vector<bool> present;
    for (const Extent& e : in) present.push_back(e.present());
    present.resize(std::max<std::size_t>(present.size(), 8), false);
    return guarded([&] {
      return std::unique_ptr<Launch>(
          std::make_unique<LstmLaunch>(s, node_.op().name == "lstm_adjoint", std::move(present)));
    });
  }
  std::string describe() const override { return "recurrence (onednn products, loops over gates)"; }

 private:
  const Node& node_;
};

}  // namespace

Verdict takes_lstm(const Node& node) {
  if (node.op().name != "lstm" && node.op().name != "lstm_adjoint") return Verdict::no("");
  if (node.input(0)->type().dtype() != DType::f32)
    return Verdict::no("only f32 recurrences have a native kernel");
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), is_number))
    return Verdict::no("the rank is not known");
  if (node.input(4) || node.input(7))
    return Verdict::no("recurrences with lengths or peepholes are unrolled");
  const auto r = ops::recurrence_of(Call(node), ops::CellKind::lstm);
  if (!r.ok() || r->clip || r->batch_first || r->input_forget)
    return Verdict::no("this form of recurrence is unrolled");
  for (int d = 0; d < r->directions; ++d)
    if (r->activation(d, 0).name != "sigmoid" || r->activation(d, 1).name != "tanh" ||
        r->activation(d, 2).name != "tanh")
      return Verdict::no("recurrences with other activations are unrolled");
  return {};
}

Result<KernelPtr> make_lstm(const Node& node) {
  return KernelPtr(std::make_unique<LstmKernel>(node));
}

}  // namespace tenon::backends::cpu
