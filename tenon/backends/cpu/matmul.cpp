// matmul through oneDNN: rows (or the batch) split over the pool, a constant right side packed
// once.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "tenon/backends/cpu/epilogue_internal.h"
#include "tenon/backends/cpu/onednn_internal.h"
#include "tenon/ops/loops.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::memory;

// a[batch, m, k] b[batch or 1, k, n]; leading axes that broadcast are walked by offsets.
struct Problem {
  std::int64_t m, k, n;
  Dims lead;              // broadcast leading sizes
  Dims a_steps, b_steps;  // strides of leading axes in matrices, 0 where broadcast
  bool shared_b = false;  // b is one matrix: all leading rows of a can be one long matrix
};

Problem problem_of(std::span<const Extent> in) {
  const Dims &a = in[0].dims, &b = in[1].dims;
  Problem p;
  p.m = a.size() > 1 ? a[a.size() - 2] : 1;
  p.k = a.back();
  p.n = b.size() > 1 ? b.back() : 1;
  const Dims la(a.begin(),
                a.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(a.size()))),
      lb(b.begin(), b.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(b.size())));
  p.lead = ops::broadcast_dims(la, lb);
  p.a_steps = ops::broadcast_strides(la, p.lead);
  p.b_steps = ops::broadcast_strides(lb, p.lead);
  p.shared_b = num_elements(lb) == 1 && num_elements(la) == num_elements(p.lead);
  if (p.shared_b) {
    p.m *= num_elements(p.lead);
    p.lead = {};
    p.a_steps = p.b_steps = {};
  }
  return p;
}

// How a product with one right side runs: as oneDNN's matmul, or as its 1 x 1 convolution over a
// row of m pixels with k channels, which packs weights on every instruction set.
enum class Way : std::uint8_t { matmul, convolution };

// c[m, n] = steps(a[m, k] b[k, n]): one primitive.
class Product {
 public:
  Product(std::int64_t m, std::int64_t k, std::int64_t n, bool packs, Way way,
          const std::function<PostSteps(const DescribeOperand&)>& steps)
      : way_(way), b_({k, n}, memory::data_type::f32, memory::dims{n, 1}) {
    const auto describe = [&](const AlignedOperand& o) { return matrix(o.dims, o.strides); };
    steps_ = steps(describe);
    a_ = *matrix({m, k}, {k, 1});
    c_ = *matrix({m, n}, {n, 1});
    const std::string plain = make({}, packs, k, n);
    if (steps_.taken == 0) return;
    // A primitive that cannot take the steps falls back on slower code: then they follow it.
    std::string with;
    try {
      with = make(steps_.ops, packs, k, n);
    } catch (const dnnl::error&) {
    }
    if (with == plain) return;
    steps_ = {};
    make({}, packs, k, n);
  }
  memory::desc plain_b() const { return way_ == Way::matmul ? b_ : b_as_filter(); }
  const memory::desc& packed_b() const { return packed_b_; }
  const PostSteps& steps() const { return steps_; }
  bool is_generic() const { return implementation_.find("gemm") != std::string::npos; }
  /// Rows from `first` on; `frame` has the operands of the steps.
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::int64_t first,
           const Frame& frame) const {
    std::unordered_map<int, dnnl::memory> args = {
        {DNNL_ARG_SRC, memory_at(a_, a)},
        {DNNL_ARG_WEIGHTS, memory_at(packed_b_, b)},
        {DNNL_ARG_DST, memory_at(c_, c)},
        {DNNL_ARG_SCRATCHPAD, memory_at(scratch_, thread_scratch(scratch_.get_size()))}};
    for (const PostSteps::Operand& o : steps_.operands)
      args[o.argument] =
          memory_at(o.desc, frame.inputs[static_cast<std::size_t>(o.input)] +
                                first * o.shape.strides[o.shape.strides.size() - 2] * 4);
    primitive_.execute(onednn_stream(), args);
  }

 private:
  // A matrix [rows, columns] (either may be 1) in the primitive's axes.
  std::optional<memory::desc> matrix(const Dims& dims, const Dims& strides) const {
    const std::size_t r = dims.size() - 2, c = dims.size() - 1;
    const auto stride = [](std::int64_t s) { return std::max<std::int64_t>(s, 1); };
    const std::int64_t row = dims[r] == 1 ? dims[c] : stride(strides[r]);
    if (way_ == Way::matmul)
      return memory::desc({dims[r], dims[c]}, memory::data_type::f32, memory::dims{row, 1});
    return memory::desc({1, dims[c], 1, dims[r]}, memory::data_type::f32,
                        memory::dims{dims[r] * row, 1, dims[r] * row, row});
  }
  memory::desc b_as_filter() const {
    const auto dims = b_.get_dims();
    return {{dims[1], dims[0], 1, 1},
            memory::data_type::f32,
            memory::dims{1, dims[1], dims[0] * dims[1], dims[0] * dims[1]}};
  }
  // Makes the primitive and tells which implementation it is.
  std::string make(const dnnl::post_ops& post, bool packs, std::int64_t k, std::int64_t n) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_post_ops(post);
    if (way_ == Way::matmul) {
      const memory::desc any({k, n}, memory::data_type::f32, memory::format_tag::any);
      adopt<dnnl::matmul>(
          dnnl::matmul::primitive_desc(onednn_engine(), a_, packs ? any : b_, c_, attr));
    } else {
      const memory::desc any({n, k, 1, 1}, memory::data_type::f32, memory::format_tag::any);
      adopt<dnnl::convolution_forward>(dnnl::convolution_forward::primitive_desc(
          onednn_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
          a_, any, c_, memory::dims{1, 1}, memory::dims{0, 0}, memory::dims{0, 0}, attr));
    }
    return implementation_;
  }
  template <class Primitive>
  void adopt(const typename Primitive::primitive_desc& desc) {
    packed_b_ = desc.weights_desc();
    scratch_ = desc.scratchpad_desc();
    implementation_ = desc.impl_info_str();
    primitive_ = Primitive(desc);
  }

  Way way_;
  memory::desc a_, b_, c_, packed_b_, scratch_;
  PostSteps steps_;
  dnnl::primitive primitive_;
  std::string implementation_;
};

// Row counts differ between parts by at most one block, so few primitives serve all of them.
class MatmulLaunch : public Launch {
 public:
  struct Group {
    const AnchoredGroup& group;
    int a, b;  // inputs of the group
  };
  MatmulLaunch(Problem p, const Group& g, std::span<const Extent> in, const Extent& out,
               const Tensor* constant_b)
      : p_(std::move(p)),
        a_(g.a),
        b_(g.b),
        group_(g.group),
        extents_(in.begin(), in.end()),
        out_dims_{p_.m, p_.n},
        packs_(constant_b && p_.shared_b) {
    takes_steps_ = p_.shared_b && operands_are_matrices(out);
    whole_ = make(p_.m);
    if (packs_ && whole_->is_generic()) prefer_convolution();
    if (packs_) packed_ = packed_once(*constant_b, whole_->plain_b(), whole_->packed_b());
    parts_.emplace(p_.m, whole_);
  }
  Status complete(std::span<const Extent> in, const Extent& out) {
    rest_ = TENON_TRY(RestLoop::make(group_, in, out, whole_->steps().taken));
    return {};
  }

  Status run(const Frame& frame) const override {
    const std::byte *a = frame.inputs[static_cast<std::size_t>(a_)],
                    *b = packed_ ? packed_.get() : frame.inputs[static_cast<std::size_t>(b_)];
    if (p_.lead.empty())
      run_rows(a, b, frame);
    else
      run_batch(a, b, frame);
    rest_.run(frame);
    return {};
  }

 private:
  void run_batch(const std::byte* a, const std::byte* b, const Frame& frame) const {
    const std::int64_t batch = num_elements(p_.lead), flops = 2 * p_.m * p_.k * p_.n;
    frame.pool.parallel_for(0, batch,
                            std::max<std::int64_t>(1, 200000 / std::max<std::int64_t>(1, flops)),
                            [&](std::int64_t begin, std::int64_t end) {
                              for (std::int64_t i = begin; i < end; ++i) {
                                std::int64_t rest = i, fa = 0, fb = 0;
                                for (std::size_t x = p_.lead.size(); x-- > 0;) {
                                  const std::int64_t at = rest % p_.lead[x];
                                  rest /= p_.lead[x];
                                  fa += at * p_.a_steps[x];
                                  fb += at * p_.b_steps[x];
                                }
                                whole_->run(a + fa * p_.m * p_.k * 4, b + fb * p_.k * p_.n * 4,
                                            frame.outputs[0] + i * p_.m * p_.n * 4, 0, frame);
                              }
                            });
  }
  void run_rows(const std::byte* a, const std::byte* b, const Frame& frame) const {
    constexpr std::int64_t kRowBlock = 16;
    const std::int64_t blocks = (p_.m + kRowBlock - 1) / kRowBlock,
                       work = 2 * kRowBlock * p_.k * p_.n;
    std::atomic<bool> fits = true;
    frame.pool.parallel_for(0, blocks,
                            std::max<std::int64_t>(1, 400000 / std::max<std::int64_t>(1, work)),
                            [&](std::int64_t begin, std::int64_t end) {
                              const std::int64_t first = begin * kRowBlock,
                                                 rows = std::min(p_.m, end * kRowBlock) - first;
                              if (const auto product = part(rows))
                                product->run(a + first * p_.k * 4, b,
                                             frame.outputs[0] + first * p_.n * 4, first, frame);
                              else
                                fits = false;
                            });
    if (!fits) whole_->run(a, b, frame.outputs[0], 0, frame);
  }
  std::shared_ptr<const Product> make(std::int64_t rows) const {
    const auto steps = [&](const DescribeOperand& describe) {
      return takes_steps_ ? post_steps(group_, flat_, out_dims_, {rows, p_.n}, describe, limit_)
                          : PostSteps();
    };
    return std::make_shared<Product>(rows, p_.k, p_.n, packs_, way_, steps);
  }
  std::shared_ptr<const Product> part(std::int64_t rows) const {
    if (rows == p_.m) return whole_;
    const std::lock_guard lock(mutex_);
    auto& made = parts_[rows];
    if (!made) made = make(rows);
    // What a part does must be what the whole does: the packed layout, and the steps it takes.
    const bool fits = (!packed_ || made->packed_b() == whole_->packed_b()) &&
                      made->steps().taken == whole_->steps().taken;
    return fits ? made : nullptr;
  }
  // Every operand of the steps as rows and columns of the flat result; false when one is neither.
  bool operands_are_matrices(const Extent& out) {
    flat_ = extents_;
    for (const auto& [value, i] : group_.inputs) {
      Extent& e = flat_[static_cast<std::size_t>(i)];
      if (i == a_ || i == b_) continue;
      const AlignedOperand o = aligned_operand(e.dims, out.dims);
      const std::int64_t columns = o.dims.back(), count = num_elements(e.dims);
      if (columns != 1 && columns != p_.n) return false;
      if (count != columns && count != columns * p_.m) return false;
      e.dims = {count / columns, columns};
    }
    return true;
  }
  void prefer_convolution() {
    const auto before = whole_;
    way_ = Way::convolution;
    try {
      whole_ = make(p_.m);
      if (!whole_->is_generic() && whole_->steps().taken >= before->steps().taken) return;
    } catch (const dnnl::error&) {
    }
    way_ = Way::matmul;
    whole_ = before;
  }

  Problem p_;
  int a_, b_;
  const AnchoredGroup& group_;
  std::vector<Extent> extents_, flat_;
  Dims out_dims_;
  bool packs_, takes_steps_ = false;
  std::size_t limit_ = SIZE_MAX;
  Way way_ = Way::matmul;
  std::shared_ptr<const Product> whole_;
  std::shared_ptr<const std::byte> packed_;
  RestLoop rest_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::int64_t, std::shared_ptr<const Product>> parts_;
};

// Nothing to multiply: zeros.
class ZeroLaunch : public Launch {
 public:
  explicit ZeroLaunch(std::size_t bytes) : bytes_(bytes) {}
  Status run(const Frame& frame) const override {
    if (bytes_) std::memset(frame.outputs[0], 0, bytes_);
    return {};
  }

 private:
  std::size_t bytes_;
};

bool is_matmul(const Node& node) { return node.op().name == "matmul"; }

class MatmulKernel : public Kernel {
 public:
  MatmulKernel(const Node& node, AnchoredGroup group) : node_(node), group_(std::move(group)) {}
  Result<std::unique_ptr<Launch>> bind(std::span<const Extent> in,
                                       std::span<const Extent> out) const override {
    Problem p = problem_of(anchor_inputs(group_, in));
    if (out[0].count() == 0 || p.k == 0) {
      if (!group_.epilogue.empty()) return unsupported("empty products are interpreted");
      return std::unique_ptr<Launch>(std::make_unique<ZeroLaunch>(out[0].bytes()));
    }
    const Value* b = node_.input(group_.arguments[1]);
    const Tensor* constant = b->is_constant() ? &b->tensor() : nullptr;
    auto launch = TENON_TRY(guarded([&] {
      const MatmulLaunch::Group g{group_, group_.arguments[0], group_.arguments[1]};
      return std::make_unique<MatmulLaunch>(std::move(p), g, in, out[0], constant);
    }));
    TENON_TRY(launch->complete(in, out[0]));
    return std::unique_ptr<Launch>(std::move(launch));
  }
  std::string describe() const override {
    return fmt::format(
        "onednn {}{}", group_.label,
        node_.input(group_.arguments[1])->is_constant() ? ", right side packed" : "");
  }

 private:
  const Node& node_;
  AnchoredGroup group_;
};

}  // namespace

Verdict takes_matmul(const Node& node) {
  const auto group = anchored_group(node, is_matmul);
  if (!group) return Verdict::no("");
  const Node& anchor = *group->anchor;
  if (anchor.input(0)->type().dtype() != DType::f32)
    return Verdict::no("only f32 products have a native kernel");
  if (!is_number(anchor.input(0)) || !is_number(anchor.input(1)))
    return Verdict::no("the rank is not known");
  return {};
}

Result<KernelPtr> make_matmul(const Node& node) {
  return KernelPtr(std::make_unique<MatmulKernel>(node, *anchored_group(node, is_matmul)));
}

}  // namespace tenon::backends::cpu
